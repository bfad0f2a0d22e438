#!/usr/bin/env bash
# fleet_owner.sh HOLDFAST: what the owner of a leave-one-out fleet is told, end to end: holdfast idp, evaluate, influence
# and report, what each leaves in the run folder and refuses; and that figures of one job are those of another.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
refuses() { # CODE WORDS ARGUMENT…
    local code=$1 words=$2
    shift 2
    "$holdfast" "$@" > out.txt 2> err.txt
    [ $? = "$code" ] && grep -q -e "$words" err.txt && [ ! -s out.txt ] || fail "$*: $(cat err.txt)"
}

{
    echo id,a,b,y
    for ((i = 0; i < 120; ++i)); do echo "$((i * 7 + 3)),$((i * 37 % 20 + (i % 2 == 0 ? 30 : 42))).5,$((i * 53 % 90)).5,$((i % 11 == 0 ? (i + 1) % 2 : i % 2))"; done
} > two.csv
"$holdfast" import two.csv --label y --id id --scale '*=0:100' --test-fraction 0.3 --expected-records 84 --population people --out two.h5 --quiet > /dev/null || fail "cannot import two.csv"
settings=(--set "network.hidden=[6]" --set training.epochs=60 --set training.batches=4 --set training.learning_rate=0.5 --set clip.kind=none)
umask 022
"$holdfast" fleet --quiet --data two.h5 --out fleet "${settings[@]}" > /dev/null || fail "the fleet"
"$holdfast" fleet --quiet --data two.h5 --out sample --records 9 "${settings[@]}" > /dev/null || fail "the sample"
"$holdfast" train --quiet --data two.h5 --out boxes --set "network.hidden=[6]" --set certificate.levels=2 > /dev/null || fail "the boxes"

# 1. A report of a fleet that nobody has asked anything says what to ask.
"$holdfast" report fleet > /dev/null || fail "a report of a bare fleet"
[ "$(mode fleet/report.html)" = 600 ] || fail "others may read the report"
for job in 'evaluate --run' 'idp --run' 'influence --run'; do grep -q "holdfast $job fleet" fleet/report.html || fail "the report does not name $job"; done

# 2. Before the bound an evaluation votes alone.
"$holdfast" evaluate --quiet --run fleet --data two.h5 > before.txt || fail "evaluate: $(cat before.txt)"
grep -q '^vote ' before.txt && ! grep -q '^bound ' before.txt && grep -q 'no bound yet' before.txt || fail "before the bound: $(cat before.txt)"

# 3. The bound: a class at a time, what is known of the other stays; for the owner alone.
"$holdfast" idp --quiet --run fleet --class 1 --seconds 20 --json > one.json || fail "idp --class"
grep -q '"classes":\[null,{' one.json || fail "another class than 1: $(cat one.json)"
"$holdfast" idp --quiet --run fleet --class 0 --seconds 20 --json > both.json || fail "idp of class 0"
grep -q '"classes":\[{.*},{' both.json && ! grep -q '"classes":.*null,{' both.json || fail "class 1 is forgotten: $(cat both.json)"
[ "$(mode fleet/idp.json)" = 600 ] || fail "others may read the bound"
grep -q '"status":"proved"' both.json && grep -q '"complete":true' both.json || fail "the bound: $(cat both.json)"
refuses 2 'the classes are 0 to 1' idp --run fleet --class 2
refuses 2 '--gap' idp --run fleet --gap 0
refuses 2 '--seconds' idp --run fleet --seconds 0
refuses 3 'not a fleet' idp --run boxes
refuses 3 '' idp --run nowhere

# 4. Then it has the bound, which is sure of no query on which some network disagrees, and of no more than the vote.
"$holdfast" evaluate --quiet --run fleet --data two.h5 --epsilon 0.5,4 --json > evaluation.json || fail "evaluate --epsilon"
[ "$(mode fleet/evaluation.json)" = 600 ] || fail "others may read the evaluation"
"$holdfast" influence --quiet --run fleet --queries two.h5 --data two.h5 --json > influence.json || fail "influence"
"$holdfast" evaluate --quiet --run fleet --data two.h5 > after.txt || fail "evaluate after the bound"
unanimous=$(awk '$1 == "vote" { print $2 }' after.txt) bounded=$(awk '$1 == "bound" { print $2 }' after.txt)
awk -v vote="$unanimous" -v bound="$bounded" 'BEGIN { exit !(bound <= vote && bound > 0 && vote < 1) }' || fail "the bound is sure of more than the vote, or nothing is in doubt: $(cat after.txt)"
# The vote counts what influence counts: the queries that no network answers otherwise.
agreed=$(tail -n +2 fleet/influence_queries.csv | awk -F, '{ all += 1; same += $4 == 0 } END { printf "%.4f", same / all }')
[ "$agreed" = "$unanimous" ] || fail "influence finds $agreed unanimous, the vote $unanimous"
# Of two classes: what is unanimous and right, and half of the rest.
awk '$1 == "vote" || $1 == "bound" { wanted = $3 + (1 - $2) / 2; if (wanted - $4 > 2e-4 || $4 - wanted > 2e-4) wrong = 1 } END { exit wrong }' after.txt || fail "0-iDP: $(cat after.txt)"
for words in '"mechanism":"one_record_rr"' '"setting":"bound"' '"setting":"vote"' '"status":"proved"' 'as published (gap'; do grep -qF "$words" evaluation.json || fail "the evaluation lacks $words"; done
refuses 2 'not of a leave-one-out fleet' evaluate --run fleet --data two.h5 --budget 1,1e-5
refuses 2 'not of a leave-one-out fleet' evaluate --run fleet --data two.h5 --loss
refuses 2 epsilon evaluate --run fleet --data two.h5 --epsilon 0

# 5. Of a sample: the same figures, of the networks there are, and nothing private claimed.
"$holdfast" idp --quiet --run sample --seconds 20 > /dev/null || fail "idp of the sample"
"$holdfast" evaluate --quiet --run sample --data two.h5 --epsilon 1 --json > sample.json || fail "evaluate of the sample"
[ "$(grep -o 'queries are clipped to' sample.json | wc -l)" = 2 ] && grep -q 'among the 9 of' sample.json && grep -q '"status":"not differentially private"' sample.json || fail "a sample is taken for all: $(cat sample.json)"

# 6. The report shows all of it, and the records by their ids.
"$holdfast" report fleet --out page.html > /dev/null || fail "report"
first=$(sed -n 2p fleet/influence_records.csv | cut -d, -f1)
for words in 'asking every network' 'the greatest first' "<code>$first</code>" 'gap closed' memorised; do grep -qF "$words" page.html || fail "the report lacks $words"; done
grep -q 'Not computed yet' page.html && fail "the report misses a file"
sed 's/^record,/recrod,/' fleet/influence_records.csv > damaged && cp damaged fleet/influence_records.csv
refuses 3 'another text than was written' report fleet --out other.html
[ ! -e other.html ] || fail "a report of a damaged table"

# 7. Bounds of another fleet are no bounds of this one.
cp sample/idp.json fleet/idp.json
refuses 3 'of another fleet' evaluate --run fleet --data two.h5
refuses 3 'of another fleet' idp --run fleet --seconds 1

# 8. Where the data declare no range, agreement is about queries clipped to [0, 1], which is said; the accuracy is not.
"$holdfast" synth blobs --records 60 --test 40 --centre 2 --spread 0.3 --seed 4 --out blobs.h5 --quiet > /dev/null || fail "no blobs"
"$holdfast" fleet --quiet --data blobs.h5 --out clipped --set network.hidden=[4] --set training.epochs=40 --set training.learning_rate=1 --set clip.kind=none --set training.expected_records=60 > /dev/null || fail "the fleet of blobs"
"$holdfast" evaluate --run clipped --data blobs.h5 > clipped.txt 2> err.txt || fail "evaluate of blobs: $(cat err.txt)"
grep -q 'values of the queries lie outside \[0, 1\]' err.txt || fail "does not say that queries are clipped: $(cat err.txt)"
awk '$1 == "vote" { right = $3 } $1 == "nominal" { accuracy = $3 } END { exit !(accuracy >= 0.95 && right < accuracy) }' clipped.txt || fail "the accuracy is of clipped queries: $(cat clipped.txt)"

"$holdfast" idp --run clipped --seconds 1 > out.txt 2> err.txt && grep -q 'data of clipped state no range.* clipped to \[0, 1\]' err.txt || fail "idp does not say so: $(cat err.txt)"
"$holdfast" account --ledger blobs.db --data blobs.h5 --budget 9 --quiet > /dev/null || fail "no account"
"$holdfast" access --queries-are-public --run clipped --queries blobs.h5 --first 3 --epsilon 1 --ledger blobs.db > out.txt 2> err.txt || fail "access of blobs: $(cat err.txt)"
[ "$(grep -c 'values of the queries lie outside \[0, 1\]' err.txt)" = 1 ] || fail "access does not say once that queries are clipped: $(cat err.txt)"
"$holdfast" idp --run sample --seconds 1 2>&1 | grep 'state no range' && fail "said of a fleet whose data state one"

# 9. The search with parts of it left out never proves less than is attained.
"$holdfast" bench idp --run sample --seconds 5 > parts.txt || fail "bench idp"
[ "$(grep -c '^all, hulls first' parts.txt)" = 2 ] && awk 'NR > 1 && $(NF - 2) < $(NF - 3) { wrong = 1 } END { exit wrong }' parts.txt || fail "bench idp: $(cat parts.txt)"
# An upper bound is above what any variant attains.
awk 'NR > 1 { c = $(NF - 4); if ($(NF - 3) > low[c]) low[c] = $(NF - 3); if (!(c in high) || $(NF - 2) < high[c]) high[c] = $(NF - 2) } END { for (c in high) if (high[c] < low[c]) exit 1 }' parts.txt || fail "bounds contradict: $(cat parts.txt)"

((failures == 0)) && echo "the owner is told as documented"
