#!/usr/bin/env bash
# publish_convex.sh HOLDFAST: a convex run, published: charged once and said so everywhere, the same bytes ever after, nothing
# of the records in them, and the answers that the file gives on any number of ranks.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --records 2000 --test 301 --centre 0.6 --seed 1 --out blobs.h5 --quiet > /dev/null
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --budget 3 --budget-delta 1e-4 > /dev/null
convex=(--data blobs.h5 --set training.kind=convex --set "network.hidden=[]" --set features.norm_limit=2
    --set training.learning_rate=0.3 --set training.l2=0.05 --set training.epochs=20 --quiet)
mpirun -n 2 "$holdfast" train "${convex[@]}" --out run > /dev/null || fail "a convex model does not train"

# 1. What it costs is asked for; the owner's file is charged once, on any number of ranks and times.
"$holdfast" publish --quiet --run run --ledger ledger.db --out model.h5 > out.txt 2> err.txt
[ $? = 2 ] && [ ! -s out.txt ] && grep -q -- '--epsilon' err.txt || fail "published without a price: $(cat err.txt)"
mpirun -n 2 "$holdfast" publish --quiet --run run --ledger ledger.db --out model.h5 --epsilon 1 --delta 1e-5 > published.txt ||
    fail "the convex model is not published by two ranks"
grep -q '^epsilon 1, delta 1e-05, charged once$' published.txt && claims published.txt '^proved: .*add_remove' ||
    fail "does not say what it cost and guarantees: $(cat published.txt)"
"$holdfast" publish --quiet --run run --ledger ledger.db --out again.h5 --epsilon 1 --delta 1e-5 > /dev/null || fail "not published again"
cmp -s model.h5 again.h5 || fail "the same publication has two files"
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 > account.txt
grep -q '^spent .*epsilon 1,' account.txt && grep -q '1 payments' account.txt || fail "charged otherwise: $(cat account.txt)"

# 2. What does not fit is refused before anything is drawn, and leaves nothing.
"$holdfast" publish --quiet --run run --ledger ledger.db --out more.h5 --epsilon 2.5 > out.txt 2> err.txt
[ $? = 6 ] && [ ! -s out.txt ] && [ ! -e more.h5 ] && ! ls run/*.key 2> /dev/null || fail "spent too much: $(cat err.txt)"

# 3. Nothing of the records, the run or the machine is in it.
digests=$(grep -o '"digest": "[0-9a-f]*"' run/manifest.json | grep -o '[0-9a-f]\{64\}')
for private in 2000 blobs "$scratch" "$(cat run/fingerprint)" $digests; do
    ! grep -qaF "$private" model.h5 published.txt || fail "the model says $private"
done
(($(wc -w <<< "$digests") > 1)) || fail "no digests to look for"

# 4. It answers alone, and has learnt something; pure noise is larger.
mv run hidden
for ranks in 1 2 3; do
    mpirun -n $ranks "$holdfast" predict --quiet --model model.h5 --queries blobs.h5 --scores > ranks-$ranks.csv || fail "does not answer on $ranks ranks"
    cmp -s ranks-1.csv ranks-$ranks.csv || fail "answers otherwise on $ranks ranks"
done
accuracy=$("$holdfast" predict --quiet --model model.h5 --queries blobs.h5 --accuracy | sed -n 's/^accuracy \([0-9.]*\) .*/\1/p')
[[ $accuracy > 0.8 ]] || fail "the model has learnt nothing: $accuracy"
mv hidden run
# What the owner expects of it, of a budget so small that noise is all there is, and again: the same figures.
expected() { "$holdfast" evaluate --quiet --run run --data blobs.h5 --budget "$1" --answers 1 | awk '/^published / { print $3 }'; }
awk -v is="$(expected 1,1e-5)" -v one="$accuracy" 'BEGIN { exit !(is > 0.8 && is - one < 0.1 && one - is < 0.1) }' ||
    fail "a published model is expected to be $(expected 1,1e-5) accurate, and is $accuracy"
awk -v is="$(expected 0.01,1e-5)" 'BEGIN { exit !(is > 0.3 && is < 0.7) }' || fail "noise alone answers $(expected 0.01,1e-5)"
[[ $(expected 1,1e-5) == $(expected 1,1e-5) ]] || fail "what is expected is another figure each time"
"$holdfast" publish --quiet --run run --ledger ledger.db --out pure.h5 --epsilon 0.5 --json > pure.json || fail "no pure publication"
grep -q '"noise":"laplace"' pure.json && grep -q '"delta":0.0' pure.json || fail "says of the pure one: $(cat pure.json)"

# 5. The statement names both, and what they were drawn with; the report opens.
"$holdfast" statement --quiet --ledger ledger.db --json > statement.json || fail "no statement"
(($(grep -o '"mechanism":"output_noise"' statement.json | wc -l) == 2)) && grep -q '"noise_scale"' statement.json || fail "the statement does not name the models"
"$holdfast" report run --quiet > /dev/null 2> err.txt || fail "no report: $(cat err.txt)"

# 6. A noisy run was paid for when it was trained, at its own price.
"$holdfast" train --data blobs.h5 --ledger ledger.db --set training.kind=noisy --set clip.kind=norm --set noise.epsilon=0.5 --quiet --out noisy > /dev/null ||
    fail "a noisy model does not train"
"$holdfast" publish --quiet --run noisy --ledger ledger.db --out noisy.h5 --epsilon 0.1 > out.txt 2> err.txt
[ $? = 2 ] && [ ! -e noisy.h5 ] && grep -q 'when it was trained' err.txt || fail "a noisy run takes a price: $(cat err.txt)"

((failures == 0)) && echo "paid for, published and kept as documented"
