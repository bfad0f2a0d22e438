#!/usr/bin/env bash
# models_python.sh HOLDFAST: what holdfast.models (tools/python) writes, predict answers with, and the numbers agree.
# HOLDFAST_PYTHON names the Python to use; skipped where it has no numpy and h5py.
set -uo pipefail
source "$(dirname "$0")/../support/numpy.sh"
here=$(realpath "$(dirname "$0")")
source "$here/../support/script.sh"
"$python" -B "$here/models_python.py" "$holdfast" "$here/../../tools/python"
