#!/usr/bin/env bash
# pretrain.sh HOLDFAST: a public model, stopped where it is best on held out public records, that a private training
# starts from; and what looking at held out records does to a private training: nothing.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth blobs --quiet --records 200 --test 400 --centre 0.6 --spread 0.9 --seed 3 --out public.h5 > /dev/null || fail "no public records"
"$holdfast" synth blobs --quiet --records 600 --test 400 --centre 0.6 --spread 0.9 --seed 4 --population private --out private.h5 > /dev/null || fail "no private records"
settings=(--set "network.hidden=[16]" --set training.batches=2 --set training.learning_rate=4 --set clip.gamma=2 --set training.epochs=400)
pretrain() { "$holdfast" pretrain --quiet --data public.h5 "${settings[@]}" "$@"; }

# 1. It stops, keeps the best step, and says so; all steps end in a worse place.
pretrain --validation public.h5:test --patience 8 --out best.h5 --json > best.json || fail "does not pretrain"
pretrain --validation public.h5:test --out last.h5 --json > last.json || fail "does not take every step"
(($(field best.json steps) <= $(field best.json steps_taken))) && (($(field best.json steps_taken) < 800)) || fail "did not stop: $(cat best.json)"
(($(field best.json steps_taken) == $(field best.json steps) + 16)) || fail "eight looks of two steps later it stops: $(cat best.json)"
[ "$(field last.json steps)" = 800 ] || fail "without patience it takes every step: $(cat last.json)"
awk -v best="$(field best.json validation_loss)" -v last="$(field last.json validation_loss)" 'BEGIN { exit !(best < last) }' || fail "the kept step is no better than the last"
grep -q '"status":"proved"' best.json || fail "a function of public records is proved to be one: $(cat best.json)"

grep -q 'network.initial' best.json && fail "starts from no model, and says so: $(cat best.json)"
pretrain --set network.initial=best.h5 --set training.epochs=1 --out further.h5 --json > further.json || fail "does not go on from a model"
grep -q 'the model that network.initial names was made without the private records' further.json || fail "what it starts from is no condition: $(cat further.json)"

# 2. The model is that of so many steps; the same bytes again.
pretrain --validation public.h5:test --set "training.epochs=$(($(field best.json steps) / 2))" --out again.h5 > /dev/null || fail "does not pretrain again"
cmp -s best.h5 again.h5 || fail "the best step is not the training of so many steps"
"$holdfast" predict --quiet --model best.h5 --queries public.h5:test --accuracy > accuracy.txt || fail "does not predict"
grep -q "^accuracy $(printf %.4f "$(field best.json validation_accuracy)") of 400" accuracy.txt || fail "predict finds $(cat accuracy.txt)"

# 3. A private training starts from it; what is held out is looked at, and changes no byte of the result.
train() { "$holdfast" train --quiet --data private.h5 --set network.initial=best.h5 --set "network.hidden=[16]" --set training.epochs=2 --set training.batches=3 --set certificate.levels=3 "$@" --json; }
train --out plain > plain.json || fail "does not train from it"
train --out seen --validation public.h5:test --validate-every 2 > seen.json || fail "does not train with records held out"
[ "$(field plain.json digest)" = "$(field seen.json digest)" ] || fail "what is held out changed the run"
[ "$(grep -c validation_loss_upper seen/metrics.jsonl)" = 3 ] || fail "looks at $(grep -c validation_loss_upper seen/metrics.jsonl) steps of 6"
! grep -q validation plain/metrics.jsonl || fail "looks at what nobody named"
mpirun -n 2 "$holdfast" train --quiet --data private.h5 --set network.initial=best.h5 --set "network.hidden=[16]" --set training.epochs=2 --set training.batches=3 --set certificate.levels=3 --set run.grid=1x2x1 --out two --validation public.h5:test --validate-every 2 > /dev/null || fail "two ranks do not"
cmp -s seen/metrics.jsonl two/metrics.jsonl || fail "two ranks see other things"

# 4. What cannot be.
refused() { # CODE WORDS COMMAND…
    local code=$1 words=$2
    shift 2
    "$@" > out.txt 2> err.txt
    [ $? = "$code" ] && [ ! -s out.txt ] && grep -q "$words" err.txt || fail "$words: $(cat err.txt)"
}
refused 2 'nothing says where the training is best' pretrain --patience 3 --out none.h5
refused 2 'trains plainly' pretrain --set training.kind=noisy --set clip.kind=norm --out none.h5
refused 4 'another file is there' pretrain --set training.epochs=1 --out best.h5
refused 2 'leave one of the two out' train --out none --validation public.h5:test --keep-states 2
refused 2 'boxes alone' "$holdfast" train --quiet --data private.h5 --set training.kind=convex --set "network.hidden=[]" --out none --validation public.h5:test
printf 'id,a,y\n1,2,0\n2,3,1\n' > narrow.csv
"$holdfast" import narrow.csv --quiet --label y --id id --scale '*=0:5' --expected-records 2 --population narrow --out narrow.h5 > /dev/null || fail "no narrow records"
refused 3 '1 features' train --out none --validation narrow.h5:train
[ ! -e none.h5 ] && [ ! -e none ] || fail "a refusal left something behind"

# 5. A model of records that the ledger knows is no public model, nor is one that starts from it, or is stopped by them.
"$holdfast" account --quiet --ledger ledger.db --data private.h5 --budget 5 --budget-delta 1e-4 > /dev/null || fail "no account"
short() { "$holdfast" pretrain --quiet --set "network.hidden=[16]" --set training.epochs=1 "$@" > /dev/null || fail "does not pretrain: $*"; }
short --data private.h5 --out leaked.h5
short --data public.h5 --set network.initial=leaked.h5 --out carried.h5
short --data public.h5 --validation private.h5:train --out stopped.h5
noisy() { "$holdfast" train --quiet --data private.h5 --ledger ledger.db --set training.kind=noisy --set clip.kind=norm --set noise.epsilon=1 --set "network.hidden=[16]" --set training.epochs=1 "$@"; }
for model in leaked carried stopped; do
    refused 2 "was trained on records of population 'private'" noisy --set network.initial=$model.h5 --out none
    [ ! -e none/manifest.json ] || fail "trained from $model.h5"
done
refused 2 "was trained on records of population 'private'" noisy --set features.map=prefix --set features.prefix=leaked.h5 --out none
"$holdfast" account --quiet --ledger ledger.db --population private --json | grep -q '"spent_epsilon":0' || fail "a refusal was charged"
noisy --set network.initial=best.h5 --out public-start > /dev/null || fail "a public model is refused"
((failures == 0)) && echo "pretrained as documented"
