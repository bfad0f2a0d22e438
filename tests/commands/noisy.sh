#!/usr/bin/env bash
# noisy.sh HOLDFAST: noisy training as its owner meets it. It is charged before its first step and once, whatever stops
# it; a refusal leaves nothing behind; what is shown on the way does not depend on the records.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --records 400 --test 50 --seed 1 --out blobs.h5 --quiet > /dev/null || fail "no blobs"
world() { # FOLDER: the blobs of a population with an account
    mkdir -p "$1"
    cp blobs.h5 "$1/data.h5"
    "$holdfast" account --ledger "$1/ledger.db" --data "$1/data.h5" --budget 3 --budget-delta 1e-4 --quiet > /dev/null || fail "no account"
}
world a
noisy=(--set training.kind=noisy --set clip.kind=norm --set network.hidden=[8] --set training.batches=4 --set noise.multiplier=30 --quiet)
with() { "$holdfast" train --data "$1" --ledger "$2" "${noisy[@]}" "${@:3}"; } # DATA LEDGER OPTIONS…
train=(with a/data.h5 a/ledger.db)
spent() { "$holdfast" account --ledger "${1:-a/ledger.db}" --population "${2:-synthetic}" --json --quiet | python3 -c 'import json, sys; print(json.load(sys.stdin)["spent_epsilon"])'; }
# expect CODE WORDS COMMAND…: exits so, saying so, and charges nothing.
expect() {
    local code=$1 words=$2 before
    before=$(spent)
    shift 2
    "$@" > out.txt 2> err.txt
    local status=$?
    ((status == code)) || fail "exit $status for $code: $(cat err.txt)"
    grep -q -e "$words" err.txt || [[ -z $words ]] || fail "\"$words\" is not in: $(cat err.txt)"
    [[ $(spent) == "$before" ]] || fail "spent $(spent) after $before: $words"
}

# Bad input spends nothing and leaves nothing.
refused() {
    expect 2 "$1" "${train[@]}" --out refused "${@:2}"
    [[ -z $(ls -A refused 2> /dev/null) ]] || fail "a refused run left its folder: $1: $(ls refused)"
    rm -rf refused
}
refused 'clip.kind = "norm"' --set clip.kind=elementwise
refused 'noise.sampling_rate = 0.100006103515625' --set noise.sampling_rate=0.1
refused 'noise.sampling_rate = 0.3333282470703125' --set training.batches=3
refused 'ensemble.members = 1' --set ensemble.members=2
refused 'relation' --set certificate.relation=remove
refused 'batching' --set training.batching=sequential --set training.batch_size=9
refused 'costs epsilon' --set noise.multiplier=0.7
refused 'clip.norm_limit' --set training.precision=single --set network.hidden=[40000,40000]
refused 'more than is drawn' --set noise.multiplier=0 --set noise.epsilon=1e-10 --set noise.delta=1e-12
refused 'under substitute it would' --set certificate.relation=substitute
expect 2 'training.kind = "noisy"' "$holdfast" train --data a/data.h5 --out refused --set clip.kind=norm
expect 2 'noise.multiplier' "${train[@]}" --out refused --set noise.multiplier=-1
table() { echo id,a,b,y; for ((i = 1; i <= $1; ++i)); do echo "$i,0.$((i * 37 % 100)),0.$((i * 53 % 90)),$((i % 2))"; done; printf '%s\n' "${@:2}"; }
table 60 > base.csv
"$holdfast" import base.csv --label y --id id --population others --out others.h5 --quiet > /dev/null || fail "cannot import"
expect 2 'no such ledger' with a/data.h5 none.db --out refused
expect 2 'no ledger is named.*account --ledger a/data.ledger --data a/data.h5 --budget EPSILON; then --ledger a/data.ledger' "$holdfast" train --data a/data.h5 "${noisy[@]}" --out refused
expect 2 'public number' with others.h5 a/ledger.db --out refused
expect 2 'no population of the data' with others.h5 a/ledger.db --out refused --set training.expected_records=400
[[ -z $(ls -A refused 2> /dev/null) ]] || fail "a run that nobody pays for left a folder"

# Charged once, for the whole training; the key does not outlive it.
"${train[@]}" --out first > first.txt || fail "noisy training failed"
[[ $(spent) == 1 || $(spent) == 1.0 ]] || fail "one training cost $(spent)"
[[ ! -e first/key ]] || fail "the key outlived the training"
grep -q 'cost epsilon 1, delta 1e-05' first.txt || fail "the cost is not printed: $(cat first.txt)"
expect 0 '' "${train[@]}" --out first --resume
expect 2 'publish' "$holdfast" release --queries-are-public --run first --queries blobs.h5 --epsilon 1 --ledger a/ledger.db
"$holdfast" evaluate --run first --data blobs.h5 --epsilon 1 --quiet > /dev/null || fail "its owner cannot evaluate it"
expect 4 'first' "${train[@]}" --out first

# Without noise: for the owner, free, and not to be published.
expect 0 '' "$holdfast" train --data a/data.h5 --out plain "${noisy[@]}" --set noise.law=none
grep -q 'not differentially private' plain/manifest.json || fail "a training without noise claims privacy"

# Stopped in the middle: the key waits, going on costs nothing; without the key there is no going on.
slow=(--set training.epochs=400 --set run.checkpoint_steps=10 --set run.backend=reference --set noise.multiplier=60)
stop() { # SIGNAL FOLDER: the training is stopped at some time after its first checkpoint
    "$holdfast" train --data a/data.h5 --ledger a/ledger.db "${noisy[@]}" "${slow[@]}" --out "$2" > /dev/null 2> stop.txt &
    local pid=$!
    until compgen -G "$2/checkpoints/*/[0-9]*" > /dev/null; do
        kill -0 $pid 2> /dev/null || { fail "finished too early: $(cat stop.txt)" && stopped=; return; }
        sleep 0.01
    done
    kill "-$1" $pid
    wait $pid 2> /dev/null
    stopped=$?
}
stop TERM run
((stopped == 7)) || fail "stopped by a signal with exit $stopped"
[[ $(stat -c %a run/key) == 600 ]] || fail "the key is not its owner's alone"
[[ $(spent) == 2 || $(spent) == 2.0 ]] || fail "two trainings cost $(spent)"
cp -a run lost
rm lost/key
expect 3 'key of this run is gone' "${train[@]}" "${slow[@]}" --out lost --resume
cp -a run open
chmod 644 open/key
expect 3 'key' "${train[@]}" "${slow[@]}" --out open --resume
"$holdfast" synth blobs --records 400 --test 50 --seed 2 --out other.h5 --quiet > /dev/null
cp -a run other
expect 2 'other' with other.h5 a/ledger.db "${slow[@]}" --out other --resume
expect 2 'run' "${train[@]}" "${slow[@]}" --out other --resume --set noise.multiplier=61
expect 0 '' "${train[@]}" "${slow[@]}" --set run.backend=cpu --out run --resume
[[ -e run/manifest.json && ! -e run/key ]] || fail "it did not go on"
stop KILL killed
[[ $(spent) == 3 || $(spent) == 3.0 ]] || fail "three trainings cost $(spent)"
expect 0 '' "${train[@]}" "${slow[@]}" --set run.backend=cpu --out killed --resume

# The budget is gone: refused, with nothing left behind.
expect 6 'epsilon' "${train[@]}" --out refused
[[ -z $(ls -A refused 2> /dev/null) ]] || fail "a refused training left its folder: $(ls refused)"

# Two trainings race for what only one can have.
world race
for racer in 1 2; do
    "$holdfast" train --data race/data.h5 --ledger race/ledger.db "${noisy[@]}" --set noise.epsilon=2 --out race/$racer > /dev/null 2>&1 &
    racers[racer]=$!
done
codes=
for racer in 1 2; do
    wait "${racers[racer]}"
    codes+="$? "
done
[[ $codes == '0 6 ' || $codes == '6 0 ' ]] || fail "two trainings for one budget ended with $codes"
[[ $(spent race/ledger.db) == 2 || $(spent race/ledger.db) == 2.0 ]] || fail "the race cost $(spent race/ledger.db)"

# Killed after the charge, before the first step: the key is there, and the training is still to be had.
world early
"$holdfast" train --data early/data.h5 --ledger early/ledger.db "${noisy[@]}" "${slow[@]}" --out early/run > /dev/null 2>&1 &
pid=$!
until [[ -e early/run/key ]]; do kill -0 $pid 2> /dev/null || break; done
kill -KILL $pid 2> /dev/null
wait $pid 2> /dev/null
"$holdfast" train --data early/data.h5 --ledger early/ledger.db "${noisy[@]}" "${slow[@]}" --set run.backend=cpu --out early/run --resume > /dev/null 2> err.txt || fail "cannot go on after the charge: $(cat err.txt)"
[[ $(spent early/ledger.db) == 1 || $(spent early/ledger.db) == 1.0 ]] || fail "killed and resumed, it cost $(spent early/ledger.db)"

# What is shown does not depend on the records: exit code, words, sizes of what is left, the ledger's.
seen() { # FOLDER CSV
    mkdir -p "$1"
    "$holdfast" import "$2" --label y --id id --population people --expected-records 60 --out "$1/data.h5" --quiet > /dev/null || fail "cannot import $2"
    "$holdfast" account --ledger "$1/ledger.db" --data "$1/data.h5" --budget 3 --budget-delta 1e-4 --quiet > /dev/null
    "$holdfast" train --data "$1/data.h5" --ledger "$1/ledger.db" "${noisy[@]:0:${#noisy[@]}-1}" --out "$1/run" --set training.epochs=5 > "$1/out.txt" 2> "$1/err.txt"
    echo "exit $?"
    sed -E "s|$1|WORLD|g; s/noisy [0-9a-f]{16}/noisy DIGEST/" "$1/out.txt" "$1/err.txt"
    stat -c '%n %s' "$1/ledger.db" "$1/run/boxes.h5" | sed "s|$1|WORLD|"
}
table 59 > less.csv
table 60 61,1e308,-1e308,1 > huge.csv
table 3 > few.csv
expected=$(seen base base.csv)
[[ $expected == 'exit 0'* ]] || fail "not trained: $expected"
for neighbour in less huge few; do
    shown=$(seen $neighbour $neighbour.csv)
    [[ $shown == "$expected" ]] || fail "$neighbour shows itself: $(diff <(echo "$expected") <(echo "$shown"))"
done

((failures == 0)) && echo "noisy training is charged once, and shows nothing of its records"
exit $((failures > 0))
