#!/usr/bin/env bash
# package.sh HOLDFAST: the Python package: what it answers is what the program answers, what it refuses is what the program
# refuses, and nothing of the records is left behind. HOLDFAST_PYTHON names a Python with numpy, h5py and scikit-learn; else
# one is made here, of what pip fetches, and the package is installed in it; skipped where pip fetches nothing.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
unset HOLDFAST_PROGRAM
# install_package VENV WORD…: a venv of Debian's Python, its pip, and this package, which records the path of the program.
install_package() {
    "$debian" -m venv "$1" && HOLDFAST_PROGRAM=$holdfast timeout 300 "$1/bin/pip" install -q --no-compile --retries 0 --timeout 10 "${@:2}"
}
debian=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)

# 1. A bare venv: the package is installed with HOLDFAST_PROGRAM and used without it.
if install_package bare "$root/tools/python" > pip.txt 2>&1; then
    bare=$scratch/bare/bin
    cmp -s <(timeout 60 "$bare/holdfast" --version) <("$holdfast" --version) || fail "the installed command prints $(timeout 60 "$bare/holdfast" --version 2>&1)"
    timeout 60 "$bare/python" -c '
import holdfast
assert holdfast.run("synth", "blobs", "--records", 10, "--out", "bare.h5")' > said.txt 2>&1 || fail "a command in a bare venv: $(tail -n 3 said.txt)"
    # A program that leads back to the command is refused: it would be started for ever.
    printf '#!/bin/bash\n"%s" "$@"\n' "$bare/holdfast" > wrapper && chmod +x wrapper
    for program in "$bare/holdfast" "$scratch/wrapper"; do
        HOLDFAST_PROGRAM=$program timeout 60 "$bare/holdfast" --version > said.txt 2>&1
        [ $? = 1 ] && grep -q "starts the Python package again: set HOLDFAST_PROGRAM" said.txt || fail "$program: $(cat said.txt)"
        HOLDFAST_PROGRAM=$program timeout 60 "$bare/python" -c 'import holdfast; holdfast.run("doctor")' > said.txt 2>&1
        [ $? = 1 ] && grep -q "starts the Python package again" said.txt || fail "run by $program: $(cat said.txt)"
    done
    rm bare/lib/python3*/site-packages/holdfast/program.txt
    timeout 60 "$bare/holdfast" --version > said.txt 2>&1 && fail "without a program: $(cat said.txt)"
    grep -q "no program at .*/holdfast/bin/holdfast: set HOLDFAST_PROGRAM" said.txt || fail "without a program: $(cat said.txt)"
    # What is recorded is a program that runs.
    for program in build/holdfast /bin/true; do
        HOLDFAST_PROGRAM=$program timeout 300 "$bare/pip" install -q --no-deps "$root/tools/python" > pip.txt 2>&1 && fail "$program is recorded"
        grep -q "HOLDFAST_PROGRAM is '$program'" pip.txt || fail "$program is refused by other words: $(tail -n 3 pip.txt)"
    done
else
    echo "SKIPPED in part: no bare venv, for pip fetches nothing: $(tail -n 1 pip.txt)"
fi

# 2. All that the package does.
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy, h5py, sklearn.utils.estimator_checks, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && break
    python=
done
if [ -n "$python" ]; then
    export PYTHONPATH=$root/tools/python HOLDFAST_PROGRAM=$holdfast
else
    python=$scratch/venv/bin/python
    if ! install_package venv "$root/tools/python[estimators]" pandas > pip.txt 2>&1; then
        ((failures == 0)) || exit 1
        echo "SKIPPED: no Python with numpy, h5py and scikit-learn (HOLDFAST_PYTHON names one), and pip fetches none: $(tail -n 1 pip.txt)"
        exit 77
    fi
fi
mkdir private work # TMPDIR, whose every file is seen to go
cd work || exit 1
TMPDIR=$scratch/private "$python" -B "$root/tests/commands/package.py" "$root/tools/python/README.md" || fail "the package"
exit $((failures > 0))
