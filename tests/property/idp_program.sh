#!/usr/bin/env bash
# idp_program.sh HOLDFAST: the bounds of holdfast idp are the optimum of the mixed-integer linear program of paper 001
# (Eq. 3), of small fleets, solved by Cbc; with the paper's matching dependencies, too.
# HOLDFAST_PYTHON names a Python with numpy and h5py, HOLDFAST_CBC the solver (coinor-cbc); skipped where one is missing.
set -uo pipefail
source "$(dirname "$0")/../support/numpy.sh"
here=$(realpath "$(dirname "$0")")
cbc=$(command -v "${HOLDFAST_CBC:-cbc}") || {
    echo "SKIPPED: no solver of mixed-integer programs (coinor-cbc; HOLDFAST_CBC names one)"
    exit 77
}
source "$here/../support/script.sh"
"$python" -B "$here/idp_program.py" "$holdfast" "$here/../../tools/python" "$cbc"
