#!/usr/bin/env bash
# publish.sh HOLDFAST: from private records to a model that anyone may have, and what it answers: the file is for anyone,
# says nothing of the records but what it was published for, and answers alike on any number of ranks.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --records 2000 --test 301 --centre 0.6 --seed 1 --out blobs.h5 --quiet > /dev/null
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --budget 3 --budget-delta 1e-4 > /dev/null
noisy=(--data blobs.h5 --ledger ledger.db --set training.kind=noisy --set clip.kind=norm --set training.epochs=5 --quiet)
"$holdfast" train "${noisy[@]}" --set "network.hidden=[]" --out linear > /dev/null || fail "a linear model does not train"
mpirun -n 2 "$holdfast" train "${noisy[@]}" --set "network.hidden=[8]" --set network.loss=cross_entropy --set training.precision=single --out deep > /dev/null || fail "a network does not train"

# 1. For anyone, as far as the umask lets it.
umask 022
"$holdfast" publish --quiet --run linear --ledger ledger.db --out linear.h5 > published.txt || fail "the linear model is not published"
[ "$(mode linear.h5)" = 644 ] || fail "a model has mode $(mode linear.h5)"
(umask 077; "$holdfast" publish --quiet --run linear --ledger ledger.db --out mine.h5 > /dev/null) || fail "published again, under a umask"
[ "$(mode mine.h5)" = 600 ] || fail "umask 077 leaves mode $(mode mine.h5)"
cmp -s linear.h5 mine.h5 || fail "the same model has two files"
grep -q '^epsilon 1, delta 1e-05, charged when it was trained$' published.txt && claims published.txt '^proved: .*add_remove' || fail "does not say what it cost and guarantees: $(cat published.txt)"
mpirun -n 2 "$holdfast" publish --quiet --run deep --ledger ledger.db --out deep.h5 --json > deep.json || fail "the network is not published by two ranks"
[ "$(wc -l < deep.json)" = 1 ] && grep -q '"parameters":74}' deep.json || fail "two ranks say $(cat deep.json)"

# 2. Nothing of the records, the run or the machine is in it: no count, no digest, no path, no token, no key.
digests=$(grep -o '"digest": "[0-9a-f]*"' linear/manifest.json | grep -o '[0-9a-f]\{64\}')
for private in 2000 blobs "$scratch" "$(field linear/manifest.json token)" "$(cat linear/fingerprint)" $digests; do
    ! grep -qaF "$private" linear.h5 published.txt deep.json || fail "the model says $private"
done
(($(wc -w <<< "$digests") > 1)) || fail "no digests to look for"

# 3. What it answers is what the run answers, whoever asks, by whatever number of ranks.
for run in linear deep; do
    mv $run hidden && chmod 644 $run.h5
    "$holdfast" predict --quiet --model $run.h5 --queries blobs.h5 --scores > $run.csv || fail "$run does not answer"
    for ranks in 2 3; do
        mpirun -n $ranks "$holdfast" predict --quiet --model $run.h5 --queries blobs.h5 --scores > ranks.csv || fail "$run does not answer on $ranks ranks"
        cmp -s $run.csv ranks.csv || fail "$run answers otherwise on $ranks ranks"
    done
    "$holdfast" predict --quiet --model $run.h5 --queries blobs.h5 --force --out answers.txt || fail "$run writes no answers"
    [ "$(wc -l < answers.txt)" = 301 ] && [ "$(cat answers.txt)" = "$(tail -n +2 $run.csv | cut -d, -f1)" ] || fail "$run: labels and scores differ"
    mv hidden $run
    "$holdfast" evaluate --quiet --run $run --data blobs.h5 --epsilon 1 > evaluation.txt
    nominal=$(sed -n 's/^nominal accuracy  single \([0-9.]*\) .*/\1/p' evaluation.txt)
    [[ $("$holdfast" predict --quiet --model $run.h5 --queries blobs.h5 --accuracy) == "accuracy $nominal of 301 queries, "* ]] || fail "$run: evaluate finds $nominal"
    [[ $nominal > 0.7 ]] || fail "$run has learnt nothing: $nominal"
done

# 4. The model is not released from: what is published is free.
"$holdfast" release --queries-are-public --quiet --run linear --queries blobs.h5 --epsilon 0.1 --ledger ledger.db > out.txt 2> err.txt
[ $? = 2 ] && [ ! -s out.txt ] && grep -q 'holdfast publish' err.txt || fail "labels of a noisy run are released: $(cat err.txt)"
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 > account.txt
grep -q '^spent .*epsilon 2,' account.txt || fail "publishing was charged: $(cat account.txt)"

((failures == 0)) && echo "published and predicted as documented"
