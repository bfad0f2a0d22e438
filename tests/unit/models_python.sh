#!/usr/bin/env bash
# models_python.sh HOLDFAST: what tools/python/holdfast_models.py writes, predict answers with, and the numbers agree.
# HOLDFAST_PYTHON names the Python to use; skipped where it has no numpy and h5py.
set -uo pipefail
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy, h5py' 2> /dev/null && break
    python=
done
if [ -z "$python" ]; then
    echo "SKIPPED: no Python with numpy and h5py (HOLDFAST_PYTHON names one)"
    exit 77
fi
here=$(realpath "$(dirname "$0")")
source "$here/../support/script.sh"
"$python" -B "$here/models_python.py" "$holdfast" "$here/../../tools/python"
