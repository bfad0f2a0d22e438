#!/usr/bin/env bash
# advise.sh HOLDFAST: advice follows from public numbers and public records alone, is the same every time, and is a
# configuration that train takes; it leaves nothing behind.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
mkdir tmp
export TMPDIR=$scratch/tmp
# expect CODE WORDS COMMAND…: exits so, saying so.
expect() {
    local code=$1 words=$2
    shift 2
    "$@" >out.txt 2>err.txt
    local status=$?
    ((status == code)) || fail "exit $status for $code: $* ($(<err.txt))"
    grep -q -e "$words" err.txt || fail "$*: \"$words\" is not in: $(<err.txt)"
}
valued() { python3 -c "import json, sys; said = json.load(open('$1')); print($2)"; } # FILE EXPRESSION, of the object `said`

# The same twice, and what --out holds is what --json says.
advise=("$holdfast" advise --records 600 --features 5 --epsilon 1 --quiet)
"${advise[@]}" --queries 20 --out a.toml --json >a.json || fail "no advice"
"${advise[@]}" --queries 20 --out b.toml --json >b.json || fail "no advice again"
cmp -s a.json b.json && cmp -s a.toml b.toml || fail "other advice at the second time"
[[ $(valued a.json "said['configuration'] == open('a.toml').read()") == True ]] || fail "a.toml is not what was advised"
[[ $(valued a.json "sorted(said['configurations'])") == "['boxes', 'convex', 'noisy', 'votes']" ]] || fail "kinds: $(<a.json)"
[[ $(valued a.json "sorted({key for row in said['routes'] for key in row['accuracy']})") == "['1', '100', '10000', '20', 'any']" ]] ||
    fail "answers: $(<a.json)"
[[ -z $(ls -A tmp) ]] || fail "left behind: $(ls -A tmp)"
[[ $(stat -c %a tmp) == 755 ]] || fail "the folder of temporary files was changed"
# Of those by answers and the noisy model of the least log-loss the most accurate; another published one by 2 points.
best=$(valued a.json "max([(row['accuracy']['20'] - 0.02 * (row['route'] == 'published'), row['accuracy']['20']) for row in said['routes'] if 'log_loss' not in row]
    + [min((row['log_loss'], (row['accuracy']['20'],) * 2) for row in said['routes'] if 'log_loss' in row)[1]])[1] == said['advised']['accuracy']")
[[ $best == True ]] || fail "another one is better: $(<a.json)"

# Any number of answers: a published model, which train takes as it is, at the public number and the whole budget.
"${advise[@]}" --kind noisy --relation substitute --delta 1e-6 --out any.toml >words || fail "no advice for any number"
grep -q 'Advised: noisy' words || fail "no model for any number of answers: $(<words)"
grep -q 'Expect from 0' words || fail "no forecast: $(<words)"
"$holdfast" synth tabular --records 600 --test 50 --features 5 --out table.h5 --quiet >/dev/null || fail "synth"
"$holdfast" account --ledger ledger.db --data table.h5 --budget 1 --budget-delta 1e-6 --relation substitute --quiet >/dev/null || fail "account"
"$holdfast" train --config any.toml --data table.h5 --ledger ledger.db --out run --quiet >said 2>&1 || fail "train refuses any.toml: $(<said)"
grep -q 'cost epsilon 1, delta 1e-06' said || fail "another cost: $(<said)"
[[ $(valued run/manifest.json "said['configuration']['training.expected_records'], said['relation']") == "600 substitute" ]] ||
    fail "another number or relation"
for kind in votes boxes convex; do
    valued a.json "said['configurations']['$kind']" >$kind.toml
    "$holdfast" train --config $kind.toml --data table.h5 --out $kind --quiet >said 2>&1 || fail "train refuses $kind: $(<said)"
done

# A stand-in decides, the public numbers being the same: only bins can tell whether a column lies in the middle, and a slope
# with random answers is best told by the columns themselves. The trend of bins tells a straight border as well as columns.
awk 'BEGIN { srand(1); print "a,b,y"
    for (i = 0; i < 3000; ++i) { a = rand(); b = rand(); print a "," b "," (a > 0.25 && a < 0.75) } }' >middle.csv
awk 'BEGIN { srand(1); print "a,b,y"
    for (i = 0; i < 600; ++i) { a = rand(); b = rand(); print a "," b "," (a + b > 1) } }' >sum.csv
awk 'BEGIN { srand(1); print "a,b,y"
    for (i = 0; i < 3000; ++i) { a = rand(); b = rand(); print a "," b "," (rand() < 1 / (1 + exp(8 - 8 * (a + b)))) } }' >slope.csv
for table in middle sum slope; do
    "$holdfast" import $table.csv --label y --scale '*=0:1' --out $table.h5 --population public --quiet >/dev/null || fail "import $table"
done
like=("$holdfast" advise --features 2 --json --quiet)
for table in middle slope; do
    "${like[@]}" --kind noisy --records 300 --epsilon 1 --like $table.h5 >$table.json || fail "--like $table.h5"
done
[[ $(valued middle.json "'bins' in said['advised']['candidate'] and said['advised']['accuracy'] > 0.85") == True ]] || fail "middle: $(<middle.json)"
"${like[@]}" --records 300 --like sum.h5 --epsilon 0.3 >sum.json || fail "--like sum.h5"
[[ $(valued slope.json "said['advised']['candidate']") == "noisy, columns" ]] || fail "slope: $(<slope.json)"
losses="{row['candidate']: row['log_loss'] for row in said['routes'] if 'log_loss' in row}"
[[ $(valued sum.json "said['advised']['kind'] == 'noisy' and (lambda loss: loss['noisy, fine bins'] < loss['noisy, columns'] + 0.02)($losses)") == True ]] ||
    fail "sum: $(<sum.json)"

# What is forecast comes, within .05: of an easy table, and of one as good as chance.
within() { # FILE EXPECTED_RECORDS FEATURES
    "$holdfast" advise --kind noisy --records "$2" --features "$3" --epsilon 1 --force --out own.toml --json --quiet >own.json || fail "advice for $1"
    rm -rf own.ledger own
    "$holdfast" account --ledger own.ledger --data "$1" --budget 1 --budget-delta 1e-5 --quiet >/dev/null &&
        "$holdfast" train --config own.toml --data "$1" --ledger own.ledger --out own --quiet >/dev/null 2>&1 &&
        "$holdfast" evaluate --run own --data "$1:test" --json --quiet >evaluated.json || fail "no model of $1"
    python3 - "$1" <<'END' || fail "forecast of $1"
import json, sys
lowest, highest = json.load(open("own.json"))["advised"]["expected_accuracy"]
quality = json.load(open("evaluated.json"))["quality"]
assert lowest - 0.05 <= quality["accuracy"] <= highest + 0.05, (lowest, highest, quality)
assert 0 <= quality["brier"] <= quality["log_loss"], quality
END
}
awk 'BEGIN { srand(5); printf "number"; for (j = 0; j < 20; ++j) printf ",m" j; print ",ill"
    for (i = 0; i < 1600; ++i) { state = rand(); printf "%d", i
        for (j = 0; j < 20; ++j) printf ",%.3f", (state + rand() / 4) / 1.25
        print "," (state > 0.55) } }' >easy.csv
awk 'BEGIN { srand(6); print "number,a,b,c,d,y"; for (i = 0; i < 1600; ++i) print i "," rand() "," rand() "," rand() "," rand() "," (rand() < 0.3) }' >chance.csv
for table in easy:ill:20 chance:y:4; do
    IFS=: read -r name label features <<<"$table"
    "$holdfast" import $name.csv --label $label --id number --scale '*=0:1' --test-fraction 0.5 --expected-records 800 --population $name \
        --out $name.h5 --quiet >/dev/null || fail "import $name"
    within $name.h5 800 "$features"
done

# A table a hundred times as large as its stand-in: less noise, and the longer distances of more members.
"${like[@]}" --records 60000 --like sum.h5 --epsilon 0.3 --queries 100 >large.json || fail "a large table"
[[ $(valued large.json "said['stand_in']['records']") == 450 ]] || fail "stand-in: $(<large.json)"
more=$(python3 -c "
import json
small, large = ({row['candidate'] + row['route']: row['accuracy']['100'] for row in json.load(open(name))['routes']} for name in ('sum.json', 'large.json'))
print(large['noisy, columnsnoisy'] > small['noisy, columnsnoisy'] and large['votes, columnsstable_rr'] > small['votes, columnsstable_rr'] + 0.1)")
[[ $more == True ]] || fail "more records serve no better: $(<sum.json) $(<large.json)"

# A pure budget of one answer about coordinates: one step in boxes, whose levels cost nothing, and no model with noise.
"$holdfast" advise --records 2000 --features 10 --columns coordinates --epsilon 0.005 --delta 0 --queries 1 --out pure.toml --json --quiet >pure.json || fail "pure"
[[ $(valued pure.json "said['advised']['candidate'], sorted(said['configurations'])") == "boxes, one step, columns ['boxes', 'convex', 'votes']" ]] || fail "pure: $(<pure.json)"
grep -q '^levels = 2000' pure.toml && grep -q '^epochs = 1' pure.toml || fail "pure: $(<pure.toml)"

# Of classes whose shares are known each counts alike: without, a small clip counts labels, and all answers are the common one.
awk 'BEGIN { srand(7); print "number,a,b,c,y"; for (i = 0; i < 4000; ++i) { a = rand(); b = rand()
    print i "," a "," b "," rand() "," (a + b + rand() / 4 > 1.85) } }' >rare.csv
"$holdfast" import rare.csv --label y --id number --scale '*=0:1' --test-fraction 0.25 --expected-records 3000 --out rare.h5 --quiet >/dev/null ||
    fail "import rare"
rare=("$holdfast" advise --kind boxes --records 3000 --features 3 --epsilon 0.1 --delta 0 --queries 1 --json --quiet)
balanced() { # NAME OPTIONS…: the balanced accuracy of what is advised so, on the table itself
    local name=$1
    shift
    "${rare[@]}" "$@" --out $name.toml >$name.json && "$holdfast" train --config $name.toml --data rare.h5 --out $name --quiet >/dev/null 2>&1 &&
        "$holdfast" certify --run $name --queries rare.h5:test --quiet >/dev/null &&
        "$holdfast" evaluate --run $name --data rare.h5:test --epsilon 0.1 --json --quiet >$name.evaluated || fail "$name: no model of rare.h5"
    valued $name.evaluated "said['quality']['balanced_accuracy']"
}
[[ $(balanced unknown) == 0.5 ]] || fail "the rare class is told without weights: weights are not what is tested"
[[ $(balanced known --class-shares 0.95,0.05) > 0.75 ]] || fail "the rare class: $(<known.evaluated)"
grep -q '^class_weights = \[0.0526' known.toml || fail "weights: $(<known.toml)"
[[ $(valued known.json "said['advised']['balanced_accuracy'] > 0.55") == True ]] || fail "forecast: $(<known.json)"

# Several classes, coordinates.
"$holdfast" advise --records 3000 --features 4 --classes 3 --columns coordinates --epsilon 1 --queries 1 --out three.toml --quiet >/dev/null || fail "three classes"
grep -q '^classes = 3' three.toml || fail "three classes: $(<three.toml)"

# What is refused, and where.
expect 2 '--epsilon' "${like[@]}" --records 9 --epsilon 0
expect 2 '--epsilon' "${like[@]}" --records 9 --epsilon nan
expect 2 '--delta' "${like[@]}" --records 9 --delta 0.5 --epsilon 1
expect 2 '--records' "${like[@]}" --records 0 --epsilon 1
expect 2 '--classes' "${like[@]}" --records 9 --classes 0 --epsilon 1
expect 2 '--class-shares' "${like[@]}" --records 9 --class-shares 0.5,0.4 --epsilon 1
expect 2 '--class-shares' "${like[@]}" --records 9 --class-shares 1 --epsilon 1
expect 2 '--class-shares' "${like[@]}" --records 9 --class-shares nan,1 --epsilon 1
expect 2 '--class-shares' "${like[@]}" --records 9 --classes 1 --class-shares 1 --epsilon 1
expect 2 '--queries' "${like[@]}" --records 9 --queries -1 --epsilon 1
expect 2 '--features' "$holdfast" advise --records 9 --features 0 --epsilon 1
expect 2 '--relation' "${like[@]}" --records 9 --relation remove --epsilon 1
expect 2 '--columns' "${like[@]}" --records 9 --columns words --epsilon 1
expect 3 'but --features 3' "$holdfast" advise --records 9 --features 3 --epsilon 1 --like sum.h5
expect 3 'missing.h5' "${like[@]}" --records 9 --like missing.h5 --epsilon 1
"$holdfast" synth blobs --records 5 --test 0 --out five.h5 --quiet >/dev/null
expect 3 'only 5 records' "$holdfast" advise --records 9 --features 6 --epsilon 1 --like five.h5
expect 4 'out.toml' "${like[@]}" --records 9 --out no/folder/out.toml --epsilon 1
TMPDIR=$scratch/missing expect 4 'TMPDIR' "${like[@]}" --records 9 --epsilon 1
[[ -z $(ls -A tmp) ]] || fail "left behind: $(ls -A tmp)"

((failures == 0)) && echo "advice as it should be"
