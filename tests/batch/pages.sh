#!/usr/bin/env bash
# pages.sh HOLDFAST: every command in every page is run, in a copy of the tree, and prints what the page says it prints; every
# path, option and setting that a page names is there (tests/README.md says how a page marks its blocks). What is built and
# installed already is not built and installed again.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"
source "$root/tests/support/slurm.sh"

# A clone in which the program is built.
mkdir clone
tar -C "$root" --exclude='./build*' --exclude=./.git -cf - . | tar -C clone -xf - || fail "cannot copy the tree"
git -C clone init --quiet

# Its compiler and its packages are those of this machine.
source "$root/tools/lib.sh"
mkdir bin
printf '#!/bin/bash\n' > bin/cmake
printf '#!/bin/bash\nprintf "%%s installed\\n" %s\n' "${build_packages[*]}" > bin/dpkg-query
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    python=$(type -P "$python") && "$python" -c 'import numpy, h5py' 2> /dev/null || continue
    printf '#!/bin/bash\nexec %s "$@"\n' "$python" > bin/python3
    break
done
chmod +x bin/*

lacking=()
if (require_slurm) > why.txt; then start_slurm 1 || exit 1; else lacking=(sbatch) && cat why.txt; fi
PATH=$scratch/bin:$PATH python3 "$support/pages.py" "$scratch/clone" "$holdfast" "${lacking[@]}" || fail "the pages are not as they say"
exit $((failures > 0))
