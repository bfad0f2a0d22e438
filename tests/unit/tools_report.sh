#!/usr/bin/env bash
# holdfast report and holdfast doctor, run as programs: files, modes, exit codes.
set -euo pipefail
holdfast=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
exit_code() {
    local code=0
    "$@" >"$scratch/output" 2>&1 || code=$?
    echo "$code"
}

mkdir "$scratch/run"
manifest='{"steps":3,"configuration":{},"dataset":{"features":2,"scaling":"public","ids":"given","digest":"ab"},"guarantee":{"status":"proved"}}'
echo "$manifest" >"$scratch/run/manifest.json"
"$holdfast" report "$scratch/run" | grep -cF "$scratch/run/report.html" || fail "does not say where the report is"
[[ $(stat -c %a "$scratch/run/report.html") == 600 ]] || fail "others may read the report"
grep -q 'holdfast evaluate' "$scratch/run/report.html" || fail "does not say that the evaluation is missing"
"$holdfast" report "$scratch/run" --out "$scratch/page.html" --json | grep -c '"evaluated":false' || fail "--json"
[[ -s $scratch/page.html ]] || fail "--out"

[[ $(exit_code "$holdfast" report "$scratch/none") == 3 ]] || fail "no run folder: exit code"
echo '{"steps": ' >"$scratch/run/manifest.json"
[[ $(exit_code "$holdfast" report "$scratch/run" --out "$scratch/other.html") == 3 ]] || fail "malformed: exit code"
grep -q 'manifest.json: malformed JSON' "$scratch/output" || fail "malformed: $(cat "$scratch/output")"
[[ ! -e $scratch/other.html ]] || fail "a report of a malformed run"
echo "$manifest" >"$scratch/run/manifest.json"
[[ $(exit_code "$holdfast" report "$scratch/run" --out "$scratch/none/page.html") == 4 ]] || fail "unwritable: exit code"

"$holdfast" doctor | grep -c '^  ok  *rounding  *to nearest$' || fail "doctor: table"
"$holdfast" doctor --json | grep -c '"sound":true' || fail "doctor: --json"
mpirun -n 2 "$holdfast" doctor | grep -c 'ranks  *2 (mpi) on 1 host' || fail "doctor: two ranks"

((failures == 0)) && echo "report and doctor as they should be"
