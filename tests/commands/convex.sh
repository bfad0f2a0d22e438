#!/usr/bin/env bash
# convex.sh HOLDFAST: convex training as its owner meets it: train, certify, evaluate, release; what it refuses; the same
# bytes on any ranks and after a stop.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --records 2000 --test 200 --seed 1 --out blobs.h5 --quiet > /dev/null || fail "no blobs"
convex=(--set training.kind=convex --set network.hidden=[] --set features.norm_limit=1 --set training.batches=2 --set training.epochs=6
        --set training.learning_rate=1 --set training.l2=0.001 --quiet)
train() { "$holdfast" train --data blobs.h5 "${convex[@]}" "$@"; } # --out FOLDER OPTIONS…
# refused WORDS OPTIONS…: a usage error that says so and leaves nothing.
refused() {
    train --out refused "${@:2}" > out.txt 2> err.txt
    local status=$?
    ((status == 2)) || fail "exit $status for 2: $1: $(cat err.txt)"
    grep -q -e "$1" err.txt || fail "\"$1\" is not in: $(cat err.txt)"
    [[ ! -e refused/manifest.json ]] || fail "a refused run finished: $1"
    rm -rf refused
}
refused 'network.hidden = \[\]' --set network.hidden=[4]
refused 'training.momentum = 0' --set training.momentum=0.5
refused 'normalise' --set training.normalise=actual
refused 'batching' --set training.batching=sequential --set training.batch_size=9
refused 'precision = "double"' --set training.precision=single
refused 'level_list' --set certificate.level_list=[1,5]
refused 'budget' --set certificate.budget=per_batch
refused 'product' --set certificate.product=rump
refused 'clip' --set clip.kind=norm
refused 'huber' --set network.loss=hinge
refused 'one_vs_rest' --set network.loss=cross_entropy --set convex.derivative_limit=0.5
refused 'training.learning_rate = ' --set training.learning_rate=1000
refused 'convex.derivative_limit' --set convex.derivative_limit=0
refused 'leave --public out' --public blobs.h5:test
table() { echo id,a,b,y; for ((i = 1; i <= $1; ++i)); do echo "$i,0.$((i * 37 % 100)),0.$((i * 53 % 90)),$((i % 2))"; done; printf '%s\n' "${@:2}"; }
table 60 > uncounted.csv
"$holdfast" import uncounted.csv --label y --id id --population others --out uncounted.h5 --quiet > /dev/null || fail "cannot import"
"$holdfast" train --data uncounted.h5 "${convex[@]}" --out refused > /dev/null 2> err.txt && fail "trained by a private count"
grep -q 'public number' err.txt || fail "no word of the count: $(cat err.txt)"
train --out refused --set training.learning_rate=1000 2> err.txt
allowed=$(grep -o 'training.learning_rate = [0-9.e+-]*' err.txt | grep -o '[0-9][0-9.e+-]*$')
rm -rf refused
train --out longest --set training.learning_rate="$allowed" > /dev/null 2> err.txt || fail "the rate that was allowed is refused: $(cat err.txt)"

# Train, certify, evaluate, release: by answers, with distances far beyond a list of levels.
train --out run > run.txt 2> err.txt || fail "convex training failed: $(cat err.txt)"
grep -q 'one record moves the parameters by at most' run.txt || fail "the radius is not printed: $(cat run.txt)"
grep -q '"status": "proved"' run/manifest.json || fail "not proved: $(grep -A3 guarantee run/manifest.json)"
"$holdfast" certify --run run --queries blobs.h5 --quiet > certify.txt 2> err.txt || fail "certify: $(cat err.txt)"
"$holdfast" evaluate --run run --data blobs.h5 --epsilon 0.1,1 --quiet > evaluate.txt 2> err.txt || fail "evaluate: $(cat err.txt)"
awk '/^stable_rr .*single/ && $3 > 0.95 { found = 1 } END { exit !found }' evaluate.txt || fail "an answer at epsilon .1 is worth little: $(cat evaluate.txt)"
"$holdfast" report run --quiet > /dev/null 2> err.txt || fail "report: $(cat err.txt)"
"$holdfast" account --ledger ledger.db --data blobs.h5 --budget 5 --budget-delta 1e-5 --quiet > /dev/null || fail "no account"
for mechanism in stable_rr class_exponential permute_and_flip; do
    "$holdfast" release --queries-are-public --run run --queries blobs.h5 --first 5 --epsilon 0.1 --mechanism $mechanism --ledger ledger.db --quiet > labels.txt 2> err.txt ||
        fail "$mechanism: $(cat err.txt)"
    (($(wc -l < labels.txt) == 5)) || fail "not five labels: $(cat labels.txt)"
done
"$holdfast" publish --run run --ledger ledger.db --out model.h5 > /dev/null 2>&1 && fail "the parameters left without noise"

# For removals alone: certificates, no release.
train --out removals --set certificate.relation=remove > /dev/null 2> err.txt || fail "removals: $(cat err.txt)"
"$holdfast" certify --run removals --queries blobs.h5 --quiet > /dev/null 2> err.txt || fail "removals: $(cat err.txt)"
"$holdfast" release --queries-are-public --run removals --queries blobs.h5 --epsilon 1 --ledger ledger.db --quiet > /dev/null 2> err.txt && fail "removals were released from"
grep -q 'removals' err.txt || fail "no word of removals: $(cat err.txt)"
certified() { python3 -c 'import json, sys; print(next(row["member"] for row in json.load(open(sys.argv[1] + "/certificates.json"))["certified"] if row["k"] == 50))' "$1"; }
python3 -c 'import sys; sys.exit(float(sys.argv[1]) < float(sys.argv[2]))' "$(certified removals)" "$(certified run)" ||
    fail "removals are certified less than any change: $(certified removals), $(certified run)"
"$holdfast" certify --run removals --queries blobs.h5 --data blobs.h5 --quiet > norms.txt 2> err.txt || fail "by norms: $(cat err.txt)"
grep -q 'by norms alone' norms.txt || fail "no word of what the records do not prove: $(cat norms.txt)"
"$holdfast" certify --run run --queries blobs.h5 --data blobs.h5 --quiet > /dev/null 2> err.txt && fail "records were asked of a run they say nothing of"
grep -q 'certificate.relation = "remove"' err.txt || fail "no remedy: $(cat err.txt)"

# By the records themselves, where the training is near its minimum: far more of them; of no other records.
train_noisy() { "$holdfast" train --data noisy.h5 "${convex[@]}" "$@"; }
full=(--set certificate.relation=remove --set training.batches=1 --set training.epochs=2000 --set training.l2=0.003 --set certificate.levels=300)
awk 'BEGIN { print "id,a,b,y"; for (i = 1; i <= 1500; ++i) { a = i * 37 % 101 / 101; b = i * 53 % 97 / 97; print i "," a "," b "," (a - b + (i * 71 % 89 / 89 - 0.5) > 0) } }' > noisy.csv
"$holdfast" import noisy.csv --label y --id id --population noisy --expected-records 1500 --out noisy.h5 --quiet > /dev/null || fail "cannot import noisy.csv"
train_noisy --out near "${full[@]}" > /dev/null 2> err.txt || fail "full batches: $(cat err.txt)"
"$holdfast" certify --run near --queries noisy.h5:train --quiet > /dev/null 2> err.txt || fail "full batches: $(cat err.txt)"
summed() { python3 -c 'import json, sys; print(sum(row["member"] for row in json.load(open(sys.argv[1] + "/certificates.json"))["certified"]))' "$1"; }
by_norms=$(summed near)
"$holdfast" certify --run near --queries noisy.h5:train --data noisy.h5 --quiet > near.txt 2> err.txt || fail "with records: $(cat err.txt)"
grep -q 'by the influence of the records' near.txt || fail "no word of influence: $(cat near.txt)"
python3 -c 'import sys; sys.exit(float(sys.argv[1]) < 1.5 * float(sys.argv[2]))' "$(summed near)" "$by_norms" ||
    fail "the records prove little: $(summed near), $by_norms"
"$holdfast" certify --run near --queries noisy.h5:train --data blobs.h5 --quiet > /dev/null 2> err.txt
(($? == 3)) || fail "other records: $(cat err.txt)"
grep -q 'not the records that the run was trained on' err.txt || fail "other records: $(cat err.txt)"
train_noisy --out near3 "${full[@]}" --set ensemble.members=3 > /dev/null 2> err.txt || fail "three members: $(cat err.txt)"
mpirun -n 2 "$holdfast" certify --run near3 --queries noisy.h5:train --data noisy.h5 --quiet > near3.txt 2> err.txt || fail "three members: $(cat err.txt)"
"$holdfast" certify --run near3 --queries noisy.h5:train --data noisy.h5 --quiet > alone3.txt 2> err.txt || fail "three members: $(cat err.txt)"
cmp -s near3.txt alone3.txt || fail "distances depend on ranks: $(diff near3.txt alone3.txt)"
seq 1 40 > gone.txt
"$holdfast" unlearn --run near --data noisy.h5 --ids gone.txt --queries noisy.h5:train --quiet > unlearn.txt 2> err.txt || fail "unlearn: $(cat err.txt)"
python3 -c 'import re, sys; stay, all = map(int, re.search(r"(\d+) of (\d+) queries keep", open("unlearn.txt").read()).groups()); sys.exit(stay < 0.8 * all)' ||
    fail "few answers stay: $(cat unlearn.txt)"

mpirun -n 2 "$holdfast" train --data blobs.h5 "${convex[@]}" --set certificate.relation=remove --set run.grid=1x1x2 --out removals2 > /dev/null 2> err.txt || fail "removals on two ranks: $(cat err.txt)"
digest() { grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json" | tail -1; }
[[ $(digest removals) == "$(digest removals2)" ]] || fail "what removals may do depends on ranks"

# Members, classes, losses; the same bytes on one rank and two, and after a stop.
many=(--set ensemble.members=3 --set network.loss=one_vs_rest --set convex.l1=0.0001 --set convex.average=0.5 --set convex.derivative_limit=0.4)
train --out alone "${many[@]}" > /dev/null 2> err.txt || fail "members: $(cat err.txt)"
mpirun -n 2 "$holdfast" train --data blobs.h5 "${convex[@]}" "${many[@]}" --out ranks > /dev/null 2> err.txt || fail "two ranks: $(cat err.txt)"
mpirun -n 2 "$holdfast" train --data blobs.h5 "${convex[@]}" "${many[@]}" --set run.grid=1x1x2 --out blocks > /dev/null 2> err.txt || fail "two blocks: $(cat err.txt)"
[[ $(digest alone) == "$(digest ranks)" && $(digest alone) == "$(digest blocks)" ]] || fail "the bytes depend on ranks"
cmp -s alone/metrics.jsonl blocks/metrics.jsonl || fail "the metrics depend on ranks"
slow=("${many[@]}" --set training.epochs=600 --set run.checkpoint_steps=20 --set run.backend=reference)
train --out whole "${slow[@]}" --set run.backend=cpu > /dev/null 2> err.txt || fail "long: $(cat err.txt)"
"$holdfast" train --data blobs.h5 "${convex[@]}" --out stopped "${slow[@]}" > /dev/null 2> err.txt &
pid=$!
until compgen -G 'stopped/checkpoints/*/[0-9]*' > /dev/null; do kill -0 $pid 2> /dev/null || break; sleep 0.01; done
kill -TERM $pid
wait $pid
(($? == 7)) || fail "not stopped by the signal: $(cat err.txt)"
train --out stopped "${slow[@]}" --set run.backend=cpu --resume > /dev/null 2> err.txt || fail "cannot go on: $(cat err.txt)"
[[ $(digest whole) == "$(digest stopped)" ]] || fail "it went on to other bytes"
"$holdfast" evaluate --run alone --data blobs.h5 --epsilon 1 --quiet > /dev/null 2> err.txt || fail "an ensemble's evaluation: $(cat err.txt)"
"$holdfast" release --queries-are-public --run alone --queries blobs.h5 --first 3 --epsilon 0.1 --ledger ledger.db --quiet > labels.txt 2> err.txt || fail "an ensemble's release: $(cat err.txt)"

# A damaged point is no point.
cp -a run damaged
truncate -s -100 damaged/boxes.h5
"$holdfast" certify --run damaged --queries blobs.h5 --quiet > /dev/null 2> err.txt
(($? == 3)) || fail "certified from a damaged file: $(cat err.txt)"

# What is shown does not depend on the records: exit codes and words on neighbours, one of which no batch holds.
seen() { # FOLDER CSV
    mkdir -p "$1"
    "$holdfast" import "$2" --label y --id id --population people --expected-records 60 --out "$1/data.h5" --quiet > /dev/null || fail "cannot import $2"
    "$holdfast" account --ledger "$1/ledger.db" --data "$1/data.h5" --budget 3 --quiet > /dev/null
    "$holdfast" train --data "$1/data.h5" "${convex[@]}" --set convex.most_records=31 --out "$1/run" > "$1/out.txt" 2> "$1/err.txt"
    echo "exit $?"
    "$holdfast" release --queries-are-public --run "$1/run" --queries blobs.h5 --first 2 --epsilon 0.5 --ledger "$1/ledger.db" > /dev/null 2> "$1/release.txt"
    echo "exit $?"
    sed -E "s|$1|WORLD|g; s/convex [0-9a-f]{16}/convex DIGEST/" "$1/out.txt" "$1/err.txt" "$1/release.txt"
    stat -c '%n %s' "$1/run/boxes.h5" | sed "s|$1|WORLD|"
}
table 60 > base.csv
table 60 '99,1e30,-1e30,1' > more.csv
table 1 > lonely.csv
seen base base.csv > base.txt
for other in more lonely; do
    seen $other $other.csv > $other.txt
    diff base.txt $other.txt > diff.txt || fail "$other shows: $(cat diff.txt)"
done
((failures == 0)) && echo "convex training is what it says, and shows nothing of its records"
exit $((failures > 0))
