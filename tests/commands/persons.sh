#!/usr/bin/env bash
# persons.sh HOLDFAST: persons with several rows, from the table to what is claimed, certified and forgotten
# (models/mathematics.md, rows of a person).
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
"$root/tools/patients" 600 visits > visits.csv
ranges=(--scale 'day=0:60' --scale 'age=0:100' --scale 'pulse=30:130')
import() { "$holdfast" import visits.csv --label ill --person number "${ranges[@]}" --missing error "$@" --quiet; }
# refused CODE WORDS COMMAND…: ends with the code, says so, and writes nothing.
refused() {
    "${@:3}" > out.txt 2> err.txt
    local status=$?
    ((status == $1)) || fail "exit $status for $1: $2: $(cat err.txt)"
    grep -q -e "$2" err.txt || fail "\"$2\" is not in: $(cat err.txt)"
}

# 1. A person is not a row: each way to several rows is said, and the first choice comes first.
refused 3 'aggregate mean,min,max makes one record' import --out no.h5
refused 3 'where rows are visits, --person' "$holdfast" import visits.csv --label ill --id number "${ranges[@]}" --out no.h5
refused 2 'order-by COLUMN' import --aggregate last --out no.h5
refused 2 'a public limit' import --aggregate count --out no.h5
refused 2 'says nothing of rows' import --aggregate median --out no.h5
refused 2 "no feature column 'weight'" import --rows-at-most 2 --keep last --order-by weight --out no.h5
refused 2 'not a number of rows' import --rows-at-most 0 --out no.h5
refused 2 'as --id does' import --id number --out no.h5
refused 2 'rows stay of a person of too many' import --keep last --out no.h5
refused 2 'nothing names the persons' "$holdfast" import visits.csv --label ill --rows-at-most 3 --drop number "${ranges[@]}" --out no.h5
[[ ! -e no.h5 ]] || fail "a refused import wrote a dataset"
head -n 400 visits.csv > first.csv
{ head -n 1 visits.csv; tail -n +390 visits.csv; } > second.csv
refused 3 'all rows of a person are trained on, or none' "$holdfast" import first.csv --test second.csv --label ill --person number --rows-at-most 8 "${ranges[@]}" --out no.h5

# 2. The order of the rows in the table makes no difference.
import --rows-at-most 3 --expected-records 450 --population ward --test-fraction 0.25 --out visits.h5 > said.txt || fail "not imported"
grep -q 'unit: a person, of 3 rows at most' said.txt || fail "no unit: $(cat said.txt)"
grep -q 'rows left out, of persons of more than 3: [1-9]' said.txt || fail "rows are left out silently"
{ head -n 1 visits.csv; tail -n +2 visits.csv | tac; } > reversed.csv
"$holdfast" import reversed.csv --label ill --person number --rows-at-most 3 "${ranges[@]}" --expected-records 450 --population ward --test-fraction 0.25 --out reversed.h5 --quiet > /dev/null
common=(--set network.hidden=[] --set training.epochs=4 --set training.learning_rate=2 --quiet)
digest() { sed -n 's/.*boxes \([0-9a-f]*\).*/\1/p' <<< "$1"; }
train() { "$holdfast" train --data visits.h5 "${common[@]}" "$@"; }
one=$(train --out run --set certificate.relation=remove) || fail "not trained"
other=$("$holdfast" train --data reversed.h5 "${common[@]}" --out run-r --set certificate.relation=remove)
[[ -n $(digest "$one") && $(digest "$one") == $(digest "$other") ]] || fail "the order of rows changed the boxes: $one $other"
ranks=$(mpirun -n 3 "$holdfast" train --data visits.h5 "${common[@]}" --out run-3 --set certificate.relation=remove)
[[ $(digest "$ranks") == $(digest "$one") ]] || fail "three ranks gave other boxes"
grep -q 'a person is all rows of one id, 3 at most' <<< "$one" || fail "the claim names no person: $one"
"$holdfast" inspect visits.h5:train | grep -q 'persons  *[0-9]' || fail "inspect counts no persons"

# 3. Every kind, clip and precision; what cannot be is refused with its remedy.
for settings in "--set clip.kind=factored" "--set clip.kind=record_norm" "--set clip.kind=tensor_norm --set training.precision=single" \
    "--set network.hidden=[3] --set certificate.budget=both" "--set ensemble.members=3 --set training.batches=2" \
    "--set certificate.budget=per_batch --set certificate.relation=substitute" \
    "--set certificate.budget=both --set certificate.relation=remove --set network.hidden=[3]" \
    "--set certificate.relation=poison --set certificate.budget=both --set poison.input_radius=0.1" \
    "--set training.precision=fixed" "--set training.precision=fixed --set training.clip_rows=after --set network.hidden=[3]" \
    "--set training.clip_rows=after --set certificate.budget=both --set certificate.relation=remove --set network.hidden=[3]" \
    "--set training.clip_rows=after --set certificate.relation=poison --set certificate.budget=both --set poison.input_radius=0.1 --set training.precision=single" \
    "--set training.clip_rows=after --set certificate.relation=substitute --set ensemble.members=3 --set training.batches=2" \
    "--set training.clip_rows=after --set clip.kind=tensor_norm --set certificate.relation=remove --set certificate.budget=both --set training.precision=fixed" \
    "--set training.kind=convex --set features.norm_limit=1 --set training.learning_rate=0.5" \
    "--set training.kind=noisy --set noise.law=none --set clip.kind=norm" \
    "--set training.kind=noisy --set noise.law=none --set clip.kind=norm --set training.clip_rows=after --set robust.noise=0.1 --set robust.copies=2"; do
    rm -rf kind
    train --out kind $settings > said.txt 2> err.txt || fail "not trained: $settings: $(cat err.txt)"
done
refused 2 'cuts a person' train --out no --set training.batching=sequential --set training.batch_size=9
refused 2 'the dataset has 3' train --out no --set training.rows_at_most=5
refused 2 'no factors are weighed' train --out no --set training.precision=fixed --set clip.kind=factored
refused 2 'no device weighs' "$holdfast" fleet --data visits.h5 --out no --set network.hidden=[3] --backend cuda
# The mean of a person's rows is clipped once, in any order and on any ranks; where no kind can, it says so.
after=("${common[@]}" --set training.kind=noisy --set noise.law=none --set clip.kind=norm --set clip.norm_limit=0.1)
"$holdfast" train --data visits.h5 --out before "${after[@]}" > /dev/null || fail "not trained"
"$holdfast" train --data visits.h5 --out after "${after[@]}" --set training.clip_rows=after > /dev/null || fail "not clipped after"
"$holdfast" train --data reversed.h5 --out after-r "${after[@]}" --set training.clip_rows=after > /dev/null || fail "not clipped after"
mpirun -n 3 "$holdfast" train --data visits.h5 --out after-3 "${after[@]}" --set training.clip_rows=after > /dev/null || fail "not clipped after on three ranks"
points() { grep -o '^ "digest": "[0-9a-f]*"' "$1/manifest.json"; }
[[ -n $(points after) && $(points after) == "$(points after-r)" && $(points after) == "$(points after-3)" ]] || fail "clipped after: the order of rows, or ranks, changed it"
[[ $(points after) != "$(points before)" ]] || fail "clipped after as before"
boxes=("${common[@]}" --set network.hidden=[3] --set clip.gamma=0.01 --set training.learning_rate=20 --set training.clip_rows=after)
one=$("$holdfast" train --data visits.h5 --out boxes "${boxes[@]}") || fail "boxes are not clipped after"
for data in visits.h5 reversed.h5; do
    other=$(mpirun -n 3 "$holdfast" train --data $data --out "boxes-$data" "${boxes[@]}") || fail "boxes are not clipped after on three ranks"
    [[ -n $(digest "$one") && $(digest "$one") == $(digest "$other") ]] || fail "boxes clipped after: the order of rows, or ranks, changed them"
done
"$holdfast" verify boxes --data visits.h5 --retrain --quiet > /dev/null || fail "boxes clipped after are not trained again"
other=$("$holdfast" train --data visits.h5 --out boxes-before "${boxes[@]}" --set training.clip_rows=before)
[[ $(digest "$one") != $(digest "$other") ]] || fail "boxes clipped after as before"
norms=("${boxes[@]}" --set clip.kind=record_norm --set clip.norm_limit=0.05)
one=$("$holdfast" train --data visits.h5 --out norms "${norms[@]}") || fail "boxes are not clipped after by norms"
other=$(mpirun -n 3 "$holdfast" train --data reversed.h5 --out norms-r "${norms[@]}")
[[ -n $(digest "$one") && $(digest "$one") == $(digest "$other") ]] || fail "boxes clipped after by norms: the order of rows, or ranks, changed them"
other=$("$holdfast" train --data visits.h5 --out norms-before "${norms[@]}" --set training.clip_rows=before)
[[ $(digest "$one") != $(digest "$other") ]] || fail "boxes clipped after by norms as before"
# A person is forgotten to the bytes of a training that never had them.
sed -n 's/^\([0-9]*\),.*/\1/p' visits.csv | sort -n | uniq -c | awk '$1 > 1 { print $2 }' > several.txt
for run in boxes norms; do
    rm -f fewer-of.h5
    while read -r id; do
        echo "$id" > leave.txt
        "$holdfast" unlearn --run $run --data visits.h5 --ids leave.txt --out "$run-left" --out-data fewer-of.h5 --quiet > said.txt 2> err.txt && break
    done < several.txt
    "$holdfast" verify $run-left --data fewer-of.h5 --retrain --quiet > /dev/null || fail "$run clipped after: not trained again without a person: $(cat err.txt)"
    settings=("${boxes[@]}")
    [[ $run == boxes ]] || settings=("${norms[@]}")
    without=$("$holdfast" train --data fewer-of.h5 --out "$run-anew" "${settings[@]}")
    [[ -n $(digest "$without") ]] && grep -q "$(digest "$without")" said.txt || fail "$run clipped after: unlearning and training without a person differ: $(cat said.txt) $without"
    rm -r $run-left $run-anew
done
grep -q 'a person is all rows of one id, 3 at most' <<< "$one" || fail "the claim names no person: $one"
refused 2 'is clipped already' train --out no --set clip.kind=factored --set training.clip_rows=after
import --aggregate mean --expected-records 450 --population ward --out means.h5 > /dev/null || fail "not imported"
refused 2 'no person has several rows here' "$holdfast" train --data means.h5 --out no --set network.hidden=[] --set training.clip_rows=after
refused 2 'no gradient of a convex loss' train --out no --set training.kind=convex --set features.norm_limit=1 --set training.clip_rows=after
import --rows-at-most 16 --expected-records 600 --population ward --out wide.h5 > /dev/null || fail "not imported"
import --rows-at-most 200 --expected-records 600 --population ward --out wider.h5 > /dev/null || fail "not imported"
refused 2 'a norm is clipped after of 128' "$holdfast" train --data wider.h5 --out no --set clip.kind=record_norm --set training.clip_rows=after
refused 2 '16 rows of a person: their rounding' "$holdfast" train --data wide.h5 --out no --set training.kind=noisy --set noise.law=none --set training.precision=single --set clip.kind=norm --set network.hidden=[2000,2000]

# 4. A person is forgotten with all rows, to the bytes of a training that never had them; certificates hold.
"$holdfast" certify --run run --queries visits.h5:test > /dev/null || fail "not certified"
sed -n 's/^\([0-9]*\),.*/\1/p' visits.csv | sort -n | uniq -c | awk '$1 > 3 { print $2 }' > long.txt
train_ids=$("$holdfast" inspect visits.h5:train --json | head -c 0)$(head -n 60 long.txt)
for id in $train_ids; do
    echo "$id" > leave.txt
    "$holdfast" unlearn --run run --data visits.h5 --ids leave.txt --out left --out-data left.h5 --quiet > said.txt 2> err.txt && break
done
[[ -e left.h5 ]] || fail "nobody with more rows than 3 was forgotten: $(cat err.txt)"
without=$("$holdfast" train --data left.h5 "${common[@]}" --out anew --set certificate.relation=remove)
grep -q "$(digest "$without")" said.txt || fail "unlearning and training without them differ: $(cat said.txt) $without"
before=$("$holdfast" inspect visits.h5:train --json | sed 's/.*"rows":\([0-9]*\).*/\1/')
after=$("$holdfast" inspect left.h5:train --json | sed 's/.*"rows":\([0-9]*\).*/\1/')
((before - after == 3)) || fail "$((before - after)) rows are gone for 3"

# 5. A row is withdrawn and its person stays: a substitution, for labels as for bytes. The last one is no such thing.
train --out replaced --set certificate.relation=substitute > /dev/null || fail "not trained"
stays() { # IDS: table.csv of their first rows each; what unlearning them as rows says
    { head -n 1 visits.csv; for id in "$@"; do grep -m 1 "^$id," visits.csv; done; } > table.csv
    "$holdfast" unlearn --run replaced --data visits.h5 --rows table.csv --queries visits.h5:test --quiet 2> err.txt
}
few=$(sed -n 's/^\([0-9]*\),.*/\1/p' visits.csv | sort -n | uniq -c | awk '$1 == 2 || $1 == 3 { print $2 }' | head -n 40)
single=$(sed -n 's/^\([0-9]*\),.*/\1/p' visits.csv | sort -n | uniq -c | awk '$1 == 1 { print $2 }' | head -n 40)
for id in $few; do stays "$id" > said.txt && break; done
grep -q '^1 row of 1 person to forget' said.txt || fail "no row is withdrawn: $(cat said.txt err.txt)"
kept=$(sed -n 's/^\([0-9]*\) of .* keep their label, provably.*/\1/p' said.txt)
((kept > 10)) || fail "no label stays where one row goes: $(cat said.txt)"
cp replaced/unchanged.csv unchanged.csv
"$holdfast" unlearn --run replaced --data visits.h5 --rows table.csv --out fewer --out-data fewer.h5 --quiet > said.txt || fail "not withdrawn"
persons_of() { "$holdfast" inspect "$1:train" | sed -n 's/ *persons *//p'; }
[[ $(persons_of fewer.h5) == "$(persons_of visits.h5)" ]] || fail "the person is gone"
anew=$("$holdfast" train --data fewer.h5 "${common[@]}" --out fewer-anew --set certificate.relation=substitute)
grep -q "$(digest "$anew")" said.txt || fail "withdrawing and training without the row differ: $(cat said.txt) $anew"
after=$("$holdfast" inspect fewer.h5:train --json | sed 's/.*"rows":\([0-9]*\).*/\1/')
((before - after == 1)) || fail "$((before - after)) rows are gone for one"
"$holdfast" unlearn --run fewer --data fewer.h5 --rows table.csv --quiet > said.txt || fail "a request that comes again is not recognised"
grep -q 'forgotten before' said.txt || fail "asked again: $(cat said.txt)"
for id in $single; do stays "$id" > said.txt && break; done
grep -q '^0 of .* keep their label' said.txt || fail "a person who is gone counts as replaced: $(cat said.txt err.txt)"
{ head -n 1 visits.csv; echo 1,1,1,1,1; } > wrong.csv
refused 3 'row 1: no such row' "$holdfast" unlearn --run replaced --data visits.h5 --rows wrong.csv --quiet
refused 2 'excludes' "$holdfast" unlearn --run replaced --data visits.h5 --rows table.csv --ids leave.txt --quiet

# 6. One record a person: a table of rows as queries becomes records by the same rule; the ledger counts persons once.
import --aggregate last,mean,count --order-by day --rows-at-most 8 --expected-records 600 --population ward --out one.h5 > said.txt || fail "not summarised"
grep -q 'train: 600 records of 600 persons' said.txt || fail "not one record a person: $(cat said.txt)"
"$holdfast" account --ledger ledger.db --data visits.h5 --budget 3 --budget-delta 1e-4 > said.txt || fail "no account"
persons=$("$holdfast" inspect visits.h5:train | sed -n 's/ *persons *//p')
grep -q " $persons ids by which" said.txt || fail "a person is known more than once: $(cat said.txt), $persons persons"
"$holdfast" account --ledger ledger.db --data one.h5 --budget 3 --budget-delta 1e-4 > /dev/null || fail "no second version"
"$holdfast" train --data one.h5 --out noisy --ledger ledger.db --set training.kind=noisy --set clip.kind=norm --set network.hidden=[] \
    --set noise.epsilon=1 --set training.epochs=5 --quiet > said.txt 2> err.txt || fail "not trained with noise: $(cat err.txt)"
grep -q '^proved' said.txt || fail "not proved: $(cat said.txt)"
"$holdfast" publish --run noisy --ledger ledger.db --out model.h5 --quiet > /dev/null || fail "not published"
"$holdfast" predict --model model.h5 visits.csv --out answers.csv --quiet > /dev/null 2> err.txt || fail "rows are no queries: $(cat err.txt)"
(($(wc -l < answers.csv) == 601)) || fail "$(wc -l < answers.csv) lines for 600 persons"
"$holdfast" predict --model model.h5 reversed.csv --out reversed-answers.csv --quiet > /dev/null 2>&1
[[ $(sort answers.csv) == "$(sort reversed-answers.csv)" ]] || fail "the order of a person's rows changed an answer"

# 7. What is passed on from dataset to dataset keeps saying what its rows are.
"$holdfast" import visits.h5 --aggregate mean,max --out again.h5 --quiet > /dev/null || fail "rows of a dataset are not summarised"
"$holdfast" train --data again.h5 --out again --ledger ledger.db --set training.kind=noisy --set noise.law=none --set clip.kind=norm --set network.hidden=[] --quiet > /dev/null 2>&1 ||
    "$holdfast" train --data again.h5 --out again --set training.kind=noisy --set noise.law=none --set clip.kind=norm --set network.hidden=[] --quiet > /dev/null || fail "no training on summaries"
"$holdfast" evaluate --run again --data visits.csv --quiet > evaluated.txt 2>&1 || fail "a table of rows is no query of summaries: $(cat evaluated.txt)"
grep -q ' of 600 queries' evaluated.txt || fail "not one answer a person: $(cat evaluated.txt)"
printf 'label = "ill"\nid = "number"\nperson = {rows_at_most = 2000000}\nclasses = ["0", "1"]\n[[column]]\nname = "pulse"\ntype = "number"\nrange = [0, 1]\n' > many.toml
refused 3 'from 1 to 32768' "$holdfast" import visits.csv --schema many.toml --out no.h5

# 8. One answer for all rows of a person, whatever their order; each is charged once.
"$holdfast" train --data visits.h5 "${common[@]}" --out asked --set certificate.levels=8 > /dev/null || fail "not trained"
test_persons=$("$holdfast" inspect visits.h5:test | sed -n 's/ *persons *//p')
for unit in vote mean; do
    "$holdfast" certify --run asked --queries visits.h5:test --answer $unit > said.txt || fail "not certified by $unit"
    grep -q "(of $test_persons queries)" said.txt || fail "certify does not count persons by $unit: $(cat said.txt)"
    "$holdfast" predict --model model.h5 visits.csv --answer $unit --out "$unit.csv" --quiet > /dev/null 2> err.txt || fail "no $unit: $(cat err.txt)"
done
"$holdfast" account --ledger asked.db --data visits.h5 --budget 40 --budget-delta 1e-4 > /dev/null || fail "no account"
answer() { "$holdfast" release --run asked --queries visits.h5:test --queries-are-public --ledger asked.db --first 5 "$@"; }
answer --answer vote --epsilon 0.5 --json > said.txt 2> err.txt || fail "no answers: $(cat err.txt)"
grep -q '"charged_answers":5' said.txt || fail "not an answer a person: $(cat said.txt)"
answer --answer vote --epsilon 0.5 --json > again.txt 2> err.txt
grep -q '"remembered_answers":5' again.txt || fail "not remembered: $(cat again.txt)"
answer --answer mean --epsilon 0.5 --json > mean.txt 2> err.txt || fail "no means: $(cat err.txt)"
grep -q '"charged_answers":5' mean.txt || fail "a mean is remembered from a vote: $(cat mean.txt)"
refused 2 'not what rows are answered by' answer --answer most --epsilon 0.5
cut -d, -f2- visits.csv > nameless.csv
refused 3 'whose rows they are' "$holdfast" certify --run asked --queries nameless.csv --answer vote
"$holdfast" train --data visits.h5 "${common[@]}" --out by-radius --set training.kind=convex --set features.norm_limit=1 --set training.learning_rate=0.5 > /dev/null || fail "not trained"
for unit in vote mean; do
    "$holdfast" certify --run by-radius --queries visits.h5:test --answer $unit > said.txt || fail "no $unit by radius"
    grep -q "(of $test_persons queries)" said.txt || fail "certify by radius does not count persons by $unit: $(cat said.txt)"
    mpirun -n 3 "$holdfast" certify --run by-radius --queries visits.h5:test --answer $unit > three.txt 2> err.txt || fail "no $unit on three ranks: $(cat err.txt)"
    cmp -s said.txt three.txt || fail "another $unit on three ranks"
done

# 9. A network for everybody, without all their rows.
"$holdfast" fleet --data visits.h5 --out fleet --set network.hidden=[3] --set training.epochs=2 --records 6 --quiet > said.txt || fail "no fleet"
grep -q 'trained 7 networks' said.txt || fail "not a network a person: $(cat said.txt)"
"$holdfast" fleet --data visits.h5 --out plain-fleet --set network.hidden=[3] --set training.epochs=2 --set clip.kind=none --records 6 --quiet > /dev/null || fail "no fleet without a clip"
"$holdfast" fleet --data visits.h5 --out fleet-after --set network.hidden=[3] --set training.epochs=2 --set training.clip_rows=after --set clip.gamma=0.01 --records 2 --quiet > said.txt || fail "no fleet of rows clipped after"
"$holdfast" influence --run fleet --queries visits.h5:test > /dev/null || fail "no influence"
refused 2 'no one answer of its own' "$holdfast" influence --run fleet --queries visits.h5:test --data visits.h5

# Records that count by their class: of 3% the other answer is learnt, on any number of ranks, and the run without one of them
# is that of training without it.
python3 - > rare.csv <<'PY'
import random
draw = random.Random(5)
print("id,a,b,y")
for i in range(4000):
    y = int(draw.random() < 0.03)
    print(f"{i},{draw.gauss(1.5 * y, 1):.4f},{draw.gauss(1.5 * y, 1):.4f},{y}")
PY
"$holdfast" import rare.csv --label y --id id --scale '*=-6:6' --expected-records 3000 --population rare --test-fraction 0.25 --out rare.h5 --quiet > /dev/null || fail "no rare table"
rare=(train --data rare.h5 --quiet --set "network.hidden=[]" --set network.input_shift=0.5 --set network.input_scale=2 --set training.epochs=10 --set certificate.levels=5 --set clip.gamma=0.02 --set training.learning_rate=3000)
balanced() { "$holdfast" evaluate --run "$1" --data rare.h5:test --epsilon 1 --quiet | sed -n 's/.*balanced accuracy //p'; }
"$holdfast" "${rare[@]}" --out common > /dev/null && "$holdfast" "${rare[@]}" --set "training.class_weights=[0.03,1]" --out weighed > /dev/null || fail "no training by class"
[[ $(balanced common) < 0.55 && $(balanced weighed) > 0.75 ]] || fail "balanced accuracy $(balanced common), by class $(balanced weighed)"
mpirun -n 2 "$holdfast" "${rare[@]}" --set "training.class_weights=[0.03,1]" --out shared > /dev/null && cmp -s weighed/boxes.h5 shared/boxes.h5 || fail "by class, another run on two ranks"
echo 7 > seven
"$holdfast" unlearn --run weighed --data rare.h5 --ids seven --out seldom --out-data seldom.h5 --quiet > /dev/null && "$holdfast" verify seldom --data seldom.h5 --retrain --quiet > /dev/null || fail "by class, no run without a record"

exit $((failures > 0))
