#!/usr/bin/env bash
# unlearn_slices.sh HOLDFAST: members go on from the last state that no forgotten record has touched, to the bytes, states and
# all, of a training that never had the records; a state that is damaged or not of its step is passed over.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

table() { # FIRST LAST: all but the ids in the file "gone"
    echo id,a,b,y
    awk -v first="$1" -v last="$2" 'BEGIN {
        while ((getline line < "gone") > 0) gone[line] = 1
        for (i = first; i <= last; ++i)
            if (!(i in gone)) print i "," (i * 37 % 101) / 101 "," (i * 53 % 97) / 97 "," (i * 37 % 101 / 101 + i * 53 % 97 / 97 + (i % 7 == 0 ? 0.4 : 0) > 1)
    }'
}
imported() { # OUT: the people 1 to 300
    table 1 300 > "$1.csv"
    "$holdfast" import "$1.csv" --label y --id id --population people --expected-records 300 --out "$1.h5" --quiet > /dev/null || fail "cannot import $1"
}
: > gone
imported all
base=(--set network.hidden=[6] --set training.epochs=2 --set training.batches=12 --set certificate.levels=4 --set ensemble.members=2)
train() { "$holdfast" train --quiet "${base[@]}" "$@" > /dev/null 2> err.txt || fail "cannot train $*: $(cat err.txt)"; }
unlearn() { "$holdfast" unlearn "$@"; }
same() { # WORDS RUN FRESH
    for file in boxes.h5 metrics.jsonl fingerprint; do cmp -s "$2/$file" "$3/$file" || fail "$1: $file is not that of a fresh training"; done
}
same_states() { # WORDS RUN FRESH: and what is kept of the way there
    same "$@"
    diff -r "$2/states" "$3/states" > diff.txt || fail "$1: states are not those of a fresh training: $(head -n 3 diff.txt)"
}
forgotten() { printf '%s\n' "$@" > gone; }
from() { # RUN DATA ID…: the steps that members would go on from
    printf '%s\n' "${@:3}" > asked
    unlearn --quiet --run "$1" --data "$2.h5" --ids asked --json | grep -o '"from_steps":\[[0-9,]*\]' | grep -o '\[.*\]' | tr -d '[]'
}

# 1. States stand before the parts of the first epoch alone, and say nothing of the result.
train --data all.h5 --out run --slices 4
train --data all.h5 --out plain
same "slices change a result" run plain
[ ! -e plain/states ] && [ "$(cd run/states && ls -d */* | xargs)" = "0/3 0/6 0/9 1/3 1/6 1/9" ] || fail "the states are $(cd run/states && ls -d */* | xargs)"
[ -z "$(find run -type f -perm /077)" ] || fail "others may read $(find run -type f -perm /077)"
early='' late='' later=''
for ((id = 1; id <= 60; ++id)); do
    case "$(from run all $id)" in 0) early=$id ;; 6) late=$id ;; 9) later=$id ;; esac
done
[ "$early" ] && [ "$late" ] && [ "$later" ] || fail "no ids of an early and a late slice: $early, $late, $later"
[ "$(from plain all $late)" = 0 ] || fail "a run without states goes on from one"

# 2. One id, several, of several slices; what is said and logged.
forgets() { # WORDS RUN DATA OPTIONS… -- ID…: into WORDS-new, against WORDS-fresh
    local name=$1 run=$2 data=$3 options=()
    shift 3
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    printf '%s\n' "$@" > asked
    "$holdfast" unlearn --run "$run" --data "$data.h5" --ids asked "${beside[@]}" --out "$name-new" --out-data "$name-new.h5" --json > said.json 2> log.txt || fail "$name: $(cat log.txt)"
    rm -rf "$name-fresh" && train --data "$name-new.h5" --slices 4 "${beside[@]}" "${options[@]}" --out "$name-fresh"
    same_states "$name" "$name-new" "$name-fresh"
    "$holdfast" verify "$name-new" --data "$name-new.h5" "${beside[@]}" --quiet > verified.txt 2>&1 || fail "$name: $(cat verified.txt)"
}
beside=()
forgets later run all -- $later
grep -q '"from_steps":\[9\]' said.json && grep -q 'member [01] goes on from step 9 of 24' log.txt || fail "one id: $(cat said.json log.txt)"
forgets both run all -- $later $late $early
grep -qE '"from_steps":\[(0|0,[69]|[69],0)\]' said.json || fail "three ids: $(cat said.json)"
forgets two run all -- $later $late
unlearn --quiet --run run --data all.h5 --ids asked > said.txt && grep -qE 'anew, but for the first (6|15) of their (24|48) steps' said.txt || fail "says $(cat said.txt)"

# 3. Again: from the run that forgot, by its states; on two ranks; and from a run that two ranks trained.
forgets again later-new later-new -- $late
grep -q '"from_steps":\[6\]' said.json || fail "a second request: $(cat said.json)"
printf '%s\n' "$late" > asked
mpirun -n 2 "$holdfast" unlearn --quiet --run later-new --data later-new.h5 --ids asked --out ranks-new --out-data ranks-new.h5 > /dev/null 2> err.txt || fail "two ranks: $(cat err.txt)"
same "two ranks" ranks-new again-fresh
mpirun -n 2 "$holdfast" train --quiet "${base[@]}" --data all.h5 --slices 4 --set run.grid=1x2x1 --out levels > /dev/null 2> err.txt || fail "levels on two ranks: $(cat err.txt)"
printf '%s\n' "$later" > asked
unlearn --run levels --data all.h5 --ids asked --out levels-new --out-data levels-new.h5 > /dev/null 2> log.txt || fail "from two ranks: $(cat log.txt)"
grep -q 'goes on from step 9' log.txt || fail "from two ranks: $(cat log.txt)"
same "from two ranks" levels-new later-fresh

# 4. Other trainings: each goes on from where the plain one does, as ids decide alone.
table 1 30 > open.csv
"$holdfast" import open.csv --label y --id id --population open --out open.h5 --quiet > /dev/null || fail "no public records"
other() { # NAME OPTIONS…
    train --data all.h5 --slices 4 "${beside[@]}" "${@:2}" --out "$1"
    forgets "$1" "$1" all "${@:2}" -- $later $late
    grep -qE '"from_steps":\[(6|6,9|9,6)\]' said.json || fail "$1: $(cat said.json)"
}
other single --set training.precision=single
other momentum --set training.momentum=0.5 --set training.l2=0.1 --set training.epochs=1
other batch --set certificate.budget=per_batch --set certificate.relation=substitute --set training.momentum=0.4
other budgets --set certificate.budget=both --set certificate.relation=remove
other actual --set training.normalise=actual --set certificate.budget=per_batch --set certificate.relation=remove
dense=("${base[@]}") && base=(--set 'network.layers=["dense 6","relu","dropout 0.3"]' "${base[@]:2}")
other dropout --set training.learning_rate_decay=0.1
base=("${dense[@]}")
convex=(--set training.kind=convex --set network.hidden=[] --set features.norm_limit=1 --set training.learning_rate=1 --set convex.average=0.9)
other convex "${convex[@]}"
beside=(--public open.h5)
other public
other rows --set training.public_batch_size=3 --set training.public_steps=2
beside=()
train --data all.h5 --slices 4 --keep-states 3 --out checked
printf '%s\n' "$later" > asked
unlearn --quiet --run checked --data all.h5 --ids asked --out checked-new --out-data checked-new.h5 > /dev/null || fail "with steps to check"
train --data checked-new.h5 --slices 4 --keep-states 3 --out checked-fresh
same_states "with steps to check" checked-new checked-fresh
"$holdfast" verify checked-new --data checked-new.h5 --quiet > verified.txt && [ "$(grep -c 'comes to' verified.txt)" -ge 6 ] || fail "with steps to check: $(cat verified.txt)"
# Sequential batches: all behind a row move; a row behind the last batch is in none.
published=(--set training.batching=sequential --set training.batch_size=24 --set ensemble.members=1)
train --data all.h5 --slices 4 "${published[@]}" --out sequential
forgets sequential sequential all "${published[@]}" -- 240 290
grep -q '"from_steps":\[9\]' said.json || fail "sequential: $(cat said.json)"
forgets behind sequential all "${published[@]}" -- 290 295
grep -q '"retrained":\[\]' said.json || fail "behind the last batch: $(cat said.json)"
# Without a stated count, B may change: then nothing of the run is used.
table 1 300 > counted.csv
"$holdfast" import counted.csv --label y --id id --population people --out counted.h5 --quiet > /dev/null
train --data counted.h5 --slices 4 --out counted
tail -n +2 all.csv | cut -d, -f1 | head -n 20 > many
forgets rescaled counted counted -- $(cat many)
grep -q '"from_steps":\[0,0\]' said.json || fail "another normaliser: $(cat said.json)"

# 5. A state that is damaged, missing, of another step, member or run: an earlier one, or none.
printf '%s\n' "$later" > asked
owner=$(unlearn --quiet --run run --data all.h5 --ids asked --json | grep -o '"retrained":\[[01]\]' | grep -o '[01]')
instead() { # WORDS STEP: goes on from this one
    rm -rf torn-new torn-new.h5
    unlearn --run torn --data all.h5 --ids asked --out torn-new --out-data torn-new.h5 --json > said.json 2> log.txt || fail "$1: $(cat log.txt)"
    grep -q "\"from_steps\":\[$2\]" said.json && grep -q 'an earlier state is used' log.txt || fail "$1: $(cat said.json log.txt)"
    same "$1" torn-new later-fresh
}
torn() { rm -rf torn && cp -a run torn && state=torn/states/$owner; }
torn && printf 'x' | dd of=$state/9/1/part-0 bs=1 seek=900 conv=notrunc status=none && instead "a changed byte" 6
torn && truncate -s -1 $state/9/1/part-0 && instead "a torn state" 6
torn && rm $state/9/1/part-0 && instead "a missing part" 6
torn && rm $state/9/1/files $state/6/1/part-0 && instead "two damaged" 3
torn && rm $state/9/1/files $state/6/1/part-0 $state/3/1/files && instead "all damaged" 0
torn && rm -r $state/9 && cp -a torn/states/$((1 - owner))/9 $state/9 && instead "another member's" 6
torn && rm -r $state/6 && mv $state/9 $state/6 && (cd $state && mkdir 9 && cp -a 3/1 9/1) && instead "other steps'" 3
torn && cp -a batch/states torn/ && instead "another run's" 0
torn && rm -r torn/states && rm -rf torn-new torn-new.h5 && unlearn --quiet --run torn --data all.h5 --ids asked --out torn-new --out-data torn-new.h5 > /dev/null && same "no states" torn-new later-fresh

# 6. Killed at any instant, the same command goes on.
kill_ever_later 5000 "$holdfast" unlearn --quiet --run run --data all.h5 --ids asked --out killed --out-data killed.h5
same "killed" killed later-fresh
[ "$(cd killed/states && ls -d */* | xargs)" = "0/3 0/6 0/9 1/3 1/6 1/9" ] || fail "killed: the states are $(cd killed/states && ls -d */* | xargs)"
"$holdfast" verify killed --data killed.h5 --quiet > verified.txt || fail "killed: $(cat verified.txt)"

# 7. What cannot be gone on from is not kept.
refused() { # WORDS PATTERN COMMAND…
    "${@:3}" > out.txt 2> err.txt
    [ $? = 2 ] && grep -q -- "$2" err.txt || fail "$1: $(cat out.txt err.txt)"
}
refused "removals" '--slices: ' "$holdfast" train --quiet "${base[@]}" --data all.h5 --slices 4 "${convex[@]}" --set certificate.relation=remove --out none
"$holdfast" account --quiet --ledger none.db --data all.h5 --budget 3 --budget-delta 1e-4 > /dev/null
refused "noise" '--slices: ' "$holdfast" train --quiet --data all.h5 --slices 4 --set training.kind=noisy --set clip.kind=norm --ledger none.db --out none
refused "records held out" '--validation: ' "$holdfast" train --quiet "${base[@]}" --data all.h5 --slices 4 --validation all.h5 --out none

((failures == 0)) && echo "slices as documented"
exit $((failures > 0))
