#!/usr/bin/env bash
# convolutions.sh HOLDFAST: images, privately, by a network of convolutions, pooling and dropout: trained with noise,
# published, asked, certified at the query; what noisy training does not do with them is refused by name.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth images --records 3000 --test 200 --seed 1 --out images.h5 --quiet > /dev/null || fail "no images"
"$holdfast" account --quiet --ledger ledger.db --data images.h5 --budget 8 --budget-delta 1e-4 > /dev/null || fail "no account"
spent() { "$holdfast" account --ledger ledger.db --population synthetic --json --quiet | python3 -c 'import json, sys; print(float(json.load(sys.stdin)["spent_epsilon"]))'; }
train=("$holdfast" train --data images.h5 --ledger ledger.db --quiet --set training.kind=noisy --set clip.kind=norm
       --set "network.image=[1,12,12]" --set 'network.layers=["conv 6 3x3 stride 2 padding 1","max_pool 2x2 stride 1","conv 8 2x2","average_pool 2x2","dropout 0.2","dense 24"]'
       --set training.epochs=32 --set training.batches=4 --set training.learning_rate=2 --set noise.epsilon=4)

# 1. Learnt, at the price that was asked; of any number of ranks the published bytes are those of one.
"${train[@]}" --out run > trained.txt || fail "convolutions do not train with noise: $(cat trained.txt)"
[ "$(spent)" = 4.0 ] || fail "it cost $(spent)"
grep -q 'cost epsilon 4, delta 1e-05' trained.txt || fail "does not say what it cost: $(cat trained.txt)"
"$holdfast" publish --quiet --run run --ledger ledger.db --out model.h5 > published.txt || fail "not published"
claims published.txt '^proved: .*add_remove' || fail "does not say what is proved: $(cat published.txt)"
"$holdfast" predict --quiet --model model.h5 --queries images.h5 --accuracy > one.txt || fail "the model does not answer"
mpirun -n 2 "$holdfast" predict --quiet --model model.h5 --queries images.h5 --accuracy > two.txt || fail "two ranks do not answer"
cmp -s one.txt two.txt || fail "two ranks answer otherwise"
"$holdfast" evaluate --quiet --run run --data images.h5 --epsilon 1 > evaluation.txt || fail "its owner cannot evaluate it"
nominal=$(sed -n 's/^nominal accuracy  single \([0-9.]*\) .*/\1/p' evaluation.txt)
[[ $(cat one.txt) == "accuracy $nominal of 200 queries, "* && $nominal > 0.85 ]] || fail "evaluate finds $nominal, predict $(cat one.txt)"

# 2. At the query: boxes go through all layers, and whole ones: nothing is left out of an answer. Attacks know no pooling.
certify() { "$holdfast" certify --quiet --model model.h5 --queries images.h5:test --input-radius .0001,.02 "$@"; }
certify --json > one.json || fail "no certificates of the model"
mpirun -n 2 "$holdfast" certify --quiet --model model.h5 --queries images.h5:test --input-radius .0001,.02 --json > two.json || fail "none on two ranks"
cmp -s one.json two.json || fail "two ranks certify otherwise"
python3 - "$nominal" << 'END' || fail "certificates: $(cat one.json)"
import json, sys
said = json.load(open("one.json"))
small, large = (row["certified"] for row in said["radii"])
assert said["clean"] == float(sys.argv[1]) and said["clean"] - .05 < small <= said["clean"] and large <= small, said
END
certify --attack pgd > /dev/null 2> err.txt
[ $? = 2 ] && grep -q 'without pooling' err.txt || fail "an attack through pooling: $(cat err.txt)"

# 3. A public model of the same layers is a beginning, whatever its training left out.
"$holdfast" synth images --records 3000 --test 0 --seed 2 --population others --out others.h5 --quiet > /dev/null || fail "no images of others"
pretrain() { # DATA OUT
    "$holdfast" pretrain --quiet --data "$1" --set "network.image=[1,12,12]" --set 'network.layers=["conv 6 3x3 stride 2 padding 1","max_pool 2x2 stride 1","conv 8 2x2","average_pool 2x2","dense 24"]' \
        --set training.epochs=1 --out "$2" > /dev/null || fail "no model of $1"
}
pretrain others.h5 begun.h5
"${train[@]}" --set noise.epsilon=1 --set network.initial=begun.h5 --set training.epochs=1 --out onward > /dev/null || fail "does not go on from a public model"
# A model of the records that the ledger pays for is none.
before=$(spent)
pretrain images.h5 private.h5
"${train[@]}" --set noise.epsilon=1 --set network.initial=private.h5 --set training.epochs=1 --out laundered > out.txt 2> err.txt
[ $? = 2 ] && [ ! -s out.txt ] && grep -q "trained on records of population 'synthetic'" err.txt && [ -z "$(ls -A laundered 2> /dev/null)" ] && [ "$(spent)" = "$before" ] ||
    fail "goes on from a model of its own records: $(spent) after $before: $(cat out.txt err.txt)"

# 4. What is not there is refused, and nothing is paid for it.
before=$(spent)
refused() { # WORDS OPTIONS…
    "${train[@]}" --out refused "${@:2}" > /dev/null 2> err.txt
    [ $? = 2 ] && grep -q -e "$1" err.txt && [ ! -e refused ] || fail "not refused by \"$1\": $(cat err.txt)"
}
refused 'set robust.noise alone' --set robust.attack=fgsm --set robust.input_radius=0.1 --set network.loss=cross_entropy
refused 'no_bias' --set 'network.layers=["conv 6 3x3 no_bias"]'
refused 'network.image' --set "network.image=[1,11,12]"
[ "$(spent)" = "$before" ] || fail "a refusal cost $(spent) after $before"

((failures == 0)) && echo "convolutions are learnt privately, published and certified"
exit $((failures > 0))
