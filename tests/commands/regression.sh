#!/usr/bin/env bash
# regression.sh HOLDFAST: a regression from its import to its report; what has no meaning for one is refused by name,
# and bad targets are.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

# expect NAME CODE WORDS COMMAND…: exits so and says so.
expect() {
    local name=$1 code=$2 words=$3
    shift 3
    "$@" > out.txt 2> err.txt
    local status=$?
    ((status == code)) || fail "$name: exit $status for $code: $(cat err.txt)"
    grep -qE -e "$words" err.txt || fail "$name: \"$words\" is not in: $(cat err.txt)"
}
field() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))$2)" "$1"; } # FILE PATH

# Made, trained on one rank and on two to the same bytes, certified and evaluated alike.
"$holdfast" synth surface --records 600 --test 200 --seed 3 --out surface.h5 --quiet > out.txt || fail "no surface: $(cat out.txt)"
"$holdfast" inspect surface.h5 --quiet 2> /dev/null | grep -q 'targets *numbers, public range \[0, 1\]' || fail "inspect does not say what the targets are"
settings=(--set network.classes=1 --set network.hidden=[8] --set training.epochs=4 --set training.learning_rate=0.05
    --set clip.gamma=0.1 --set certificate.levels=6 --quiet)
train=("$holdfast" train --data surface.h5 "${settings[@]}")
"${train[@]}" --out run > out.txt 2> err.txt || fail "train: $(cat err.txt)"
mpirun -n 2 "${train[@]}" --out run2 > out.txt 2> err.txt || fail "train on 2 ranks: $(cat err.txt)"
cmp -s run/boxes.h5 run2/boxes.h5 || fail "two ranks make other boxes"
cmp -s run/metrics.jsonl run2/metrics.jsonl || fail "two ranks make other metrics"
grep -q accuracy run/metrics.jsonl && fail "a regression has no accuracy"
for run in run run2; do
    ranks=1
    [[ $run == run2 ]] && ranks=2
    mpirun -n $ranks "$holdfast" certify --run $run --queries surface.h5 --quiet > out.txt 2> err.txt || fail "certify: $(cat err.txt)"
    mpirun -n $ranks "$holdfast" evaluate --run $run --data surface.h5 --quiet > out.txt 2> err.txt || fail "evaluate: $(cat err.txt)"
done
grep -q 'certified squared_error' out.txt || fail "evaluate shows no loss: $(cat out.txt)"
[[ $(field run/certificates.json '["digest"]') == "$(field run2/certificates.json '["digest"]')" ]] || fail "two ranks certify otherwise"
[[ $(field run/evaluation.json '["digest"]') == "$(field run2/evaluation.json '["digest"]')" ]] || fail "two ranks evaluate otherwise"
[[ $(stat -c %a run/intervals.h5) == 600 ]] || fail "intervals are for their owner"
python3 - run/evaluation.json run/certificates.json << 'PY' || fail "the losses do not go with k"
import json, sys
losses = json.load(open(sys.argv[1]))["certified_loss"]["levels"]
widths = json.load(open(sys.argv[2]))["intervals"]
assert [row["k"] for row in losses] == list(range(7)) == [row["k"] for row in widths]
for row, last in zip(losses[1:], losses):
    assert row["best"] <= last["best"] <= last["nominal"] <= last["worst"] <= row["worst"], (row, last)
assert losses[-1]["worst"] > losses[0]["worst"] and losses[0]["worst"] - losses[0]["best"] < 1e-12
assert losses[0]["nominal"] < 0.1, losses[0]  # of 0, some .3
assert all(row["width_mean"] >= last["width_mean"] for row, last in zip(widths[1:], widths)) and widths[0]["width_max"] == 0
PY
"$holdfast" report run --out report.html --quiet > /dev/null 2> err.txt || fail "report: $(cat err.txt)"
grep -q 'Certified loss' report.html || fail "the report does not show the loss"
grep -q 'of the variance of 200 queries is explained' report.html || fail "the report does not say how good it is"

# Its numbers are given at a price each, in steps of their range, alike of one rank and two; in other steps it is another question.
"$holdfast" account --ledger l.db --data surface.h5 --budget 200 --budget-delta 1e-5 --quiet > /dev/null || fail "no account"
give() { "$holdfast" release --queries-are-public --run run --queries surface.h5 --first 20 --ledger l.db --json --quiet "$@" 2> err.txt || fail "release $*: $(cat err.txt)"; }
give --epsilon 4 --steps 10 > first.json
give --epsilon 4 --steps 10 > again.json
give --epsilon 4 --steps 5 > coarse.json
python3 - first.json again.json coarse.json << 'PY' || fail "numbers that are given: $(cat first.json again.json coarse.json)"
import json, sys
first, again, coarse = (json.load(open(name)) for name in sys.argv[1:])
assert len(first["predictions"]) == 20 and all(round(10 * value - 0.5, 6) in range(10) for value in first["predictions"]), first
assert again["predictions"] == first["predictions"] and again["cost"]["charged_answers"] == 0
assert all(round(5 * value - 0.5, 6) in range(5) for value in coarse["predictions"]) and coarse["cost"]["charged_answers"] == 20
assert first["terms"][0]["mechanism"] == "permute_and_flip" and first["cost"]["spent_epsilon"] == 80, first
PY
for ranks in 1 2; do # at so large an epsilon what is given is the step in which the prediction lies
    "$holdfast" account --ledger "ranks$ranks.db" --data surface.h5 --budget 3000 --budget-delta 1e-5 --quiet > /dev/null
    mpirun -n $ranks "$holdfast" release --queries-are-public --run run --queries surface.h5 --first 20 --ledger "ranks$ranks.db" --epsilon 140 --mechanism class_exponential --steps 20 --quiet > "given$ranks.txt" 2> err.txt || fail "on $ranks ranks: $(cat err.txt)"
done
cmp -s given1.txt given2.txt && [[ $(wc -l < given1.txt) == 20 && $(sort -u given1.txt | wc -l) -gt 3 ]] || fail "given: $(cat given1.txt given2.txt)"
expect "a session" 2 'one by one' "$holdfast" release --queries-are-public --run run --queries surface.h5 --session a --epsilon 1 --delta 1e-6 --ledger l.db
expect "a total" 2 'one by one' "$holdfast" release --queries-are-public --run run --queries surface.h5 --total-epsilon 1 --ledger l.db
# A range that was found in the records is two of them.
{ echo id,a,b,y; awk 'BEGIN { srand(1); for (i = 0; i < 60; ++i) printf "%d,%f,%f,%f\n", i, rand(), rand(), 100 * rand() }'; } > t.csv
"$holdfast" schema t.csv --label y --regression --id id --from-data --out t.toml --quiet > out.txt 2> err.txt || fail "schema: $(cat err.txt)"
"$holdfast" import t.csv --schema t.toml --expected-records 60 --out t.h5 --quiet > out.txt 2> err.txt || fail "import: $(cat err.txt)"
"$holdfast" train --data t.h5 "${settings[@]}" --out found > out.txt 2> err.txt || fail "train: $(cat err.txt)"
expect "a range that was found" 2 'found in the records' "$holdfast" release --queries-are-public --run found --queries t.h5:train --epsilon 1 --ledger l.db
expect "one step" 2 'steps' "$holdfast" release --queries-are-public --run run --queries surface.h5 --epsilon 1 --steps 1 --ledger l.db

# Of a classifier on request, and nothing else changes.
"$holdfast" synth blobs --records 300 --test 60 --out blobs.h5 --quiet > /dev/null
"$holdfast" train --data blobs.h5 --out classifier --set network.hidden=[6] --set certificate.levels=4 --quiet > /dev/null 2> err.txt || fail "classifier: $(cat err.txt)"
"$holdfast" evaluate --run classifier --data blobs.h5 --epsilon 1 --loss --quiet > out.txt 2> err.txt || fail "evaluate --loss: $(cat err.txt)"
grep -q 'certified binary_cross_entropy' out.txt || fail "no loss of a classifier: $(cat out.txt)"
python3 - classifier/evaluation.json << 'PY' || fail "the classifier's losses"
import json, sys
found = json.load(open(sys.argv[1]))
rows = found["certified_loss"]["levels"]
assert all(row["accuracy_worst"] <= row["accuracy_nominal"] <= row["accuracy_best"] for row in rows), rows
assert abs(rows[0]["accuracy_nominal"] - found["accuracy"]["single"]) < 1e-12, (rows[0], found["accuracy"])
PY

expect "steps of labels" 2 'gives labels' "$holdfast" release --queries-are-public --run classifier --queries blobs.h5 --epsilon 1 --steps 5 --ledger l.db

# What a regression has not.
expect "epsilon" 2 'prices are shown of labels alone' "$holdfast" evaluate --run run --data surface.h5 --epsilon 1
expect "publish" 2 'parameters of a run with boxes' "$holdfast" publish --run run --out m.h5 --ledger l.db --epsilon 1
expect "ensemble" 2 'ensemble\.members = 1' "${train[@]}" --out no --set ensemble.members=2
expect "convex" 2 'training\.kind = "noisy" or "boxes"' "${train[@]}" --out no --set training.kind=convex
expect "loss of labels" 2 'network\.loss = "squared_error"' "${train[@]}" --out no --set network.loss=hinge
expect "classifier of numbers" 3 'network\.classes = 1' "$holdfast" train --data surface.h5 --out no --quiet
echo x1,x2,x3,x4,x5,x6,x7,x8 > queries.csv
echo 0,0,0,0,0,0,0,0 >> queries.csv
"$holdfast" import queries.csv --no-labels --out queries.h5 --quiet > /dev/null
expect "queries without targets" 3 'no targets' "$holdfast" evaluate --run run --data queries.h5:train
[[ -e no ]] && fail "a refused training left its folder"

# Advised, trained with noise and published: what it answers is better than the mean, in the target's own units.
python3 -c '
import random
random.seed(3)
print("id,size,age,price")
for number in range(3000):
    size, age = random.random(), random.random()
    print(f"h{number},{200 * size:.2f},{90 * age:.2f},{100000 * (1 + 2 * size - age) + random.gauss(0, 20000):.0f}")' > prices.csv
cat > prices.toml << 'TOML'
label = "price"
regression = true
target_range = [0, 400000]
id = "id"
person = {}
[[column]]
name = "size"
type = "number"
range = [0, 200]
[[column]]
name = "age"
type = "number"
range = [0, 100]
TOML
"$holdfast" import prices.csv --schema prices.toml --test-fraction 0.2 --expected-records 2400 --population town --out prices.h5 --quiet > out.txt 2> err.txt || fail "import of prices: $(cat err.txt)"
"$holdfast" advise --records 2400 --features 2 --classes 1 --epsilon 1 --data prices.h5 --ledger town.ledger --out prices-advice.toml --json --quiet > advice.json 2> err.txt || fail "advise: $(cat err.txt)"
python3 - advice.json << 'PY' || fail "the advice of a regression: $(cat advice.json)"
import json, sys
said = json.load(open(sys.argv[1]))
advised = said["advised"]
assert advised["kind"] == "noisy" and {row["route"] for row in said["routes"]} == {"noisy"}
assert 0.2 < advised["explained_variance"] < 1 and advised["greatest_regret"] < 0.005
assert advised["expected_explained_variance"][0] <= advised["explained_variance"] <= advised["expected_explained_variance"][1]
assert all(0 < stand_in["mean_squared_error"] < 0.2 for row in said["routes"] for stand_in in row["stand_ins"])
PY
"$holdfast" account --ledger town.ledger --data prices.h5 --budget 1 --budget-delta 1e-5 --quiet > /dev/null || fail "no account of the town"
"$holdfast" train --config prices-advice.toml --data prices.h5 --ledger town.ledger --out noisy --quiet > out.txt 2> err.txt || fail "noisy: $(cat err.txt)"
grep -q '^proved:' out.txt || fail "what is trained with noise is proved: $(cat out.txt)"
"$holdfast" publish --run noisy --ledger town.ledger --out prices-model.h5 --quiet > /dev/null 2> err.txt || fail "publish: $(cat err.txt)"
"$holdfast" predict --model prices-model.h5 prices.h5 --accuracy --quiet > out.txt 2> err.txt || fail "predict: $(cat err.txt)"
python3 - out.txt << 'PY' || fail "what it explains: $(cat out.txt)"
import re, sys
error, absolute, mean, explained = map(float, re.search(r"error ([\d.]+), mean absolute error ([\d.]+), .*own units\nmean \(baseline\): ([\d.]+);.*explained: ([\d.]+)", open(sys.argv[1]).read()).groups())
assert 20000 < error < 40000 < mean < 90000 and absolute < error and abs(1 - (error / mean) ** 2 - explained) < 1e-3
PY
"$holdfast" evaluate --run noisy --data prices.h5 --quiet > evaluated.txt 2> err.txt || fail "evaluate of a noisy one: $(cat err.txt)"
grep -q 'variance explained' evaluated.txt || fail "evaluate: $(cat evaluated.txt)"
printf 'age,size\n10,150\n' > new.csv
"$holdfast" predict --model prices-model.h5 new.csv --quiet > out.txt 2> err.txt || fail "a new row: $(cat err.txt)"
python3 -c 'import sys; assert 200000 < float(open("out.txt").read().split(",")[-1]) < 280000' || fail "a price of 240000 or so: $(cat out.txt)"
expect "validate" 2 'a regression has no classes' "$holdfast" validate --model prices-model.h5 --data prices.h5 --ledger town.ledger --epsilon 0.1

# Imported: numbers in a range that is public, mapped to [0, 1].
printf 'id,a,price\n1,0.5,100\n2,0.25,300\n3,1,1000\n4,0,-50\n' > houses.csv
import=("$holdfast" import --quiet --label price --id id)
"${import[@]}" houses.csv --regression --target-range 0:400 --out houses.h5 > out.txt 2> err.txt || fail "import: $(cat err.txt)"
grep -q 'target range: \[0, 1\]' out.txt && grep -q 'clipped to their range: 2' out.txt || fail "import says: $(cat out.txt)"
"$holdfast" train --data houses.h5 --out small "${settings[@]}" --set certificate.levels=2 > /dev/null 2> err.txt || fail "train on 4 houses: $(cat err.txt)"
refuse() { expect "$1" "$2" "$3" "${import[@]}" bad.csv --out bad.h5 "${@:4}"; }
printf 'id,a,price\n1,0.5,NaN\n' > bad.csv
refuse "a missing target" 3 'line 2 has a target that is missing' --regression --missing error
printf 'id,a,price\n1,0.5,NaN\n2,0.25,300\n' > gaps.csv
"${import[@]}" gaps.csv --regression --out gaps.h5 > out.txt 2> err.txt && grep -q 'whose label is none of the stated ones: 1' out.txt || fail "a missing target of others: $(cat out.txt err.txt)"
printf 'id,a,price\n1,0.5,inf\n' > bad.csv
refuse "an infinite target" 3 'target that is infinite' --regression --missing error
printf 'id,a,price\n1,0.5,dear\n' > bad.csv
refuse "text" 3 "'dear' is not a number" --regression --missing error
printf 'id,a,price\n1,0.5,1.5\n' > bad.csv
refuse "a number for a label" 3 '\-\-regression'
refuse "classes of a regression" 2 'a regression has none' --regression --classes 'a|b'
refuse "a range of labels" 2 '\-\-regression' --target-range 0:1 --classes '1.5|2'
refuse "no range" 2 'LOW < HIGH' --regression --target-range 1:1
refuse "half a range" 2 'names no range' --regression --target-range 1

((failures == 0)) && echo "a regression, end to end: ok"
exit $((failures > 0))
