#!/usr/bin/env bash
# package.sh HOLDFAST: the Python package: what it answers is what the program answers, what it refuses is what the program
# refuses, and nothing of the records is left behind. HOLDFAST_PYTHON names a Python with numpy, h5py and scikit-learn; else
# one is made here, of what pip fetches, and the package is installed in it; skipped where pip fetches nothing.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
export HOLDFAST_PROGRAM=$holdfast
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy, h5py, sklearn.utils.estimator_checks, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && break
    python=
done
if [ -n "$python" ]; then
    export PYTHONPATH=$root/tools/python
else
    python=$scratch/venv/bin/python
    if ! { python3 -m venv venv && timeout 300 venv/bin/pip install -q --no-compile --retries 0 --timeout 10 "$root/tools/python[estimators]" pandas; } > pip.txt 2>&1; then
        echo "SKIPPED: no Python with numpy, h5py and scikit-learn (HOLDFAST_PYTHON names one), and pip fetches none: $(tail -n 1 pip.txt)"
        exit 77
    fi
fi
mkdir private work # TMPDIR, whose every file is seen to go
cd work || exit 1
TMPDIR=$scratch/private "$python" -B "$root/tests/commands/package.py" "$root/tools/python/README.md"
