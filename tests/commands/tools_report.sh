#!/usr/bin/env bash
# holdfast report and holdfast doctor, run as programs: files, modes, exit codes.
set -euo pipefail
source "$(dirname "$0")/../support/script.sh"
exit_code() {
    local code=0
    "$@" >"$scratch/output" 2>&1 || code=$?
    echo "$code"
}

mkdir "$scratch/run"
# A finished run that nobody has evaluated.
"$holdfast" synth blobs --records 100 --test 20 --seed 2 --out "$scratch/few.h5" --quiet >/dev/null
"$holdfast" train --quiet --data "$scratch/few.h5" --out "$scratch/few" --set network.hidden=[] --set certificate.levels=0 >/dev/null
manifest=$(<"$scratch/few/manifest.json")
echo "$manifest" >"$scratch/run/manifest.json"
"$holdfast" report "$scratch/run" | grep -cF "$scratch/run/report.html" || fail "does not say where the report is"
[[ $(stat -c %a "$scratch/run/report.html") == 600 ]] || fail "others may read the report"
grep -q 'holdfast evaluate' "$scratch/run/report.html" || fail "does not say that the evaluation is missing"
"$holdfast" report "$scratch/run" --out "$scratch/page.html" --json | grep -c '"evaluated":false' || fail "--json"
[[ -s $scratch/page.html ]] || fail "--out"

[[ $(exit_code "$holdfast" report "$scratch/none") == 3 ]] || fail "no run folder: exit code"
echo '{"steps": ' >"$scratch/run/manifest.json"
[[ $(exit_code "$holdfast" report "$scratch/run" --out "$scratch/other.html") == 3 ]] || fail "malformed: exit code"
grep -q 'manifest.json: does not end with a seal' "$scratch/output" || fail "malformed: $(cat "$scratch/output")"
[[ ! -e $scratch/other.html ]] || fail "a report of a malformed run"
echo "$manifest" >"$scratch/run/manifest.json"
[[ $(exit_code "$holdfast" report "$scratch/run" --out "$scratch/none/page.html") == 4 ]] || fail "unwritable: exit code"

# What evaluate --budget finds is printed, written for the owner alone, and drawn.
cd "$scratch"
"$holdfast" synth blobs --records 300 --test 50 --seed 3 --out blobs.h5 --quiet >/dev/null
"$holdfast" train --quiet --data blobs.h5 --out blobs --set network.hidden=[] --set certificate.levels=20 --set clip.gamma=0.01 \
    --set training.expected_records=300 --set training.epochs=6 --set training.learning_rate=8 >/dev/null
"$holdfast" evaluate --quiet --run blobs --data blobs.h5 --budget 1,1e-6 --answers 1,100,20000 >budget.txt || fail "evaluate --budget"
grep -q '(1, 1e-06), refusals counted as wrong' budget.txt || fail "the budget is not said: $(cat budget.txt)"
for route in stable_rr stable_gauss session batch; do grep -q "^$route " budget.txt || fail "no route $route"; done
grep -q 'outside the guarantee' budget.txt || fail "does not say that choosing is outside the guarantee"
[[ $(stat -c %a blobs/evaluation.json) == 600 ]] || fail "others may read the evaluation"
"$holdfast" report blobs --out blobs.html >/dev/null || fail "report of a budget"
grep -q 'Expected accuracy against the number of answers' blobs.html || fail "the budget is not drawn"
mpirun -n 2 "$holdfast" evaluate --quiet --run blobs --data blobs.h5 --budget 1,1e-6 --answers 1,100,20000 | cmp - budget.txt ||
    fail "two ranks give another budget"
[[ $(exit_code "$holdfast" evaluate --run blobs --data blobs.h5) == 2 ]] || fail "neither --epsilon nor --budget: exit code"
grep -q -- '--budget 1,1e-5' "$scratch/output" || fail "does not name --budget: $(cat "$scratch/output")"
[[ $(exit_code "$holdfast" evaluate --run blobs --data blobs.h5 --budget 1,2) == 2 ]] || fail "a delta of 2: exit code"
[[ $(exit_code "$holdfast" evaluate --run blobs --data blobs.h5 --budget 1 --answers 0) == 2 ]] || fail "0 answers: exit code"

"$holdfast" doctor | grep -c '^  ok  *rounding  *to nearest$' || fail "doctor: table"
"$holdfast" doctor --json | grep -c '"sound":true' || fail "doctor: --json"
mpirun -n 2 "$holdfast" doctor | grep -c 'ranks  *2 (mpi) on 1 host' || fail "doctor: two ranks"

((failures == 0)) && echo "report and doctor as they should be"
