#!/usr/bin/env bash
# tune.sh HOLDFAST: the best of a secret number of trainings. Both accounts pay once and first; a kill changes nothing that is
# drawn; no word and no file that is left says how many there were; what has no mu, or cannot be trained, costs nothing.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
root=$(realpath "$support/../..")
must() { "$holdfast" "$@" >out.txt 2>err.txt || fail "$1: $(cat err.txt)"; }
refused() { # CODE TEXT COMMAND…
    "$holdfast" "${@:3}" >out.txt 2>err.txt
    [[ $? == "$1" && ! -s out.txt ]] && grep -q "$2" err.txt || fail "not refused with $1 and '$2': ${*:3}: $(cat out.txt err.txt)"
}
spent() { "$holdfast" account --ledger "$1.db" --population "$2" --json --quiet | grep -o '"spent_epsilon":[0-9.]*' | cut -d: -f2; }
json() { python3 -c "import json, sys; o = json.load(open(sys.argv[1])); print($2)" "$1"; }

"$root/tools/patients" >p.csv
must import p.csv --label ill --person number --scale 'age=0:100' --scale 'pulse=30:130' --expected-records 2250 --population ward --test-fraction 0.25 --out p.h5
# open LEDGER OPTION…
open() {
    must account --ledger "$1.db" --data p.h5 --budget-delta 0.001 "${@:2}"
    must account --ledger "$1.db" --data p.h5:test --held --budget-delta 0.001 "${@:2}"
}
settings() { printf '[network]\nhidden = []\n[training]\nkind = "noisy"\nepochs = %s\nlearning_rate = %s\n[clip]\nkind = "norm"\nnorm_limit = 1.0\n' "$1" "$2"; }
list=()
for rate in 0.001 1 4 16; do
    settings 15 $rate >rate-$rate.toml
    list+=(--config rate-$rate.toml)
done

# 1. One is chosen, paid for by both accounts at once, and published; what it says of itself is proved.
open ward --budget 40
must tune "${list[@]}" --data p.h5 --ledger ward.db --epsilon 1 --law logarithmic --out best --json
cp out.txt best.json
[[ $(spent ward ward)/$(spent ward ward.held) == 1.0/1.0 ]] || fail "spent: $(spent ward ward), $(spent ward ward.held)"
[[ $(json best.json 'o["guarantee"]["status"], o["chosen"] in ("rate-0.001.toml", "rate-1.toml", "rate-4.toml", "rate-16.toml")') == "proved True" ]] || fail "chosen: $(<best.json)"
must publish --run best --ledger ward.db --out best-model.h5
claims out.txt '^proved: .*secret number' || fail "published: $(<out.txt)"
must predict --model best-model.h5 --queries p.h5:test --accuracy --json
must verify best --data p.h5
must validate --model best-model.h5 --data p.h5 --ledger ward.db --epsilon 1
must statement --ledger ward.db
[[ $(grep -c 'nobody but the owner learns how many trainings' out.txt) -ge 2 ]] || fail "one account's conditions leave out how many there were: $(<out.txt)"
mu=$(grep -o 'mu of a run: [0-9.]*' out.txt | head -n 1 | cut -d: -f2)
python3 - best.json best/manifest.json "$mu" <<'PY' || fail "less noise than a run of mu $mu has"
import json, sys
told, run, mu = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), float(sys.argv[3])
assert .99 < 15 / (run["configuration"]["noise.multiplier"] * mu) ** 2 <= 1, run["configuration"]
assert abs(told["score"]["error"] * mu - 1) < 1e-3 and told["score"]["right"] % 1 != 0, told["score"]
PY
grep -q 'score_of_selection' out.txt && grep -q 'mean runs: 4' out.txt || fail "the statement: $(<out.txt)"

# 2. Nothing that is left, printed or logged tells how many there were: the folder of the work is gone, and the log of each
# selection has the same lines.
[[ $(ls -d best*) == $'best\nbest-model.h5\nbest.json' ]] || fail "left: $(ls -d best*)"
[[ ! -e best/key && $(grep -rlE 'run-[0-9]' best | wc -l) == 0 ]] || fail "the run tells its place: $(grep -rE 'run-[0-9]' best)"
for i in 1 2 3 4; do
    "$holdfast" tune "${list[@]}" --data p.h5 --ledger ward.db --epsilon 1 --law geometric --runs 6 --out many$i >/dev/null 2>log$i.txt || fail "selection $i: $(<log$i.txt)"
    cmp -s log1.txt log$i.txt || fail "two selections have different logs: $(diff log1.txt log$i.txt)"
done

# 3. Killed at any moment, the same command goes on: nothing more is charged, and what is drawn is what would have been drawn,
# on two ranks as on one. Trainings of one setting have noise of their own.
settings 100 1 >long.toml
going=(tune --config long.toml --config long.toml --data p.h5 --ledger ward.db --epsilon 1 --law geometric --runs 5)
before=$(spent ward ward)
"$holdfast" "${going[@]}" --out killed >/dev/null 2>err.txt & job=$!
for ((i = 0; i < 600; ++i)); do
    [[ -e killed.tuning/outcomes.json ]] && (($(grep -o digest killed.tuning/outcomes.json | wc -l) >= 2)) && break
    kill -0 $job 2>/dev/null || break
    sleep 0.05
done
kill -9 $job 2>/dev/null
wait $job 2>/dev/null
if [[ -e killed.tuning ]]; then # else it was done sooner
    [[ $(stat -c %a killed.tuning) == 700 && $(stat -c %a killed.tuning/key) == 600 ]] || fail "the folder of the work is not its owner's alone"
    [[ $(grep -oE '"digest": *"[0-9a-f]*"' killed.tuning/outcomes.json | sort | uniq -d) == "" ]] || fail "two trainings of one setting are one: $(<killed.tuning/outcomes.json)"
    refused 2 "another" "${going[@]:0:${#going[@]}-1}" 4 --out killed
    cp -r killed.tuning twin.tuning
    cp ward.db twin.db
    must "${going[@]}" --out killed --json
    grep -q 'charged before' err.txt || fail "gone on, charged again: $(<err.txt)"
    mpirun -n 2 "$holdfast" "${going[@]/ward.db/twin.db}" --out twin --json >twin.json 2>err.txt || fail "on two ranks: $(<err.txt)"
    [[ $(json killed/manifest.json 'o["digest"]') == "$(json twin/manifest.json 'o["digest"]')" ]] || fail "what was drawn depends on ranks, or on the kill"
    [[ $(json out.txt 'o["score"]') == "$(json twin.json 'o["score"]')" ]] || fail "another score: $(<out.txt) $(<twin.json)"
    python3 -c "import sys; sys.exit(abs($(spent ward ward) - $before - 1) > 1e-9)" || fail "killed, it cost $before to $(spent ward ward)"
fi

# 4. A Poisson law draws none now and then: that is an answer, too.
for ((i = 0; i < 15; ++i)); do
    must tune "${list[@]}" --data p.h5 --ledger ward.db --epsilon 1 --runs 1 --out none$i
    [[ -e none$i ]] || break
done
grep -q 'nothing is chosen' out.txt && [[ ! -e none$i && ! -e none$i.tuning ]] || fail "of 15, each with .37 for none: $(<out.txt)"

# 5. What does not fit, has no mu or cannot be trained costs nothing and leaves nothing.
open small --budget 0.5
refused 6 'does not fit' tune "${list[@]}" --data p.h5 --ledger small.db --epsilon 1 --out no
open normal --budget 3 --composition gdp
refused 6 'has no mu' tune "${list[@]}" --data p.h5 --ledger normal.db --epsilon 1 --out no
must account --ledger mixed.db --data p.h5 --budget 3 --budget-delta 0.001
must account --ledger mixed.db --data p.h5:test --held --budget 3 --budget-delta 0.001 --composition gdp
refused 6 'has no mu' tune "${list[@]}" --data p.h5 --ledger mixed.db --epsilon 1 --out no
[[ $(spent mixed ward) == 0.0 ]] || fail "that those held out cannot pay cost those trained on $(spent mixed ward)"
must account --ledger alone.db --data p.h5 --budget 3 --budget-delta 0.001
refused 2 'no account of their own' tune "${list[@]}" --data p.h5 --ledger alone.db --epsilon 1 --out no
refused 2 'a choice is among' tune --config rate-1.toml --data p.h5 --ledger ward.db --epsilon 1 --out no
refused 2 'a part of the records' tune "${list[@]}" --set training.batches=4 --data p.h5 --ledger ward.db --epsilon 1 --out no
refused 2 'only trainings with noise' tune "${list[@]}" --set noise.law=none --data p.h5 --ledger ward.db --epsilon 1 --out no
{ settings 15 1; printf '[certificate]\nrelation = "substitute"\n'; } >other.toml
refused 2 'different neighbours' tune "${list[@]}" --config other.toml --data p.h5 --ledger ward.db --epsilon 1 --out no
refused 2 'leaves nothing' tune "${list[@]}" --runs 100 --law geometric --data p.h5 --ledger ward.db --epsilon 0.0001 --delta 1e-30 --out no
# Of a person trained on, and of nobody held out, a label that no setting has.
for row in 1 2 3 4 5 6 7 8; do
    python3 - p.csv three.csv $row <<'PY'
import csv, sys
rows = list(csv.reader(open(sys.argv[1])))
rows[int(sys.argv[3])][rows[0].index("ill")] = "2"
csv.writer(open(sys.argv[2], "w"), lineterminator="\n").writerows(rows)
PY
    rm -f three.h5
    must import three.csv --label ill --classes '0|1|2' --person number --scale 'age=0:100' --scale 'pulse=30:130' --expected-records 2250 --population three --test-fraction 0.25 --out three.h5 --json
    [[ $(json out.txt '"2" in o["classes"]["train"]') != True ]] || break
done
[[ $(json out.txt '"2" in o["classes"]["train"], "2" in o["classes"]["test"]') == 'True False' ]] || fail "nobody trained on has label 2"
must account --ledger three.db --data three.h5 --budget 3 --budget-delta 0.001
must account --ledger three.db --data three.h5:test --held --budget 3 --budget-delta 0.001
refused 3 'has label 2' tune "${list[@]}" --data three.h5 --ledger three.db --epsilon 1 --out no
[[ $(spent three three)/$(spent three three.held) == 0.0/0.0 ]] || fail "a label that is none cost $(spent three three)"
refused 4 'is kept' tune "${list[@]}" --data p.h5 --ledger ward.db --epsilon 1 --out best
[[ ! -e no && ! -e no.tuning && $(spent small ward)/$(spent small ward.held) == 0.0/0.0 ]] || fail "a refusal left $(ls -d no*) and cost $(spent small ward)"

# 6. Of several at once into one --out one trains; the others name it, or find its result. What a killed one left, before it
# paid or after it was done, is removed by the next. Nothing stays behind.
for round in 1 2; do
    jobs=()
    for one in a b c; do
        "$holdfast" tune "${list[@]}" --data p.h5 --ledger ward.db --epsilon 1 --law geometric --out raced$round >raced-$one.log 2>&1 & jobs+=($!)
    done
    codes=''
    for job in "${jobs[@]}"; do
        wait $job
        codes+=$?
    done
    [[ $codes =~ ^[024]{3}$ && ${codes//[24]/} == 0 ]] || fail "three at once end with $codes: $(cat raced-?.log)"
    [[ $(ls -d raced$round*) == raced$round ]] || fail "three at once leave $(ls -d raced$round*)"
done
mkdir -p left.tuning/run-0 left.tuning.removed/run-1
echo 0123 | tee left.tuning/fingerprint left.tuning/run-0/metrics.jsonl left.tuning.removed/key >left.tuning/outcomes.json
must tune "${list[@]}" --data p.h5 --ledger ward.db --epsilon 1 --law geometric --out left
[[ $(ls -d left*) == left ]] || fail "a killed selection leaves $(ls -d left*)"

((failures == 0)) && echo "tuned as it should be"
exit $((failures > 0))
