# Sourced first: $python is one with numpy and h5py, HOLDFAST_PYTHON if that is set; without one the test is skipped.

for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy, h5py' 2> /dev/null && python=$(type -P "$python") && break
    python=
done
if [ -z "$python" ]; then
    echo "SKIPPED: no Python with numpy and h5py (HOLDFAST_PYTHON names one)"
    exit 77
fi
