#!/usr/bin/env bash
# The scripts of tools/: packages are installed only if missing, options are checked, foreign folders left alone.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Every script sources lib.sh, which sets the locale.
found=$(grep -lsE "^#!.*\bbash" "$root"/tools/* | xargs grep -L "^source .*/lib.sh\"" || true)
[[ -z $found ]] || fail "these scripts leave numbers to the locale of the user: $found"

# A machine of our own: dpkg-query knows the packages listed in a file, apt-get and sudo only write down their calls.
mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<END
#!/bin/bash
sed 's/\$/ installed/' "$scratch/installed"
END
cat >"$scratch/bin/apt-get" <<END
#!/bin/bash
echo "apt-get \$*" >>"$scratch/calls"
END
printf '#!/bin/bash\n"$@"\n' >"$scratch/bin/sudo"
chmod +x "$scratch"/bin/*
source "$root/tools/lib.sh"
install_on_it() {
    : >"$scratch/calls"
    PATH="$scratch/bin:$PATH" "$root/tools/install" "$@" 2>"$scratch/words"
}

printf '%s\n' "${build_packages[@]}" "${check_packages[@]}" >"$scratch/installed"
install_on_it || fail "tools/install where nothing is missing"
[[ ! -s $scratch/calls ]] || fail "apt was called though nothing is missing: $(cat "$scratch/calls")"

sed -i '/^cmake$/d; /^clang-tidy$/d' "$scratch/installed"
install_on_it || fail "tools/install where two packages are missing"
grep -q '^apt-get install .* cmake clang-tidy$' "$scratch/calls" || fail "not just what is missing: $(cat "$scratch/calls")"
grep -q 'Installing 2 of .*: cmake clang-tidy' "$scratch/words" || fail "does not say what it installs"
install_on_it --build-only
grep -q '^apt-get install .* cmake$' "$scratch/calls" || fail "--build-only: $(cat "$scratch/calls")"

# refuses WORDS COMMAND…: fails with these words.
refuses() {
    local words=$1 output
    shift
    if output=$("$@" 2>&1 </dev/null); then
        fail "accepted: $*"
    elif [[ $output != *"$words"* ]]; then
        fail "$*: '$output' does not say '$words'"
    fi
}
for package in file python3-venv; do # of cpack, and of tools/wheel and the tests of the Python package
    printf '%s\n' "${build_packages[@]}" "${check_packages[@]}" | grep -qx "$package" || fail "tools/install leaves out $package"
done
# tools/wheel uses options that the pip of this machine knows: Debian 12 has 23.0.1.
for python in python3 /usr/bin/python3; do
    "$python" -m pip wheel --help >"$scratch/help" 2>/dev/null || continue
    for option in $(sed -n '/pip" wheel/,/tools\/python"/p' "$root/tools/wheel" | grep -oE ' --?[A-Za-z][a-z-]*' | sort -u); do
        [[ $option == -u ]] || grep -q -- "$option\b" "$scratch/help" || fail "tools/wheel: the pip of $python knows no $option"
    done
done
# load_factor multiplies what tests wait for.
(($(load_factor) >= 1)) || fail "load_factor: $(load_factor)"
! printf '%s\n' "${build_packages[@]}" | grep -E 'gtest|gmock|benchmark|^z3$|clang|slurm|coq|numpy' || fail "building takes packages of the tests"
refuses 'unknown option --colour' "$root/tools/install" --colour
refuses 'unknown option --colour' "$root/tools/lint" --colour
refuses '--at-most needs a number' "$root/tools/lint" --at-most none
refuses '--since needs a commit' "$root/tools/lint" --since yesterday
refuses 'not a number' "$root/tools/patients" many
refuses '--csv needs --label' "$root/tools/quickstart" --csv data.csv
refuses 'cannot read' "$root/tools/quickstart" --csv "$scratch/none.csv" --label y
refuses 'goes with --csv' "$root/tools/quickstart" --label y
refuses 'goes with --csv' "$root/tools/quickstart" --scale-from-data
refuses '--out needs a value' "$root/tools/quickstart" --out
refuses 'positive number' "$root/tools/quickstart" --ranks none
mkdir "$scratch/precious"
touch "$scratch/precious/thesis.txt"
refuses 'has not made' "$root/tools/quickstart" --out "$scratch/precious"
[[ -e $scratch/precious/thesis.txt ]] || fail "a foreign folder was emptied"

# On a machine of our own the build does nothing and no rank starts: quickstart gets as far as training.
printf '#!/bin/bash\n' >"$scratch/bin/cmake"
printf '#!/bin/bash\nexit 1\n' >"$scratch/bin/mpirun"
chmod +x "$scratch"/bin/*
printf 'a,y\n1,0\n2,1\n3,0\n4,1\n' >"$scratch/ward 7.csv"
start_on_it() {
    PATH="$scratch/bin:$PATH" "$root/tools/quickstart" --no-install --csv "$scratch/ward 7.csv" --label y \
        --out "$scratch/started" "$@" >"$scratch/words" 2>&1 </dev/null && fail "quickstart went on without mpirun"
    cat "$scratch/words" "$scratch/started/log.txt" | tr '\n' ' ' >"$scratch/line"
}
says() { grep -q -- "$1" "$scratch/line" || fail "quickstart does not say '$1': $(cat "$scratch/line")"; }
start_on_it
says 'ATTENTION: ranges, categories and classes'
says 'ATTENTION: no column names the records'
says 'ATTENTION: every column but the label is learnt from.*--drop COLUMN'
says 'ATTENTION: the count found stands in.*--expected-records N'
says 'ATTENTION: no population is named.*ward_7'
says 'holdfast import .*--population ward_7'
start_on_it --classes '0|1'
says 'holdfast import .*--classes .*--scale-from-data'
says 'ATTENTION: columns are scaled by constants found'
start_on_it --scale 'a=0:9' --id-from-content --expected-records 4 --population people
says 'holdfast import .*--expected-records 4 --population people'
grep -q ATTENTION "$scratch/line" && fail "quickstart warns of what it is told: $(cat "$scratch/line")"

refuses 'unknown option --colour' "$root/tools/gpu_check" --colour
refuses '--build needs a value' "$root/tools/gpu_check" --build
# No GPU: an exit code of its own, and nothing built. nvidia-smi of our machine lists none.
printf '#!/bin/bash\nexit 9\n' >"$scratch/bin/nvidia-smi"
chmod +x "$scratch/bin/nvidia-smi"
status=0
PATH="$scratch/bin:$PATH" "$root/tools/gpu_check" --build "$scratch/build-gpu" 2>"$scratch/words" >"$scratch/table" || status=$?
[[ $status == 77 ]] || fail "tools/gpu_check without a GPU exits with $status"
grep -q 'a GPU' "$scratch/words" || fail "tools/gpu_check does not say what is missing: $(cat "$scratch/words")"
[[ ! -s $scratch/table && ! -e $scratch/build-gpu ]] || fail "tools/gpu_check went on without a GPU"

# Every fault of tools/mutate applies: its text stands once in its file, and its test is there.
python3 - "$root" <<'END' || fail "tools/checks/faults.txt"
import pathlib, sys
root = pathlib.Path(sys.argv[1])
tests, texts = {file.stem for file in (root / "tests").glob("*/*")}, {}
faults = [line for line in (root / "tools/checks/faults.txt").read_text().splitlines() if line and line[0] != "#"]
for line in faults:
    file, change, test = line.split(" @@ ")
    old, new = change.split(" => ", 1)
    text = texts.setdefault(file, (root / file).read_text())
    assert text.count(old) == 1 and old != new, f"no such fault: {line}"
    assert test in tests, f"no such test: {line}"
assert len(faults) > 300, len(faults)
END
refuses 'no fault matches' "$root/tools/mutate" --only 'no such text'
[[ $("$root/tools/mutate" --list --only checkpoint | wc -l) -ge 3 ]] || fail "tools/mutate --list"

for script in install quickstart test lint check_includes bench fuzz sanitize gpu_check mutate patients wheel; do
    [[ -x $root/tools/$script ]] || fail "tools/$script is not executable"
    [[ $("$root/tools/$script" --help | head -1) == "tools/$script"* ]] || fail "tools/$script --help"
done
[[ -x $root/.ci/run ]] || fail ".ci/run is not executable"

# Where nobody reads what a tool writes, it ends without a word.
python3 - "$root" <<'END' || fail "a tool complains about a closed pipe"
import os, pathlib, subprocess, sys
root = pathlib.Path(sys.argv[1])
tools = [file for folder in ("slurm", "tools", "tools/python") for file in sorted((root / folder).iterdir())
         if file.is_file() and file.open(errors="replace").readline().startswith("#!/usr/bin/env python")]
said = {}
for tool in tools:
    if subprocess.run([sys.executable, tool, "--help"], capture_output=True).returncode != 0:
        continue  # needs what is not installed here
    reading, writing = os.pipe()
    os.close(reading)
    words = subprocess.run([sys.executable, tool, "--help"], stdout=writing, stderr=subprocess.PIPE).stderr
    os.close(writing)
    said[tool.name] = words.decode()
assert {"submit", "chaos", "reproduce"} <= said.keys(), said.keys()
print("".join(f"{name}: {words}" for name, words in said.items() if words))
sys.exit(any(said.values()))
END

((failures == 0)) && echo "all scripts as they should be"
