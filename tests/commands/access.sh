#!/usr/bin/env bash
# access.sh HOLDFAST: label-only access by a leave-one-out fleet, end to end: labels alone on stdout, remembered answers
# free, every rule, what each refuses; and holdfast influence, whose votes the labels follow.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

{ # two classes that overlap a little, with ids of their own; the last 30 rows are the queries
    echo id,a,b,y
    for ((i = 0; i < 90; ++i)); do echo "$((i * 7 + 3)),$((i % 2 == 0 ? 35 : 60)).$((i * 37 % 100)),$((i * 53 % 90)).5,$((i % 11 == 0 ? (i + 1) % 2 : i % 2))"; done
} > two.csv
"$holdfast" import two.csv --label y --id id --scale '*=0:100' --test-fraction 0.333 --expected-records 60 --population people --out two.h5 --quiet > /dev/null || fail "cannot import two.csv"
settings=(--set "network.hidden=[5]" --set training.epochs=3 --set training.batches=2 --set training.learning_rate=2 --set clip.gamma=0.5)
umask 022
"$holdfast" fleet --quiet --data two.h5 --out fleet "${settings[@]}" > fleet.txt || fail "the fleet: $(cat fleet.txt)"
"$holdfast" fleet --quiet --data two.h5 --out sample --records 7 "${settings[@]}" > /dev/null || fail "the sample"
"$holdfast" train --quiet --data two.h5 --out boxes "${settings[@]}" --set certificate.levels=3 > /dev/null || fail "the boxes"
access() { "$holdfast" access --queries-are-public --run fleet --queries two.h5 --ledger "$1.db" --epsilon "$2" "${@:3}"; }
account() { "$holdfast" account --quiet --ledger "$1.db" --data two.h5 "${@:2}" > /dev/null; }
charged() { grep -o '"charged_answers":[0-9]*' "$1" | cut -d: -f2; }

# 1. Influence, for the owner: files of mode 0600, and the same on two ranks.
"$holdfast" influence --quiet --run fleet --queries two.h5 --data two.h5 --json > influence.json || fail "influence"
for file in influence.h5 influence.json influence_queries.csv influence_records.csv; do [ "$(mode "fleet/$file")" = 600 ] || fail "$file has mode $(mode "fleet/$file")"; done
queries=$(($(wc -l < fleet/influence_queries.csv) - 1))
[ "$queries" -gt 10 ] && [ "$(wc -l < fleet/influence_records.csv)" -gt 40 ] || fail "influence lacks lines"
head -1 fleet/influence_queries.csv | grep -q '^query,label,lead,networks_against,set,records_and_changes$' || fail "columns: $(head -1 fleet/influence_queries.csv)"
cp fleet/influence_queries.csv one.csv
cp fleet/influence_records.csv records.csv
"$holdfast" influence --quiet --run fleet --queries two.h5 --data two.h5 --top 1 > /dev/null || fail "influence of one record"
cut -d, -f1-5 one.csv | cmp -s - <(cut -d, -f1-5 fleet/influence_queries.csv) && sed 1d one.csv | cut -d, -f6 | cut -d' ' -f1 | cmp -s - <(sed 1d fleet/influence_queries.csv | cut -d, -f6) || fail "--top 1 names other records first"
mpirun -n 2 "$holdfast" influence --quiet --run fleet --queries two.h5 --data two.h5 > /dev/null || fail "influence on two ranks"
cmp -s one.csv fleet/influence_queries.csv && cmp -s records.csv fleet/influence_records.csv || fail "two ranks find another influence"
"$holdfast" influence --quiet --run fleet --queries two.h5 --data two.h5:test > out.txt 2> err.txt
[ $? = 3 ] && grep -q 'not the records' err.txt || fail "other records are taken for the fleet's: $(cat err.txt)"

# 2. A vote: labels alone; at a great epsilon those of the network, where no network is against.
access first 1 > out.txt 2> err.txt
[ $? = 2 ] && [ ! -e first.db ] || fail "access without an account: $(cat err.txt)"
account first --budget 1e6
access first 900 --quiet > labels.txt || fail "the vote"
[ "$(wc -l < labels.txt)" = "$queries" ] && ! grep -qvE '^[01]$' labels.txt || fail "not labels alone"
tail -n +2 one.csv | cut -d, -f2,4 | paste -d, - labels.txt | awk -F, '$2 == 0 && $1 != $3 { wrong = 1 } END { exit wrong }' || fail "an answer that all networks give is another"
access first 0.5 --json --quiet > again.json || fail "the second access"
[ "$(charged again.json)" = 0 ] && [ "$(grep -o '"labels":\[[^]]*\]' again.json)" = "\"labels\":[$(paste -sd, labels.txt)]" ] || fail "remembered answers: $(cat again.json)"
grep -q '"status":"proved"' again.json || fail "not proved: $(cat again.json)"

# 3. The published rule says that it is published.
account published --budget 1000
access published 0.2 --law idp_exponential --json --quiet > published.json || fail "the published rule"
grep -q '"status":"as published (gap: ' published.json && ! grep -q '"status":"proved"' published.json || fail "the published rule is not so labelled"

# 4. The bound: of holdfast idp, which must be there; a hybrid holds its answers back.
account bound --budget 1e6
access bound 900 --rule bound > out.txt 2> err.txt
[ $? = 3 ] && grep -q 'idp' err.txt || fail "a bound that is not there: $(cat err.txt)"
"$holdfast" idp --quiet --run fleet --seconds 20 > idp.txt || fail "idp: $(cat idp.txt)"
access bound 900 --rule hybrid > out.txt 2> err.txt
[ $? = 2 ] && grep -q -- '--milliseconds' err.txt || fail "a hybrid with no time to hold back: $(cat err.txt)"
access bound 900 --rule hybrid --milliseconds 1e-6 > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'twice over' err.txt || fail "a hybrid with too little time: $(cat err.txt)"
start=$EPOCHREALTIME
access bound 900 --rule hybrid --milliseconds 100 --quiet > hybrid.txt || fail "the hybrid"
awk -v a="$start" -v b="$EPOCHREALTIME" -v n="$queries" 'BEGIN { exit !(b - a >= 0.1 * n) }' || fail "the hybrid answers before its time"
tail -n +2 one.csv | cut -d, -f2,4 | paste -d, - hybrid.txt | awk -F, '$2 == 0 && $1 != $3 { wrong = 1 } END { exit wrong }' || fail "the hybrid knows less than the vote"
account alone --budget 1e6
access alone 900 --rule bound --quiet > bound.txt || fail "the bound"
[ "$(wc -l < bound.txt)" = "$queries" ] || fail "the bound answers $(wc -l < bound.txt)"

# 5. Joined with boxes of the same settings, and no others.
account stable --budget 1e6
access stable 0.5 --rule stable > out.txt 2> err.txt
[ $? = 2 ] && grep -q -- '--boxes' err.txt || fail "stable without boxes: $(cat err.txt)"
access stable 900 --rule stable --boxes boxes --json --quiet > stable.json || fail "stable"
grep -q unanimous_rr stable.json && grep -q '"status":"proved"' stable.json || fail "stable is not proved: $(cat stable.json)"
"$holdfast" train --quiet --data two.h5 --out other "${settings[@]}" --set certificate.levels=3 --set training.seed=9 > /dev/null || fail "other boxes"
access stable 0.5 --rule stable --boxes other > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'training.seed' err.txt || fail "boxes of another network: $(cat err.txt)"

# 6. Refused before anything is charged: a sample, a budget that does not suffice, a run that is no fleet.
"$holdfast" access --queries-are-public --run sample --queries two.h5 --ledger first.db --epsilon 1 > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'sample' err.txt || fail "a sample is asked: $(cat err.txt)"
# What was asked for tells a sample, not what there was: this one leaves out all records there are.
"$holdfast" fleet --quiet --data two.h5 --out everybody --records 100000 "${settings[@]}" > /dev/null || fail "a sample of all"
cmp -s fleet/fleet.h5 everybody/fleet.h5 || fail "a sample of all is another fleet"
"$holdfast" access --queries-are-public --run everybody --queries two.h5 --ledger first.db --epsilon 1 > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'sample' err.txt || fail "a sample of all is asked: $(cat err.txt)"
"$holdfast" access --queries-are-public --run boxes --queries two.h5 --ledger first.db --epsilon 1 > out.txt 2> err.txt
[ $? = 3 ] || fail "boxes are asked as a fleet: $(cat err.txt)"
account tight --budget 1
access tight 1 > out.txt 2> err.txt
[ $? = 6 ] && [ ! -s out.txt ] || fail "a budget of 1 pays for all: $(cat err.txt)"

# 7. An account of substitutions: the same fleet, the other neighbours.
account substitutes --budget 1e6 --relation substitute
access substitutes 0.5 --json --quiet > substitutes.json || fail "substitutions"
grep -q '"relation":"substitute"' substitutes.json || fail "whose neighbours: $(cat substitutes.json)"

# 8. Two ranks share the fleet.
account ranks --budget 1e6
mpirun -n 2 "$holdfast" access --queries-are-public --run fleet --queries two.h5 --ledger ranks.db --epsilon 900 --quiet > ranks.txt || fail "access on two ranks"
tail -n +2 one.csv | cut -d, -f2,4 | paste -d, - ranks.txt | awk -F, '$2 == 0 && $1 != $3 { wrong = 1 } END { exit wrong }' || fail "two ranks answer otherwise"

((failures == 0)) && echo "access as documented"
