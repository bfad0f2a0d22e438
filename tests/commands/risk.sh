#!/usr/bin/env bash
# risk.sh HOLDFAST: holdfast risk, end to end: a network that memorises is caught, one that hardly learns is not; a noisy run
# shows no more than its bound; persons count and not their rows; an ensemble attacks itself; what it refuses and leaves.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
refuses() { # CODE WORDS ARGUMENT…
    local code=$1 words=$2
    shift 2
    "$holdfast" risk "$@" > out.txt 2> err.txt
    [ $? = "$code" ] && grep -q -e "$words" err.txt && [ ! -s out.txt ] || fail "$*: $(cat err.txt)"
}
# says FILE EXPRESSION: of the report r, `attack(scores, observes, whose)` and `found(…)`, its point at so many false ones.
says() {
    python3 - "$@" << 'END' || fail "$1: not $2"
import json, sys
r = json.load(open(sys.argv[1]))
def attack(scores, observes="confidence", whose="all"):
    return next(one for one in r["membership"] if (one["scores"], one["observes"], one["whose"]) == (scores, observes, whose))
def low(one): return one["interval"][0]
def high(one): return one["interval"][1]
def found(rate, *which):
    return next(point for point in attack(*which)["points"] if point["asked"] == rate)
sys.exit(not eval(sys.argv[2]))
END
}

# Labels that nothing tells: whoever knows one has learnt it by heart.
awk 'BEGIN { srand(5); print "id,a,b,c,d,e,f,g,h,i,j,k,l,y"; for (i = 0; i < 400; ++i) { line = 7 * i + 3; for (j = 0; j < 12; ++j) line = line "," rand(); print line "," (rand() < 0.5) } }' > noise.csv
"$holdfast" import noise.csv --label y --person id --scale '*=0:1' --test-fraction 0.4 --expected-records 240 --population people --out noise.h5 --quiet > /dev/null || fail import
umask 022

# 1. By heart: the fleet's engine trains its shadows; memorised exactly, by the networks without each.
learnt=(--set "network.hidden=[32]" --set training.epochs=600 --set training.batches=2 --set training.learning_rate=1 --set network.input_shift=0.5 --set network.input_scale=4 --set clip.kind=none)
"$holdfast" fleet --quiet --data noise.h5 --out heart --records 40 "${learnt[@]}" > /dev/null || fail fleet
"$holdfast" risk --quiet --run heart --shadows 8 --json > heart.json || fail "risk of a fleet"
says heart.json 'low(attack("online")["auc"]) > 0.6 and low(attack("offline")["auc"]) > 0.6 and low(attack("threshold")["auc"]) > 0.6'
says heart.json 'low(found(0.1, "online")["true_positives"]) > high(found(0.1, "online")["false_positives"])'
says heart.json 'low(r["overfitting"]["right_trained"]) > high(r["overfitting"]["right_held_out"])'
says heart.json 'r["memorised"]["exact"] and low(r["memorised"]) > 0.1 and r["shadows"] == 8 and r["unit"] == "person"'
says heart.json 'r["structure"]["degrees_of_freedom"] == r["trained"] - 449 and r["structure"]["files_that_name_persons"] == ["fleet.h5", "risk_persons.csv"]'
for file in risk.html risk.json risk_persons.csv; do [ "$(stat -c %a "heart/$file")" = 600 ] || fail "others may read $file"; done
[ ! -e heart/shadows ] || fail "shadow networks are left"
[ "$(wc -l < heart/risk_persons.csv)" = 401 ] && head -1 heart/risk_persons.csv | grep -q '^person,network,member,confidence_threshold,' || fail "columns: $(head -2 heart/risk_persons.csv)"
for words in 'for the owner only' '<svg' 'no ledger was charged' 'less parameters'; do grep -q "$words" heart/risk.html || fail "the page lacks $words"; done
"$holdfast" influence --quiet --run heart --queries noise.h5 --data noise.h5 --json > influence.json || fail influence
python3 -c 'import json; a, b = (json.load(open(name)) for name in ("heart.json", "influence.json")); assert round(40 * a["memorised"]["value"]) == b["memorised"], (a["memorised"], b["memorised"])' || fail "influence counts others as memorised"

# 2. Boxes that learn nothing: no attack says anything, on certified answers or others; the same again gives the same.
"$holdfast" train --quiet --data noise.h5 --out boxes --set "network.hidden=[4]" --set certificate.levels=2 --set training.learning_rate=1e-18 > /dev/null || fail train
"$holdfast" risk --quiet --run boxes --shadows 8 > boxes.txt || fail "risk of boxes"
cp boxes/risk.json first.json
for scores in threshold offline online; do
    says first.json "low(attack('$scores')['auc']) < 0.5 < high(attack('$scores')['auc']) and low(found(0.1, '$scores')['true_positives']) <= high(found(0.1, '$scores')['false_positives'])"
    says first.json "low(attack('$scores', 'label', 'certified')['auc']) <= 0.5 <= high(attack('$scores', 'label', 'certified')['auc'])"
done
grep -q 'label gains no attacker anything' boxes.txt || fail "what is proved of labels: $(cat boxes.txt)"
grep -q 'no ledger was charged' boxes.txt || fail "the words lack the ledger"
cp boxes/risk_persons.csv first.csv
"$holdfast" risk --quiet --run boxes --data noise.h5:train --held-out noise.h5:test --shadows 8 > /dev/null && cmp -s first.csv boxes/risk_persons.csv || fail "another time other scores"

# 3. Noise: the lower end of what is seen stays below what was paid for; without noise nothing is proved.
"$holdfast" account --quiet --ledger l.db --data noise.h5 --budget 20 --budget-delta 1e-4 > /dev/null || fail account
noisy=(--set training.kind=noisy --set clip.kind=norm --set "network.hidden=[8]" --set training.epochs=60 --set training.learning_rate=2)
"$holdfast" train --quiet --data noise.h5 --out noisy --ledger l.db --set noise.epsilon=2 "${noisy[@]}" > /dev/null || fail "noisy training"
spent=$("$holdfast" account --ledger l.db --check | cksum)
"$holdfast" risk --quiet --run noisy --shadows 8 --json > noisy.json || fail "risk of a noisy run"
[ "$("$holdfast" account --ledger l.db --check | cksum)" = "$spent" ] || fail "a ledger was charged"
says noisy.json 'not r["contradicted"] and "mu =" in r["bound"]["words"] and r["bound"]["proved"]'
says noisy.json 'all(low(point["true_positives"]) <= 1 and 0 < point["at_most"] < 1 and not point["contradicts"] for one in r["membership"] for point in one["points"])'
says noisy.json '0.033 < found(0.01, "online")["at_most"] < 0.036' # Phi(.5015 - 2.3263)
"$holdfast" train --quiet --data noise.h5 --out sampled --ledger l.db --set noise.epsilon=2 "${noisy[@]}" --set noise.sampling_rate=0.25 > /dev/null || fail "sampled training"
"$holdfast" risk --quiet --run sampled --shadows 4 --attributes 0 --json > sampled.json || fail "risk of a sampled run"
says sampled.json 'not r["contradicted"] and r["attributes"] == [] and found(0.1, "online")["at_most"] < 0.74'
"$holdfast" train --quiet --data noise.h5 --out bare --set noise.law=none "${noisy[@]}" > /dev/null || fail "training without noise"
"$holdfast" risk --quiet --run bare --shadows 4 --json > bare.json || fail "risk without noise"
says bare.json '"is not private" in r["bound"]["words"] and "at_most" not in found(0.01, "online")'
"$holdfast" train --quiet --data noise.h5 --out convex --set training.kind=convex --set "network.hidden=[]" --set training.learning_rate=0.1 --set certificate.relation=remove > out.txt 2>&1 || fail "convex: $(cat out.txt)"
"$holdfast" risk --quiet --run convex --shadows 4 > convex.txt || fail "risk of a convex run"
grep -q 'publish adds noise' convex.txt || fail "a convex run: $(cat convex.txt)"

# As advised the rate is the greatest that the run allows; shadows of fewer records allow less.
"$holdfast" advise --records 240 --features 12 --epsilon 1 --kind convex --out advised.toml --quiet > out.txt 2>&1 || fail "advise: $(cat out.txt)"
"$holdfast" train --quiet --data noise.h5 --out at_most --config advised.toml > out.txt 2>&1 || fail "convex as advised: $(cat out.txt)"
"$holdfast" risk --quiet --run at_most --shadows 4 > out.txt 2>&1 || fail "risk of a convex run as advised: $(cat out.txt)"

# What nobody has named is not proved: rows, two of them equal, are known by their place.
{ cat noise.csv && sed -n '2s/^[0-9]*/9999/p' noise.csv; } > rows.csv
"$holdfast" import rows.csv --label y --drop id --scale '*=0:1' --test-fraction 0.4 --expected-records 240 --population rows --out rows.h5 --quiet > out.txt 2>&1 || fail "import rows: $(cat out.txt)"
"$holdfast" account --quiet --ledger rows.db --data rows.h5 --budget 20 --budget-delta 1e-4 > out.txt 2>&1 || fail "account of rows: $(cat out.txt)"
"$holdfast" train --quiet --data rows.h5 --out rows --ledger rows.db --set noise.epsilon=2 "${noisy[@]}" > /dev/null || fail "training of rows"
"$holdfast" risk --quiet --run rows --shadows 4 > rows.txt || fail "risk of rows"
grep -q '^As published: no attack' rows.txt && grep -q ' as published: at most 0.03' rows.txt && grep -q ' records trained on' rows.txt || fail "of rows: $(cat rows.txt)"

# 4. Persons count: of one with several rows their mean, and all are in a shadow or none.
awk 'BEGIN { srand(6); print "who,a,b,y"; for (i = 0; i < 120; ++i) for (j = 0; j <= i % 3; ++j) print i "," rand() "," rand() "," (rand() < 0.5) }' > visits.csv
"$holdfast" import visits.csv --label y --person who --rows-at-most 3 --scale '*=0:1' --test-fraction 0.4 --expected-records 70 --population others --out visits.h5 --quiet > /dev/null || fail "import visits"
"$holdfast" train --quiet --data visits.h5 --out visits --set "network.hidden=[4]" --set certificate.levels=1 > /dev/null || fail "train visits"
"$holdfast" risk --quiet --run visits --shadows 4 --json > visits.json || fail "risk of visits"
says visits.json 'r["unit"] == "person" and r["trained"] + r["others"] == 120 and attack("online")["members"] == r["trained"]'

# 5. An ensemble attacks itself: no one is held out, nothing is trained; each person once on either side.
"$holdfast" train --quiet --data noise.h5 --out votes --set ensemble.members=5 --set "network.hidden=[4]" --set certificate.levels=1 > /dev/null || fail "train an ensemble"
"$holdfast" import noise.csv --label y --person id --scale '*=0:1' --expected-records 400 --population alone --out alone.h5 --quiet > /dev/null || fail "import alone"
"$holdfast" train --quiet --data alone.h5 --out alone --set ensemble.members=8 --set "network.hidden=[4]" --set certificate.levels=1 > /dev/null || fail "train alone"
"$holdfast" risk --quiet --run alone --json > alone.json || fail "risk of an ensemble"
says alone.json 'r["shadows"] == 0 and r["others"] == 0 and attack("offline")["members"] == attack("offline")["others"] == 400'
says alone.json 'all(one["scores"] != "online" for one in r["membership"]) and r["attributes"] == [] and "memorised" not in r'
"$holdfast" risk --quiet --run votes --json > votes.json || fail "risk of five members"
says votes.json 'r["shadows"] == 16 and attack("online")["others"] == r["others"] > 0'

# 6. What it cannot say, it refuses, and leaves nothing.
"$holdfast" publish --quiet --run noisy --ledger l.db --out model.h5 > /dev/null || fail publish
refuses 3 'a model alone does not say' --run model.h5
refuses 3 'no such run folder' --run nowhere
refuses 3 'not the records that the run was trained on' --run bare --data visits.h5
refuses 3 'not the records that the run was trained on' --run bare --data noise.h5:test
refuses 3 'somebody who was trained on' --run bare --held-out noise.h5:train
refuses 3 'features, but the run' --run bare --held-out visits.h5:test
refuses 2 'two that have it are the least' --run bare --shadows 2
refuses 2 '--confidence' --run bare --confidence 2
mv alone.h5 moved.h5
refuses 3 'alone.h5' --run alone
"$holdfast" risk --quiet --run alone --data moved.h5 > /dev/null || fail "a dataset that moved"
awk 'NR <= 19' noise.csv > few.csv
"$holdfast" import few.csv --label y --person id --scale '*=0:1' --expected-records 18 --population few --out few.h5 --quiet > /dev/null || fail "import few"
"$holdfast" train --quiet --data few.h5 --out few --set "network.hidden=[]" --set certificate.levels=1 > /dev/null || fail "train few"
refuses 2 'nobody was held out' --run few
refuses 3 'of fewer than 20' --run few --held-out moved.h5:train
"$holdfast" synth surface --records 100 --test 40 --seed 3 --out surface.h5 --quiet > /dev/null || fail surface
"$holdfast" train --quiet --data surface.h5 --out numbers --set network.classes=1 --set "network.hidden=[]" --set training.epochs=1 --set certificate.levels=1 > out.txt 2>&1 || fail "train numbers: $(cat out.txt)"
refuses 2 'a regression' --run numbers
[ ! -e bare/shadows ] || fail "shadows of a refused report"

((failures == 0)) && echo "the owner is told what an attacker sees"
