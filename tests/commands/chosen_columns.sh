#!/usr/bin/env bash
# chosen_columns.sh HOLDFAST: holdfast measure --features keeps the columns that tell labels apart, --support those that a
# lasso uses or nothing, for one charge each; what is trained afterwards knows no others.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
source "$support/paying.sh"
gdp=(--budget-delta 1e-5 --composition gdp)

# 8000 persons: two numbers of ten, and a town of three, tell who is ill, who are one in five.
awk 'BEGIN { srand(7); split("Basel Bern Chur", towns, " "); printf "id"; for (j = 0; j < 10; ++j) printf ",x%d", j; print ",town,colour,ill"
    for (i = 0; i < 8000; ++i) { ill = rand() < 0.2; printf "%d", 5 * i + 3
        for (j = 0; j < 10; ++j) printf ",%.4f", j == 3 ? (rand() + ill) / 2 : j == 8 ? (rand() + 1 - ill) / 2 : rand()
        print "," towns[rand() < 0.7 ? (ill ? 3 : 1) : 1 + int(3 * rand())] "," (rand() < 0.5 ? "red" : "blue") "," ill + 0 } }' >ward.csv
import() { must import ward.csv --id id --label ill --population ward --test-fraction 0.25 --categories 'town=Basel|Bern|Chur' --categories 'colour=red|blue' --out "$@"; }
ranges=()
for j in 0 1 2 3 4 5 6 7 8 9; do ranges+=(--scale "x$j=0:1"); done
import scaled.h5 "${ranges[@]}" --expected-records 6000

# 1. Charged once: the columns that matter, the same again for nothing, and the others are gone.
open_account one scaled.h5 "${gdp[@]}"
choose() { must measure --data "$1" --ledger "$2.db" --out "$3" --features 3 --json "${@:4}"; }
choose scaled.h5 one three.h5
cp out.txt first.json
once=$(spent one)
choose scaled.h5 one again.h5
cmp three.h5 again.h5 || fail "asked again, another choice"
[[ $(json first.json 'o["columns"], o["of"], o["charged"]') == "['x3', 'x8', 'town'] 12 True" ]] || fail "chosen: $(<first.json)"
[[ $(json out.txt 'o["charged"]') == False && $(spent one) == "$once" && $once == *' 1' ]] || fail "charged twice: $once, $(spent one)"
[[ $(json first.json '0.0998 < o["cost"]["mu_squared"] / 0.0719 <= 0.1001 and 0.94 < o["left_for_training"] < 0.96') == True ]] || fail "cost: $(<first.json)"
"$holdfast" inspect three.h5:test --quiet | grep -q 'records .* x 5 features' || fail "not two numbers and three towns: $("$holdfast" inspect three.h5:test --quiet)"
"$holdfast" measure --data scaled.h5 --ledger one.db --out again.h5 --features 3 --quiet >out.txt
grep -q '^proved: which columns were chosen' out.txt && grep -q '^Next: .*holdfast advise .*--features 5' out.txt || fail "does not say what is proved, or what next: $(<out.txt)"

# 2. A model of these columns: exact zeros elsewhere, as there is nothing else; asked by name, whatever else a table has.
noisy=(--set 'network.hidden=[]' --set training.kind=noisy --set clip.kind=norm --set noise.epsilon=0.9 --set training.epochs=20 --set training.batches=1)
open_account other three.h5 "${gdp[@]}"
refused 2 'was not charged for the constants' train --data three.h5 --out none "${noisy[@]}" --ledger other.db --quiet
must train --data three.h5 --out model "${noisy[@]}" --ledger one.db
claims out.txt '^proved: .*columns) of its data were drawn' || fail "not proved: $(<out.txt)"
must publish --run model --ledger one.db --out model.h5
[[ $(json model/manifest.json 'o["dataset"]["features"]') == 5 ]] || fail "another number of features"
head -n 6 ward.csv >new.csv
must predict --model model.h5 new.csv --scores
cp out.txt all.txt
cut -d, -f1,5,10,12 new.csv >less.csv
must predict --model model.h5 less.csv --scores
cmp -s all.txt out.txt || fail "columns that do not exist changed an answer"
must predict --model model.h5 --queries three.h5:test --accuracy --json
[[ $(json out.txt 'o["accuracy"] > 0.8') == True ]] || fail "a useless choice: $(<out.txt)"
must statement --ledger one.db
tr -s '\n ' ' ' <out.txt | grep -q 'STATUS proved.*permute_and_flip' || fail "the statement: $(<out.txt)"
# Certificates are about neighbours at these columns.
grep -q 'columns: chosen from the records under privacy' <("$holdfast" inspect three.h5:test --quiet) || fail "inspect does not say who chose"
must train --data three.h5 --out boxes --set 'network.hidden=[]' --set training.batches=1 --set certificate.levels=3
claims out.txt '^proved.*its neighbours are datasets at the constants (ranges, number of records, categories, columns)' || fail "boxes at columns that nobody named: $(<out.txt)"

# 3. Of measured ranges: their edges stay with the columns that do.
import raw.h5
open_account measured raw.h5 "${gdp[@]}"
must measure --data raw.h5 --ledger measured.db --out measured.h5
refused 3 'have no ranges' measure --data raw.h5 --ledger measured.db --out none.h5 --features 3
refused 2 'knows no population' measure --data measured.h5 --ledger one.db --out none.h5 --features 3
must account --ledger one.db --data measured.h5
refused 2 'was not charged for the constants' measure --data measured.h5 --ledger one.db --out none.h5 --features 3
choose measured.h5 measured chosen.h5
[[ $(json out.txt 'o["columns"]') == "['x3', 'x8', 'town']" ]] || fail "chosen of measured ranges: $(<out.txt)"
grep -q 'at its other constants as they are' <("$holdfast" measure --data measured.h5 --ledger measured.db --out chosen.h5 --features 3 --quiet) ||
    fail "the choice is said to be private where it goes by edges of the same persons"
must train --data chosen.h5 --out bins "${noisy[@]}" --ledger measured.db --set features.map=bins --set features.keep=false
[[ $(json bins/manifest.json '[len(e) for e in o["configuration"]["features.edges"]][2:], len(o["configuration"]["features.edges"][0]) > 2') == '[1, 1, 1] True' ]] ||
    fail "other edges: $(json bins/manifest.json 'o["configuration"]["features.edges"]')"

# 4. Accounts of every rule; what cannot be is refused before it is charged.
open_account pure scaled.h5
choose scaled.h5 pure pure.h5 --share 0.5
[[ $(json out.txt '0.4999 < o["cost"]["epsilon"] <= 0.5') == True && $(spent pure) == 0.4999* ]] || fail "a pure choice: $(<out.txt), $(spent pure)"
open_account fixed scaled.h5 --budget-delta 1e-5 --fixed 0.1
refused 6 'for nothing else' measure --data scaled.h5 --ledger fixed.db --out none.h5 --features 3
open_account renyi scaled.h5 --budget-delta 1e-5 --composition renyi
choose scaled.h5 renyi renyi.h5
open_account replaced scaled.h5 "${gdp[@]}" --relation substitute
choose scaled.h5 replaced replaced.h5
[[ $(json out.txt 'o["rate"]') == "$(python3 -c "import json; print(json.load(open('first.json'))['rate'] / 2)" | cut -c1-9)"* ]] || fail "a replaced person costs twice: $(<out.txt)"
refused 2 '12 columns to choose from' measure --data scaled.h5 --ledger one.db --out none.h5 --features 12
refused 2 '12 columns to choose from' measure --data scaled.h5 --ledger one.db --out none.h5 --features 0
refused 2 '--classes' measure --data scaled.h5 --ledger one.db --out none.h5 --features 2 --classes 1
refused 2 'not in (0, 1)' measure --data scaled.h5 --ledger one.db --out none.h5 --features 2 --share 1
refused 2 'excludes' measure --data scaled.h5 --ledger one.db --out none.h5 --features 2 --count
refused 3 'chosen already' measure --data three.h5 --ledger one.db --out none.h5 --features 2
refused 6 'nothing was charged' measure --data scaled.h5 --ledger one.db --out none.h5 --features 2 --share 1e-6
[[ $(spent one) == *' 2' ]] || fail "charged for nothing: $(spent one)"

# Of four labels x0 tells 1, 2 and 3 apart, x1 only who is 0.
awk 'BEGIN { srand(9); print "id,x0,x1,x2,y"; for (i = 0; i < 4000; ++i) { y = int(4 * rand())
    print i "," (y + rand()) / 4 "," (rand() < 0.5 ? rand() : (y > 0) / 2 + rand() / 2) "," rand() "," y } }' >four.csv
must import four.csv --id id --label y --classes 4 --population ward --scale '*=0:1' --expected-records 4000 --out four.h5
open_account four four.h5 "${gdp[@]}"
refused 3 'state how many there are: --classes' measure --data four.h5 --ledger four.db --out none.h5 --features 1
[[ $(spent four) == *' 0' ]] || fail "charged for labels that nobody stated: $(spent four)"
must measure --data four.h5 --ledger four.db --out none.h5 --features 1 --classes 4 --json
[[ $(json out.txt 'o["columns"]') == "['x0']" ]] || fail "of four classes: $(<out.txt)"

# 5. Persons of several rows: rows that are kept, and summaries of them. What orders rows stays.
awk -F, 'NR == 1 { print "day," $0; next } { for (r = 0; r < 1 + NR % 3; ++r) print r "," $0 }' ward.csv >visits.csv
visits() { must import visits.csv --person id --label ill --population ward --categories 'town=Basel|Bern|Chur' --categories 'colour=red|blue' "${ranges[@]}" --scale day=0:3 --expected-records 8000 --out "$@"; }
visits rows.h5 --rows-at-most 3
visits records.h5 --aggregate last,mean,count --order-by day --rows-at-most 3
for kind in rows records; do
    open_account $kind $kind.h5 "${gdp[@]}"
    choose $kind.h5 $kind $kind-chosen.h5
    [[ $(json out.txt 'o["columns"]') == "['x3', 'x8', 'town']" ]] || fail "of $kind: $(<out.txt)"
    must train --data $kind-chosen.h5 --out $kind "${noisy[@]}" --ledger $kind.db
    must publish --run $kind --ledger $kind.db --out $kind-model.h5
    must predict --model $kind-model.h5 visits.csv
done
"$holdfast" inspect records-chosen.h5:train --quiet | grep -q 'records .* x 13 features' || fail "summaries: $("$holdfast" inspect records-chosen.h5:train --quiet)"

# 6. The columns that a lasso uses, however many: told as they are, or refused, once.
lasso() { must train --data scaled.h5 --out "$1" --set training.kind=convex --set 'network.hidden=[]' --set features.norm_limit=1 --set training.batches=1 --set training.epochs=100 --set training.l2=0.05 "${@:2}"; }
rich() { must account --ledger "$1.db" --data "$2" --budget 60 --budget-delta 0.1 "${@:3}"; }
support() { must measure --data scaled.h5 --ledger "$1.db" --support lasso --epsilon 20 --delta 0.01 --json "${@:2}"; }
lasso lasso --set convex.l1=0.015
rich used scaled.h5
support used --out used.h5
cp out.txt first.json
[[ $(json first.json 'o["columns"], o["of"], o["refused"], o["charged"]') == "['x3', 'x8', 'town'] 12 False True" ]] || fail "used: $(<first.json)"
[[ $(json first.json 'o["guarantee"]["status"], o["cost"]') == "proved {'delta': 0.01, 'epsilon': 20.0}" ]] || fail "what it guarantees: $(<first.json)"
[[ $(spent used) == '20.0 2' && $(json account.json 'o["spent_delta"]') == 0.01 ]] || fail "spent: $(<account.json)"
support used --out again.h5
cmp used.h5 again.h5 || fail "asked again, other columns"
[[ $(json out.txt 'o["charged"]') == False && $(spent used) == '20.0 2' ]] || fail "charged twice: $(<account.json)"
"$holdfast" inspect used.h5:test --quiet | grep -q 'records .* x 5 features' || fail "not two numbers and three towns: $("$holdfast" inspect used.h5:test --quiet)"
must train --data used.h5 --out of-used "${noisy[@]}" --ledger used.db
must publish --run of-used --ledger used.db --out used-model.h5
[[ $(json of-used/manifest.json 'o["dataset"]["features"]') == 5 ]] || fail "another number of features"
must predict --model used-model.h5 new.csv --scores
cp out.txt all.txt
must predict --model used-model.h5 less.csv --scores
cmp -s all.txt out.txt || fail "columns that are not used changed an answer"
must statement --ledger used.db
tr -s '\n ' ' ' <out.txt | grep -q 'tested_columns' || fail "the statement: $(<out.txt)"

# Refused: nothing is told, nothing written, and it stays so.
for time in first again; do
    must measure --data scaled.h5 --ledger used.db --support lasso --epsilon 0.001 --delta 1e-9 --out untold.h5 --json
    [[ $(json out.txt 'o["columns"], o["refused"], o["charged"]') == "[] True $([[ $time == first ]] && echo True || echo False)" ]] || fail "told for nothing: $(<out.txt)"
done
[[ ! -e untold.h5 ]] || fail "a refusal wrote a dataset"
"$holdfast" measure --data scaled.h5 --ledger used.db --support lasso --epsilon 0.001 --delta 1e-9 --out untold.h5 --quiet >out.txt
grep -q '^refused: which of the 12 columns' out.txt && ! grep -q 'x3' out.txt || fail "what a refusal says: $(<out.txt)"

# The same records under another schema are another choice: what was drawn of columns says nothing of others.
awk 'BEGIN { srand(3); print "id,P,q,r,ill" > "one.csv"; print "id,a,b,S,ill" > "two.csv"
    for (i = 0; i < 4000; ++i) { p = rand() < 0.5; q = rand() < 0.5; ill = rand() < 0.9 ? p : 1 - p
        print i "," (p ? "x" : "y") "," q "," 1 - q "," ill > "one.csv"; print i "," p "," 1 - p "," (q ? "x" : "y") "," ill > "two.csv" } }'
must import one.csv --id id --label ill --population twice --categories 'P=x|y' --scale '*=0:1' --expected-records 4000 --out one-way.h5
must import two.csv --id id --label ill --population twice --categories 'S=x|y' --scale '*=0:1' --expected-records 4000 --out two-ways.h5
rich twice one-way.h5
for way in one-way two-ways; do must train --data $way.h5 --out of-$way --set training.kind=convex --set 'network.hidden=[]' --set features.norm_limit=1 --set training.batches=1 --set training.epochs=100 --set training.l2=0.05 --set convex.l1=0.015; done
for way in one-way two-ways; do
    must measure --data $way.h5 --ledger twice.db --features 1 --epsilon 2 --out chosen-$way.h5 --json
    [[ $(json out.txt 'o["charged"]') == True ]] || fail "the columns of one schema were taken for those of another: $(<out.txt)"
    must measure --data $way.h5 --ledger twice.db --support of-$way --epsilon 20 --delta 0.01 --out used-$way.h5 --json
    [[ $(json out.txt 'o["charged"]') == True ]] || fail "the columns of one schema were taken for those of another: $(<out.txt)"
done
refused 3 'was trained on these records, but the file states another fact' measure --data two-ways.h5 --ledger twice.db --support of-one-way --epsilon 20 --delta 0.01 --out none.h5
# Nothing takes the place of what it is made of, or of what pays.
cp one-way.h5 kept.h5
refused 2 'would replace' measure --data one-way.h5:train --ledger twice.db --features 2 --epsilon 2 --out ./one-way.h5
refused 2 'would replace' measure --data one-way.h5 --ledger twice.db --support of-one-way --epsilon 1 --delta 0.01 --out twice.db
cmp kept.h5 one-way.h5 || fail "the table was written over"

# Accounts of Gaussian privacy pay the delta from what they set apart; else, and whatever else cannot be, nothing is charged.
rich gaussian scaled.h5 --composition gdp --delta-apart 0.01
must measure --data scaled.h5 --ledger gaussian.db --support lasso --epsilon 8 --delta 0.01 --out used-gaussian.h5 --json
[[ $(json out.txt 'o["columns"]') == "['x3', 'x8', 'town']" ]] || fail "an account of Gaussian privacy: $(<out.txt)"
rich narrow scaled.h5 --composition gdp
refused 6 'sets apart' measure --data scaled.h5 --ledger narrow.db --support lasso --epsilon 20 --delta 0.01 --out none.h5
[[ $(spent narrow) == *' 0' ]] || fail "charged for nothing: $(spent narrow)"
refused 2 '--epsilon' measure --data scaled.h5 --ledger used.db --support lasso --delta 0.01 --out none.h5
refused 2 '--delta' measure --data scaled.h5 --ledger used.db --support lasso --epsilon 1 --out none.h5
refused 2 'excludes' measure --data scaled.h5 --ledger used.db --support lasso --features 3 --out none.h5
refused 2 'excludes' measure --data scaled.h5 --ledger used.db --support lasso --epsilon 1 --delta 0.01 --share 0.1 --out none.h5
refused 2 'training.kind = "convex"' measure --data scaled.h5 --ledger used.db --support boxes --epsilon 1 --delta 0.01 --out none.h5
refused 3 'chosen already' measure --data used.h5 --ledger used.db --support lasso --epsilon 1 --delta 0.01 --out none.h5
refused 2 'certificate.relation' measure --data scaled.h5 --ledger replaced.db --support lasso --epsilon 0.1 --delta 1e-6 --out none.h5
lasso ridge
refused 2 'convex.l1' measure --data scaled.h5 --ledger used.db --support ridge --epsilon 1 --delta 0.01 --out none.h5
lasso removals --set convex.l1=0.015 --set certificate.relation=remove
refused 2 'certificate.relation' measure --data scaled.h5 --ledger used.db --support removals --epsilon 1 --delta 0.01 --out none.h5
lasso waves --set convex.l1=0.015 --set features.map=fourier
refused 2 'several columns' measure --data scaled.h5 --ledger used.db --support waves --epsilon 1 --delta 0.01 --out none.h5

((failures == 0)) && echo "columns chosen as they should be"
