#!/usr/bin/env bash
# release.sh HOLDFAST: answers under differential privacy, end to end. Labels only on stdout, remembered answers free, a
# refused budget draws nothing, one winner of the last budget, one relation an account, private files.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

# train RUN DATA SETTING…
train() {
    local run=$1 data=$2 settings=()
    shift 2
    for setting in "$@"; do settings+=(--set "$setting"); done
    "$holdfast" train --quiet --data "$data" --out "$run" --set "network.hidden=[8]" --set certificate.levels=10 --set training.epochs=2 "${settings[@]}" > /dev/null || fail "$run does not train"
}
# account LEDGER DATA OPTION…
account() { "$holdfast" account --quiet --ledger "$1.db" --data "$2" "${@:3}" > /dev/null; }
# release LEDGER RUN DATA EPSILON OPTION…
release() { "$holdfast" release --queries-are-public --ledger "$1.db" --run "$2" --queries "$3" --epsilon "$4" "${@:5}"; }
# field JSON NAME: one number or text of the object printed.
field() { grep -o "\"$2\":[^,}]*" "$1" | head -1 | cut -d: -f2-; }

"$holdfast" synth blobs --records 400 --test 40 --seed 1 --out two.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 10000 --test 20 --seed 9 --out more.h5 --quiet > /dev/null
{ # three classes on a ring, with ids of their own; the last 30 rows are the queries
    echo id,a,b,y
    for ((i = 0; i < 330; ++i)); do echo "$i,$((i % 3 == 0 ? 90 : i % 3 == 1 ? 10 : 50)).$((i % 10)),$((i % 3 == 2 ? 90 : 10)).$((i % 7)),$((i % 3))"; done
} > three.csv
"$holdfast" import three.csv --label y --classes 3 --id id --scale '*=0:100' --test-fraction 0.1 --population ring --out three.h5 --quiet > /dev/null || fail "cannot import three.csv"
umask 022
train binary two.h5 training.expected_records=400
train ensemble two.h5 training.expected_records=400 ensemble.members=5
train classes three.h5 training.expected_records=300 network.classes=3
train substitutes two.h5 training.expected_records=400 certificate.relation=substitute certificate.budget=per_batch

# 1. Labels only, one a query; the ledger and the run are their owner's alone.
release first binary two.h5 0.1 > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'holdfast account --ledger first.db' err.txt || fail "a release without an account is not sent to open one: $(cat err.txt)"
[ ! -e first.db ] || fail "a refused release made a ledger"
account first two.h5 --budget 10 || fail "the first account"
release first binary two.h5 0.1 > labels.txt 2> log.txt || fail "the first release: $(cat log.txt)"
[ "$(wc -l < labels.txt)" = 40 ] && ! grep -qvE '^[01]$' labels.txt || fail "not 40 labels alone on stdout"
grep -q '40 answers charged at epsilon 0.1, 0 remembered; spent epsilon 4 of 10' log.txt || fail "the log does not say the cost: $(cat log.txt)"
grep -qiE 'distance h? ?=|votes|certified' log.txt && fail "the log speaks of what is private: $(cat log.txt)"
[ "$(mode first.db)" = 600 ] || fail "ledger has mode $(mode first.db)"
[ "$(mode binary)" = 700 ] || fail "run folder has mode $(mode binary)"
"$holdfast" certify --quiet --run binary --queries two.h5 > /dev/null
"$holdfast" evaluate --quiet --run binary --data two.h5 --epsilon 1 > /dev/null
for file in binary/*; do [ "$(mode "$file")" = 600 ] || fail "$file has mode $(mode "$file")"; done

# 2. The same queries again: the same answers, for nothing, even by another mechanism or another run of the data.
release first binary two.h5 0.1 --quiet > again.txt || fail "the second release"
cmp -s labels.txt again.txt || fail "remembered answers differ"
release first ensemble two.h5 1 --quiet --mechanism noisy_argmax --json > other.json || fail "another run of the same data"
[ "$(field other.json charged_answers)/$(field other.json remembered_answers)/$(field other.json spent_epsilon)" = 0/40/4.0 ] || fail "remembered answers cost: $(cat other.json)"
[ "$(grep -o '"labels":\[[^]]*\]' other.json)" = "\"labels\":[$(paste -sd, labels.txt)]" ] || fail "another run answers anew"

grep -o '"terms":.*' other.json > terms.txt
[ "$(field terms.txt mechanism)/$(field terms.txt epsilon)" = '"stable_rr"/0.1' ] && ! grep -q noisy_argmax terms.txt || fail "remembered answers lost their terms: $(cat other.json)"

# 3. --json: labels, cost, the terms they were drawn under, and nothing else.
release first binary more.h5 0.1 --quiet --json > release.json || fail "--json"
keys=$(grep -o '"[a-z_]*":' release.json | sort -u | tr -d '":' | paste -sd' ')
expected="answers budget_delta budget_epsilon charged_answers conditions cost delta delta_per_answer epsilon epsilon_per_answer gap guarantee labels mechanism relation remembered_answers spent_delta spent_epsilon statement status terms together"
for key in $keys; do [[ " $expected " == *" $key "* ]] || fail "--json says $key"; done
for key in labels cost terms mechanism guarantee status relation; do [[ " $keys " == *" $key "* ]] || fail "--json does not say $key"; done
[ "$(field release.json spent_epsilon)" = 6.0 ] || fail "20 more answers at 0.1 make 6: $(cat release.json)"

# 4. A budget that does not suffice is refused before any draw: nothing is charged, nothing printed.
account tight two.h5 --budget 3.9
release tight binary two.h5 0.1 > out.txt 2> err.txt
[ $? = 6 ] && [ ! -s out.txt ] || fail "40 answers at 0.1 of 3.9 are not refused with 6: $(cat out.txt err.txt)"
grep -q 'nothing was drawn.*39 more do' err.txt || fail "the refusal does not say what fits: $(cat err.txt)"
release tight binary more.h5 0.195 --quiet --json > fits.json || fail "what does fit is refused"
[ "$(field fits.json spent_epsilon)" = 3.9 ] || fail "the refused release was charged: $(cat fits.json)"
account tight two.h5 --budget 100 2> err.txt
[ $? = 6 ] && grep -q 'epsilon 3.9.*epsilon 100' err.txt || fail "the budget could be raised: $(cat err.txt)"
release tight classes three.h5 0.1 > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'holdfast account' err.txt || fail "a dataset of no account: $(cat err.txt)"

# 5. Two releases race for the last budget: exactly one wins, whichever queries it asks.
account race two.h5 --budget 6
release race binary more.h5 0.1 --quiet > /dev/null 2> race.txt || fail "before the race: $(cat race.txt)"
"$holdfast" synth blobs --records 10000 --test 40 --seed 31 --out racer1.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 10000 --test 40 --seed 32 --out racer2.h5 --quiet > /dev/null
for racer in 1 2; do (release race binary racer$racer.h5 0.1 --quiet > race$racer.txt 2> /dev/null; echo $? > race$racer.code) & done
wait
[ "$(sort -n race1.code race2.code | paste -sd/)" = 0/6 ] || fail "the race ended with $(paste -sd/ race1.code race2.code)"
[ "$(cat race1.txt race2.txt | wc -l)" = 40 ] || fail "the loser of the race printed labels"

# 6. One population, one account, one relation: it cannot be spent again under the other.
release first substitutes racer1.h5 0.1 > out.txt 2> err.txt
[ $? = 2 ] && [ ! -s out.txt ] || fail "substitute after add_remove is not refused: $(cat out.txt err.txt)"
grep -q 'counts add_remove neighbours.*certificate.relation = "add_remove"' err.txt || fail "the refusal does not say why: $(cat err.txt)"
release first substitutes two.h5 0.1 --quiet > out.txt 2> /dev/null && fail "remembered answers cross relations"
account swapped two.h5 --budget 10 --relation substitute
release swapped substitutes two.h5 0.1 --quiet > /dev/null || fail "substitute alone"
release swapped binary racer1.h5 0.1 --quiet > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'counts substitute neighbours' err.txt || fail "add_remove after substitute is not refused: $(cat err.txt)"
release swapped substitutes more.h5 0.1 --quiet --json > after.json || fail "a refusal blocked the account"
[ "$(field after.json spent_epsilon)" = 6.0 ] || fail "a refusal was charged: $(cat after.json)"
for racer in add_remove substitute; do (account relations two.h5 --budget 10 --relation $racer 2> /dev/null; echo $? > $racer.code) & done
wait
[ "$(sort -n add_remove.code substitute.code | paste -sd/)" = 0/6 ] || fail "two relations at once ended with $(paste -sd/ add_remove.code substitute.code)"

# 7. Every releasable mechanism, on every kind of run it is for: labels of the right classes, a private guarantee.
tried=
for run in binary ensemble classes; do
    data=two.h5 last=1
    [ $run = classes ] && data=three.h5 last=2
    while read -r mechanism needs; do
        delta=0
        [[ $needs != *'; needs delta'* ]] || delta=0.000001
        [[ $needs != *'; ensembles'* || $run = ensemble ]] || continue
        [[ $needs != *'; two classes'?(';'*) || $run != classes ]] || continue
        tried+=" $mechanism"
        account "$run-$mechanism" $data --budget 100 --budget-delta 0.01
        release "$run-$mechanism" $run $data 0.5 --quiet --mechanism $mechanism --delta $delta > out.txt 2> err.txt || { fail "$mechanism on $run: $(cat err.txt)"; continue; }
        grep -qvE "^([0-$last]|refused)$" out.txt && fail "$mechanism on $run printed $(sort -u out.txt)"
        [[ $mechanism == @(ptr|confident_argmax) ]] || ! grep -q refused out.txt || fail "$mechanism on $run refused"
        release "$run-$mechanism" $run $data 0.5 --quiet --mechanism $mechanism --delta $delta --json > again.json || fail "$mechanism on $run, again"
        grep -q '"status":"\(proved\|as published\)' again.json || fail "$mechanism on $run is not private: $(cat again.json)"
        [ "$(grep -o '"labels":\[[^]]*\]' again.json)" = "\"labels\":[$(sed s/refused/null/ out.txt | paste -sd,)]" ] || fail "$mechanism on $run answers twice"
    done < <(releasable_mechanisms)
done
for mechanism in stable_rr class_exponential permute_and_flip cauchy laplace_global laplace_smooth ptr noisy_argmax gaussian_argmax confident_argmax; do
    [[ " $tried " == *" $mechanism "* ]] || fail "$mechanism is not in --help"
done
account fixed two.h5 --budget 0.1 --budget-delta 0.00001 --fixed 0.01
release fixed binary two.h5 0.01 --quiet > out.txt 2> err.txt
[ $? = 6 ] || fail "a fixed epsilon fits 40 answers at 0.01 into 0.1"
account generous two.h5 --budget 0.4 --budget-delta 0.00001 --fixed 0.01
release generous binary two.h5 0.01 --quiet > out.txt || fail "a fixed epsilon, 40 at 0.01 of 0.4"
release generous binary more.h5 0.02 --quiet > out.txt 2> err.txt
[ $? = 6 ] || fail "another epsilon was taken from a fixed one's account"

# 8. A remembered answer keeps the terms it was drawn under, whoever asks again under better ones.
for kind in named numbered; do
    options=(--population town)
    [ $kind = named ] && options+=(--id id)
    [ $kind = numbered ] && options+=(--drop id)
    awk -F, -v OFS=, 'NR > 1 { $1 += 1000 } { print }' three.csv > town.csv
    "$holdfast" import town.csv --label y --classes 3 --scale '*=0:100' --test-fraction 0.1 --expected-records 300 "${options[@]}" --out $kind.h5 --quiet > /dev/null || fail "cannot import $kind.h5"
    train $kind $kind.h5 network.classes=3
done
awk -F, -v OFS=, 'NR > 1 { $1 += 5000; $2 += 0.03 } { print }' three.csv > asked.csv
"$holdfast" import asked.csv --label y --classes 3 --id id --scale '*=0:100' --test-fraction 0.1 --population askers --out asked.h5 --quiet > /dev/null || fail "cannot import asked.csv"
account town numbered.h5 --budget 1000
account town named.h5
release town numbered asked.h5 0.1 --quiet --json > numbered.json || fail "a release from numbered records"
grep -q '"status":"as published (gap: records are known by row number' numbered.json || fail "row numbers pass as ids: $(cat numbered.json)"
train ordered named.h5 network.classes=3 training.batching=sequential training.batch_size=300
release town ordered asked.h5 5 --quiet --json > drawn.json || fail "a release as published"
[ "$(field drawn.json charged_answers)" -gt 0 ] || fail "another version's answers are this one's"
release town named asked.h5 0.1 --quiet --json > remembered.json || fail "the same queries again"
[ "$(field remembered.json charged_answers)" = 0 ] || fail "answers to the same queries are drawn anew"
grep -q '"epsilon":5.0' remembered.json && grep -q 'batches are rows in order' remembered.json || fail "remembered answers lose their terms: $(cat remembered.json)"
grep -q '"status":"proved"' remembered.json && fail "an answer drawn as published is returned as proved: $(cat remembered.json)"
release town named more.h5 0.1 --quiet --json > refused.json 2> err.txt && fail "queries of another width"
"$holdfast" train --quiet --data two.h5 --out uncounted --set training.expected_records=0 --set "network.hidden=[]" > /dev/null || fail "synth states its count"
grep -q '"training.expected_records": 400' uncounted/manifest.json || fail "the dataset's public count is not taken"
"$holdfast" import town.csv --label y --classes 3 --id id --scale '*=0:100' --test-fraction 0.1 --population town --out bare.h5 --quiet > /dev/null
"$holdfast" train --quiet --data bare.h5 --out bare --set network.classes=3 --set "network.hidden=[]" > /dev/null || fail "data without a count does not train"
grep -q 'as published (gap: the step divides by the number of records found' bare/manifest.json || fail "a private count passes as public"
account town bare.h5
release town bare asked.h5 0.1 > out.txt 2> err.txt
[ $? = 2 ] && [ ! -s out.txt ] && grep -q 'expected-records' err.txt || fail "released from a run with a private count: $(cat out.txt err.txt)"

# 9. Records taken for public that have a budget: nothing is released on another's account.
account both two.h5 --budget 1
{ echo id,a,b,c,d,e,f,y; for ((i = 0; i < 60; ++i)); do echo "$((5000 + i)),0.$((i % 7)),0.$((i % 5)),0.1,0.2,0.3,0.4,$((i % 2))"; done; } > strangers.csv
"$holdfast" import strangers.csv --label y --id id --scale '*=0:1' --expected-records 60 --population strangers --out strangers.h5 --quiet > /dev/null || fail "cannot import strangers.csv"
"$holdfast" train --quiet --data strangers.h5 --public two.h5 --out strangers --set "network.hidden=[4]" > /dev/null || fail "strangers do not train"
grep -q 'public records concern nobody' strangers/manifest.json || fail "public records without a condition"
account both strangers.h5 --budget 1000
release both strangers two.h5 0.1 --quiet > out.txt 2> err.txt
[ $? = 2 ] && [ ! -s out.txt ] && grep -q 'account --ledger both.db --public' err.txt || fail "public records pass unchecked: $(cat out.txt err.txt)"
"$holdfast" account --ledger both.db --public two.h5 > out.txt 2> err.txt
[ $? = 3 ] && [ ! -s out.txt ] && grep -q 'name people of this ledger' err.txt || fail "another's records pass as public: $(cat out.txt err.txt)"

# 10. One number of the distances of a file: charged first, drawn once, whatever the order of the queries; a label that is
# wrong counts as 0; nothing of the distances is in the log.
account numbers two.h5 --budget 2 --budget-delta 0.00001
number() { release numbers "$1" "$2" 0.5 --quiet --json --aggregate "$3" "${@:4}"; }
number ensemble two.h5 mean > mean.json 2> err.txt || fail "no mean of distances: $(cat err.txt)"
number ensemble two.h5 mean > again.json
[ "$(field mean.json value)/$(field mean.json charged)/$(field again.json charged)" = "$(field again.json value)/true/false" ] || fail "asked again, another number: $(cat mean.json again.json)"
grep -q '"status":"proved"' mean.json && grep -q 'nested boxes' mean.json || fail "a number without its guarantee: $(cat mean.json)"
head -41 asked.csv > some.csv
{ head -1 some.csv; tail -40 some.csv | tac; } > turned.csv
account turned three.h5 --budget 1
for table in some turned; do release turned classes $table.csv 0.5 --quiet --json --aggregate mean > $table.json 2> err.txt || fail "of a table: $(cat err.txt)"; done
[ "$(field some.json value)/$(field turned.json charged)" = "$(field turned.json value)/false" ] || fail "the queries' order makes another file: $(cat some.json turned.json)"
for name in certified:0.9 right:0.9; do
    number binary two.h5 $name > once.json 2> err.txt || fail "$name: $(cat err.txt)"
    [ "$(field once.json charged)" = true ] || fail "$name costs nothing"
done
[ "$("$holdfast" account --ledger numbers.db --population synthetic --json --quiet 2> /dev/null | grep -o '"spent_epsilon":[0-9.]*')" = '"spent_epsilon":1.5' ] || fail "three numbers at .5 cost $("$holdfast" account --ledger numbers.db --population synthetic --json --quiet)"
number binary two.h5 least --delta 0.000001 > least.json || fail "by normal noise"
number binary two.h5 quantile:0.5 > out.txt 2> err.txt
[ $? = 6 ] && [ ! -s out.txt ] && grep -q 'nothing was charged' err.txt || fail "a fifth number of a budget for four: $(cat out.txt err.txt)"
number binary two.h5 fraction > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'certified:SHARE' err.txt || fail "an unknown aggregate: $(cat err.txt)"
release numbers binary two.h5 0.5 --aggregate mean --batch > out.txt 2> err.txt && fail "a number and labels at once"
"$holdfast" statement --ledger numbers.db --quiet > statement.txt && grep -q 'certified:0.9' statement.txt || fail "a statement without the numbers: $(cat statement.txt)"

((failures == 0)) && echo "releases as documented"
