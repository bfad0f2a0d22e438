#!/usr/bin/env bash
# student.sh HOLDFAST: from the labels that an ensemble released for public queries to a model that anyone may have: it
# learns from them and from nothing else, costs nothing more, and says what they cost.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
spent() { "$holdfast" account --ledger ledger.db --data train.h5 --quiet --json | grep -o '"spent_epsilon":[^,}]*'; }

# Two classes on either side of a line; of the queries the right labels, and the wrong ones.
rows() { # COUNT FIRST FLIP
    echo id,a,b,y
    for ((i = $2; i < $1 + $2; ++i)); do
        a=$((i * 37 % 101)) b=$((i * 53 % 97))
        echo "$i,$a,$b,$(((a + b > 98) ^ $3))"
    done
}
make() { # NAME SPLITS…
    "$holdfast" import "$1.csv" --label y --id id --scale '*=0:100' --expected-records 4000 --population "$1" --out "$1.h5" --quiet "${@:2}" > /dev/null || fail "cannot import $1"
}
rows 4000 0 0 > train.csv && make train
rows 200 5000 0 > public.csv && make public
rows 200 5000 1 > flipped.csv && make flipped
rows 500 7000 0 > fresh.csv && make fresh
"$holdfast" account --quiet --ledger ledger.db --data train.h5 --budget 900 --budget-delta 0.1 > /dev/null || fail "no account"
"$holdfast" train --quiet --data train.h5 --out run --set ensemble.members=50 --set certificate.levels=0 --set "network.hidden=[]" --set training.epochs=60 --set training.learning_rate=20 --set clip.gamma=1 --set network.input_shift=0.5 > /dev/null || fail "the ensemble does not train"
release() { "$holdfast" release --queries-are-public --run run --ledger ledger.db --quiet "$@"; }
price=(--epsilon 3 --delta 1e-4)
student() { "$holdfast" student --run run --ledger ledger.db --quiet "$@"; }

# 1. Nothing was released: nothing to learn from.
student --queries public.h5:train --out none.h5 > out.txt 2> err.txt
[ $? = 3 ] && [ ! -s out.txt ] && [ ! -e none.h5 ] && grep -q 'no answer to any of these queries.*holdfast release --run run --queries public.h5:train' err.txt || fail "without answers: $(cat err.txt)"

# 2. The student is about as good as the answers, costs nothing and says what they cost.
release "${price[@]}" --queries public.h5:train --mechanism gaussian_argmax > answers.txt || fail "no release"
right=$(paste -d, <(tail -n +2 public.csv | cut -d, -f4) answers.txt | awk -F, '$1 == $2' | wc -l)
((right > 180)) || fail "the ensemble answers $right of 200 rightly"
before=$(spent)
student --queries public.h5:train --out model.h5 --public-test fresh.h5:train --json > student.json || fail "no student"
[[ $(field student.json accuracy) > 0.93 ]] || fail "the student is right in $(field student.json accuracy)"
[ "$(spent)" = "$before" ] || fail "a student was charged: $before, $(spent)"
grep -q '"status":"proved"' student.json && grep -q '"labels":200' student.json && grep -q 'Gaussian' student.json || fail "does not say what it rests on: $(cat student.json)"
[ "$(field student.json delta)" = 0.0001 ] && awk -v e="$(field student.json epsilon)" 'BEGIN { exit !(e > 20 && e < 200) }' || fail "the answers together cost $(field student.json epsilon), $(field student.json delta)"
"$holdfast" predict --quiet --model model.h5 --queries fresh.h5:train --accuracy > accuracy.txt || fail "does not predict"
grep -q "^accuracy $(printf %.4f "$(field student.json accuracy)") of 500" accuracy.txt || fail "predict finds $(cat accuracy.txt)"

# People of the ledger are no public queries, nor what a student is measured on.
for private in train.csv train.h5:train; do
    student --queries $private --out private.h5 > out.txt 2> err.txt
    [ $? = 2 ] && [ ! -e private.h5 ] && grep -q 'ids of people of this ledger' err.txt || fail "a student of $private: $(cat out.txt err.txt)"
done
student --queries public.h5:train --out private.h5 --public-test train.h5:train > out.txt 2> err.txt
[ $? = 2 ] && [ ! -e private.h5 ] && grep -q 'ids of people of this ledger' err.txt || fail "accuracy on private records: $(cat out.txt err.txt)"

# 3. The queries' own labels are nothing to it; nor are ranks, nor a second time.
student --queries flipped.h5:train --out same.h5 > /dev/null || fail "no student of queries with other labels"
cmp -s model.h5 same.h5 || fail "the labels of the queries' file were read"
mpirun -n 2 "$holdfast" student --run run --ledger ledger.db --quiet --queries public.h5:train --out model.h5 > again.txt || fail "no student on two ranks"
[ "$(grep -c 'for anyone' again.txt)" = 1 ] && cmp -s model.h5 same.h5 || fail "two ranks make another student"
for private in 4000 "$scratch" $(grep -o '"digest": "[0-9a-f]*"' run/manifest.json | grep -o '[0-9a-f]\{64\}'); do
    ! grep -qaF "$private" model.h5 student.json || fail "the model says $private"
done

# 4. Other settings and features; a file that is there is kept; no noise, no boxes.
student --queries public.h5:train --out bins.h5 --set features.map=bins --set "network.hidden=[]" --public-test fresh.h5:train --json > bins.json || fail "no student with bins"
[[ $(field bins.json accuracy) > 0.85 ]] && "$holdfast" predict --quiet --model bins.h5 --queries fresh.h5:train --accuracy > /dev/null || fail "bins: $(cat bins.json)"
student --queries public.h5:train --out bins.h5 > out.txt 2> err.txt
[ $? = 4 ] && grep -q 'another file is there' err.txt || fail "a model was replaced: $(cat err.txt)"
student --queries public.h5:train --out other.h5 --set training.kind=noisy --set clip.kind=norm > out.txt 2> err.txt
[ $? = 2 ] && [ ! -e other.h5 ] && grep -q 'training.kind' err.txt || fail "a noisy student: $(cat err.txt)"
echo "[training]
epochs = 2" > short.toml
student --queries public.h5:train --out short.h5 --config short.toml > /dev/null || fail "no configuration"
! cmp -s short.h5 model.h5 || fail "the configuration is not read"

# 5. Refusals are dropped, and counted; of refusals alone nothing is learnt.
rows 60 9000 0 > doubtful.csv && make doubtful
release "${price[@]}" --queries doubtful.h5:train --mechanism confident_argmax --threshold 0.97 > doubtful.txt || fail "no confident release"
refusals=$(grep -c refused doubtful.txt)
((refusals > 0 && refusals < 60)) || fail "$refusals of 60 refused: the case is none"
student --queries doubtful.h5:train --out doubtful.model.h5 --json > doubtful.json || fail "no student of doubtful answers"
[ "$(field doubtful.json refusals)" = $refusals ] && [ "$(field doubtful.json labels)" = $((60 - refusals)) ] && [ "$(field doubtful.json answers)" = 60 ] || fail "refusals: $(cat doubtful.json)"
rows 3 9990 0 > hard.csv && make hard
release --queries hard.h5:train --mechanism ptr --epsilon 0.001 --delta 1e-30 > hard.txt || fail "no ptr"
student --queries hard.h5:train --out hard.model.h5 > out.txt 2> err.txt
[ $? = 3 ] && [ ! -e hard.model.h5 ] && grep -q 'are refusals' err.txt || fail "of refusals: $(cat hard.txt err.txt)"

# 6. Answers of several kinds cost their sum; another ledger knows nothing.
release "${price[@]}" --queries fresh.h5:train --first 2 > /dev/null && release "${price[@]}" --queries fresh.h5:train --first 4 --mechanism gaussian_argmax > /dev/null || fail "no mixed release"
student --queries fresh.h5:train --out mixed.h5 --json > mixed.json || fail "no student of two mechanisms"
[ "$(field mixed.json epsilon)" = 12.0 ] && [ "$(field mixed.json delta)" = 0.0004 ] && grep -q 'sum of the terms' mixed.json || fail "mixed: $(cat mixed.json)"
rows 20 20000 0 > others.csv && make others
"$holdfast" account --quiet --ledger empty.db --data others.h5:train --budget 1 > /dev/null || fail "no account of others"
"$holdfast" student --run run --ledger empty.db --quiet --queries public.h5:train --out x.h5 > out.txt 2> err.txt
[ $? = 6 ] && [ ! -s out.txt ] && [ ! -e x.h5 ] || fail "a ledger without the data: $(cat err.txt)"
student --queries run/boxes.h5 --out x.h5 > out.txt 2> err.txt
[ $? = 3 ] && [ ! -e x.h5 ] || fail "queries that are none: $(cat err.txt)"

# 7. Where something was paid for as a whole the account's bound stands: what it left unanswered, if it did, shows too.
"$holdfast" train --quiet --data train.h5 --out noisy --ledger ledger.db --set training.kind=noisy --set clip.kind=norm --set noise.epsilon=2 --set training.epochs=2 --set "network.hidden=[]" > /dev/null || fail "no noisy training"
student --queries fresh.h5:train --out after.h5 --json > after.json || fail "no student after a payment"
grep -q 'all that the account has spent' after.json && [ "$(field after.json epsilon)" = "$(spent | cut -d: -f2)" ] || fail "after a payment: $(cat after.json), $(spent)"

# 8. Beside it, for the owner: what answers cost whatever the votes are, and at these; of one model there are no votes.
"$holdfast" evaluate --run run --data fresh.h5:train --epsilon 0.5,3 --delta 1e-4 --quiet > table.txt || fail "no evaluation"
awk '$1 == "gaussian_argmax" && $2 == "any" { any = $5 } $1 == "gaussian_argmax" && $2 == "these" { these = $4 } END { exit !(these > 0 && these < any) }' table.txt || fail "votes that agree save nothing: $(cat table.txt)"
grep -q 'the figure itself depends on the records' run/evaluation.json || fail "data-dependent costs without their gap"
! grep -q 'pate\|these' answers.txt model.h5 student.json || fail "a figure of the votes has left the house"

((failures == 0)) && echo "students learn from released labels alone"
