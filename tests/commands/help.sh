#!/usr/bin/env bash
# help.sh HOLDFAST: what --version says; the page of the manual and the completion of bash and zsh, made of the same
# declarations as --help, read by man, mandoc, bash and zsh where they are.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"

# 1. --version: for people, its first line for scripts; as JSON the same facts.
version=$(sed -n 's/^project(holdfast VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
"$holdfast" --version > version.txt 2> err.txt || fail "--version: $(cat err.txt)"
[ "$(head -n 1 version.txt)" = "holdfast $version" ] || fail "--version begins with $(head -n 1 version.txt)"
"$holdfast" --version --json > version.json && "$holdfast" --json --version | cmp -s - version.json || fail "--version --json depends on the order"
python3 - "$version" << 'END_PYTHON' || fail "--version and --version --json say different things: $(cat version.txt version.json)"
import json, re, sys
said = json.load(open("version.json"))
lines = [line.split(maxsplit=1) for line in open("version.txt").read().splitlines()]
assert lines.pop(0) == ["holdfast", sys.argv[1]]
assert {name: value for name, value in lines} == {k: v for k, v in said.items() if k not in ("program", "version")}
assert set(said) >= {"commit", "compiler", "build_type", "options", "mpi", "cuda", "nccl", "hdf5", "simd"}
assert all(said.values()), said
assert re.fullmatch("[0-9a-f]{40}(-modified)?|unknown", said["commit"]), said["commit"]
assert re.fullmatch("[0-9a-f]{16}", said["sources"]), said["sources"]
END_PYTHON
# What names the program in its runs is a digest of what it is made of: of no other file, with git and without.
mkdir -p tree/kernels tree/models && echo 'int one();' > tree/models/a.hpp && echo 'int two();' > tree/kernels/b.cpp
sources() { cmake -D ROOT="$PWD/tree" -D OUT="$PWD/commit.cpp" -P "$root/jobs/program/commit.cmake" > out.txt 2>&1 || fail "commit.cmake: $(cat out.txt)"; grep -A 1 'sources()' commit.cpp; }
first=$(sources)
echo words > tree/README.md && [ "$(sources)" = "$first" ] || fail "words make another program"
echo 'int three();' > tree/models/a.hpp && [ "$(sources)" != "$first" ] || fail "another source makes the same program"
if [ -e "$root/.git" ] && git -C "$root" rev-parse HEAD > head.txt 2> /dev/null; then
    grep -q "unknown" version.txt && fail "in a clone, the commit is unknown"
fi
"$holdfast" doctor --json > doctor.json 2> /dev/null
simd=$(sed -n 's/^simd *//p' version.txt)
grep -q "\"value\":\"$simd\"" doctor.json || fail "the doctor knows another instruction set than $simd"

# 2. Every command and every option of --help is on the page, and in the completion of bash.
"$holdfast" man > holdfast.1 || fail "no page"
"$holdfast" completion bash > completion.bash || fail "no completion for bash"
"$holdfast" completion zsh > completion.zsh || fail "no completion for zsh"
bash -n completion.bash || fail "the completion is no bash"
"$holdfast" --help | sed -n '/^Data:/,/^Exit codes/p' | grep -oE '^  [a-z]+' > commands.txt
[ "$("$holdfast" --help | grep -E '^[A-Z][a-z]+:$' | tr -d '\n')" = "Options:Data:Training:Answers:Forgetting:Study:" ] || fail "--help groups commands by $("$holdfast" --help | grep ':$')"
"$holdfast" trian > out.txt 2> err.txt
[[ $? == 2 && ! -s out.txt ]] && grep -q 'did you mean train?' err.txt || fail "a misspelt command: $(cat err.txt)"
"$holdfast" frobnicate > out.txt 2> err.txt
[[ $? == 2 && ! -s out.txt ]] && grep -q 'holdfast --help lists them' err.txt || fail "no such command: $(cat err.txt)"
[ "$(wc -l < commands.txt)" -ge 20 ] || fail "--help lists $(cat commands.txt)"
for command in $(cat commands.txt); do
    grep -q "^\.SS \"$command\"" holdfast.1 || fail "the page lacks $command"
    "$holdfast" "$command" --help | grep -oE '^  (-[a-z],)?--[a-z-]+' | grep -oE -- '--[a-z-]+' > options.txt
    for option in $(cat options.txt); do
        sed -n "/^\.SS \"$command\"/,/^\.S[SH] /p" holdfast.1 | grep -F -- "${option//-/\\-}" > /dev/null || fail "the page lacks $command $option"
    done
done
[ "$(grep -c '^\.TP' holdfast.1)" -gt 200 ] || fail "a page of $(grep -c '^\.TP' holdfast.1) options"
! grep -qE '^\.SS "(man|completion)"' holdfast.1 || fail "hidden commands on the page"
! grep -qE "$HOSTNAME|$scratch|$root" holdfast.1 completion.bash || fail "the page knows this machine"
if command -v mandoc > /dev/null; then
    mandoc -T lint -W warning holdfast.1 | grep -v 'missing date' > lint.txt # the page is the same on any day
    [ ! -s lint.txt ] || fail "mandoc: $(head -n 5 lint.txt)"
fi
! LC_ALL=C grep -nP '[^\x00-\x7F]' holdfast.1 > words.txt || fail "letters that a plain terminal lacks: $(head -n 3 words.txt)"
if command -v man > /dev/null && MANWIDTH=100 man --warnings -l holdfast.1 > page.txt 2> warnings.txt; then
    [ ! -s warnings.txt ] || fail "man warns: $(head -n 5 warnings.txt)"
    grep -q 'training.epochs' page.txt && grep -q 'EXIT STATUS' page.txt || fail "man shows $(head -n 40 page.txt)"
fi

# 3. A real bash completes. complete_line WORDS…: what it offers for the last word.
cat > complete.sh << 'END_BASH'
source completion.bash
COMP_WORDS=(holdfast "$@") COMP_CWORD=$# COMPREPLY=()
compopt() { :; }
_holdfast holdfast "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
END_BASH
# offers WANTED WORDS…
offers() {
    bash complete.sh "${@:2}" 2> err.txt | tr '\n' ' ' > out.txt
    [ ! -s err.txt ] && [ "$(cat out.txt)" = "$1 " ] || fail "${*:2}: $(cat out.txt err.txt), not $1"
}
offers "train" tra
offers "--members" train --mem
offers "blobs" synth bl
offers "--workload" bench step --wo
offers "--json" bench step --js
offers "mpi" bench step --transport m
offers "images" synth im
offers "training.epochs=" train --set training.epo
offers "" train --data x
offers "" predict --nonsense-
offers "--resume" train --data blobs.h5 --out run --res
bash complete.sh "" > out.txt
[ "$(grep -vc '^-' out.txt)" = "$(wc -l < commands.txt)" ] || fail "not all commands are offered: $(cat out.txt)"

# 4. So does zsh: its tables are the same, its driver is its own.
if command -v zsh > /dev/null; then
    mkdir functions && cp completion.zsh functions/_holdfast
    cat > complete.zsh << 'END_ZSH'
fpath=(functions $fpath)
autoload -U compinit && compinit -D
[[ ${_comps[holdfast]} == _holdfast ]] || print not registered
compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@"; }
_files() { print files; }
words=(holdfast "$@") CURRENT=$(($# + 1))
_holdfast
END_ZSH
    zsh -f complete.zsh bench step --transport "" | tr '\n' ' ' > out.txt
    [ "$(cat out.txt)" = "auto mpi nccl " ] || fail "zsh: bench step --transport: $(cat out.txt)"
    zsh -f complete.zsh train --data "" > out.txt && [ "$(cat out.txt)" = files ] || fail "zsh: train --data: $(cat out.txt)"
    zsh -f complete.zsh tra | grep -qx train || fail "zsh offers no train"
    zsh -f complete.zsh train --set "" | grep -qx 'training.epochs=' || fail "zsh offers no settings"
fi

for program in man mandoc zsh; do command -v $program > /dev/null || echo "not looked at: there is no $program here"; done
((failures == 0)) && echo "the manual and the shells know what --help knows"
exit $((failures > 0))
