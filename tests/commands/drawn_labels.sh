#!/usr/bin/env bash
# drawn_labels.sh HOLDFAST: holdfast measure --labels draws the labels of a split once, for an account of labels; what any
# kind of training learns from them may be published for nothing more, and nothing else is paid by such an account.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
source "$support/paying.sh"

# 3000 persons whose label follows from two numbers, but for one in twenty.
awk 'BEGIN { srand(5); print "id,a,b,ill"; for (i = 0; i < 4000; ++i) { a = rand(); b = rand(); y = a + b > 1
    if (rand() < 0.05) y = 1 - y; printf "%d,%.4f,%.4f,%d\n", 3 * i + 1, a, b, y } }' >ward.csv
import() { must import ward.csv "${@:2}" --label ill --population ward --test-fraction 0.25 --scale 'a=0:1' --scale 'b=0:1' --expected-records 3000 --missing error --out "$1"; }
import ward.h5 --id id
must account --ledger labels.db --data ward.h5 --budget 4 --relation label
draw() { must measure --data "$1" --ledger labels.db --labels "$2" --epsilon "$3" --out "$4" --json; }

# 1. Drawn and charged once: the same again is the same bytes for nothing; another epsilon, or form, is another draw.
draw ward.h5 response 1 drawn.h5
[[ $(json out.txt 'o["charged"], o["cost"]["epsilon"], o["guarantee"]["status"], o["guarantee"]["relation"]') == "True 1.0 proved label" ]] || fail "the draw: $(<out.txt)"
claims out.txt 'labels alone are private.*features are taken to be public' || fail "does not say what is private: $(<out.txt)"
draw ward.h5 response 1 again.h5
cmp drawn.h5 again.h5 || fail "asked again, other labels"
[[ $(json out.txt 'o["charged"]') == False && $(spent labels) == "1.0 1" ]] || fail "charged twice: $(spent labels)"
draw ward.h5 response 0.5 less.h5
draw ward.h5 laplace 1 soft.h5
[[ $(spent labels) == "2.5 3" ]] || fail "not the sum of three draws: $(spent labels)"
refused 6 'does not fit' measure --data ward.h5 --ledger labels.db --labels response --epsilon 2 --out none.h5 --quiet
[ ! -e none.h5 ] || fail "labels that were not paid for"
"$holdfast" inspect drawn.h5:test --quiet >out.txt 2>&1 && fail "test labels left with the drawn ones"
"$holdfast" inspect drawn.h5 --quiet >out.txt || fail "no dataset"
grep -q 'labels: drawn under privacy' out.txt || fail "inspect does not say that they were drawn: $(<out.txt)"
grep -q 'records  *30[0-9][0-9] x 2' out.txt || fail "not all records: $(<out.txt)"

# More than is read at once, known by their rows.
must synth tabular --features 3 --records 40000 --test 10 --population crowd --out crowd.h5
must account --ledger crowd.db --data crowd.h5 --budget 4 --relation label
for copy in one two; do must measure --data crowd.h5 --ledger crowd.db --labels laplace --epsilon 2 --classes 3 --out $copy.h5; done
cmp one.h5 two.h5 || fail "asked again of many, other labels"
"$holdfast" inspect one.h5 --quiet | grep -q 'records  *40000 x 3' || fail "not all of the many"

# 2. What is learnt from them may leave; on any number of ranks the same.
noisy=(--set training.kind=noisy --set noise.law=none --set clip.kind=norm --set clip.norm_limit=10 --set network.loss=cross_entropy --set 'network.hidden=[]' --set training.epochs=200 --set training.batches=1 --set training.learning_rate=8)
accuracy() { must predict --model "$1" --queries ward.h5:test --accuracy --json; json out.txt 'o["accuracy"]'; }
for name in drawn soft; do
    must train --data $name.h5 --out $name "${noisy[@]}" --set training.labels=corrected
    mpirun -n 2 "$holdfast" train --data $name.h5 --out $name.two "${noisy[@]}" --set training.labels=corrected --quiet >out.txt 2>err.txt || fail "$name on two ranks: $(<err.txt)"
    [[ $(field $name/manifest.json digest) == "$(field $name.two/manifest.json digest)" ]] || fail "$name: two ranks learn something else"
    must publish --run $name --ledger labels.db --out $name.model.h5
    claims out.txt '^proved: labels alone are private.*(1, 0)-differentially private' || fail "published as what? $(<out.txt)"
    must publish --run $name --ledger labels.db --out $name.model.h5
    [[ $(python3 -c "print($(accuracy $name.model.h5) > .78)") == True ]] || fail "$name learnt nothing: $(<out.txt)"
done
refused 2 'leave --epsilon' publish --run drawn --ledger labels.db --out x.h5 --epsilon 1 --quiet
[[ $(json drawn/manifest.json 'o["configuration"]["training.label_unit"]') == 1.0 ]] || fail "the unit: $(json drawn/manifest.json 'o["configuration"]["training.label_unit"]')"
must train --data drawn.h5 --out boxes --set 'network.hidden=[4]' --set training.epochs=3 --set certificate.levels=1
must publish --run boxes --ledger labels.db --out boxes.h5
# Not where the labels themselves were told as public records, nor in their own place.
must train --data drawn.h5 --public ward.h5 --out told --set 'network.hidden=[4]' --set training.epochs=3 --set certificate.levels=1
refused 2 'were not held against' publish --run told --ledger labels.db --out x.h5 --quiet
refused 3 'people of this ledger' account --ledger labels.db --public ward.h5 --quiet
refused 2 'would replace' measure --data ward.h5 --ledger labels.db --labels response --epsilon 1 --out ward.h5 --quiet
must train --data drawn.h5 --out convex --set training.kind=convex --set 'network.hidden=[]' --set features.norm_limit=1 --set training.epochs=20
must publish --run convex --ledger labels.db --out convex.h5
[[ $(spent labels) == "2.5 3" ]] || fail "publishing was charged: $(spent labels)"
must statement --ledger labels.db
tr -s '\n ' ' ' <out.txt | grep -q 'label differential privacy.*Labels alone are private; features are taken to be public' || fail "the statement: $(<out.txt)"

# 3. Nothing else by this account, and no labels by another.
refused 2 'for labels alone' train --data drawn.h5 --out paid "${noisy[@]}" --set noise.law=gaussian --ledger labels.db --quiet
refused 2 'for labels alone' release --run boxes --queries ward.h5:test --epsilon 0.1 --ledger labels.db --queries-are-public --quiet
refused 6 'labels alone' measure --data ward.h5 --ledger labels.db --features 1 --out x.h5 --quiet
open_account records ward.h5
refused 6 'drawn for accounts of labels' measure --data ward.h5 --ledger records.db --labels response --epsilon 0.5 --out x.h5 --quiet
refused 2 'for their owner' publish --run drawn --ledger records.db --out x.h5 --quiet

# 4. Ids that show a label, labels that were drawn before, what is not stated; a file that is not the one that was drawn.
must import ward.csv --id-from-content --label ill --population ward --scale '*=0:12000' --missing error --out content.h5
must account --ledger content.db --data content.h5 --budget 4 --relation label
refused 3 'would show it' measure --data content.h5 --ledger content.db --labels response --epsilon 1 --out x.h5 --quiet
must import ward.csv --label ill --id id --population ward --scale 'a=0:1' --scale 'b=0:1' --expected-records 3000 --out lenient.h5
must account --ledger lenient.db --data lenient.h5 --budget 4 --relation label
refused 3 'number of records tells labels' measure --data lenient.h5 --ledger lenient.db --labels response --epsilon 1 --out x.h5 --quiet
refused 3 'drawn already' measure --data drawn.h5 --ledger labels.db --labels response --epsilon 1 --out x.h5 --quiet
refused 2 'not stated' measure --data ward.h5 --ledger labels.db --labels response --out x.h5 --quiet
refused 2 'not in \[0.001' measure --data ward.h5 --ledger labels.db --labels response --epsilon 0 --out x.h5 --quiet
refused 2 'no labels that were drawn' train --data ward.h5 --out x "${noisy[@]}" --set training.labels=corrected --quiet
refused 2 'noisy training' train --data drawn.h5 --out x --set training.labels=corrected --quiet
must import drawn.h5 --out other.h5
must account --ledger labels.db --data other.h5
refused 2 'no labels that were drawn' train --data other.h5 --out x "${noisy[@]}" --set training.labels=corrected --quiet
must train --data other.h5 --out other "${noisy[@]}"
refused 2 'for their owner' publish --run other --ledger labels.db --out x.h5 --quiet

((failures == 0)) && echo "labels drawn as they should be"
