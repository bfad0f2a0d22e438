#!/usr/bin/env bash
# member_slices.sh HOLDFAST: jobs that train slices of an ensemble into one folder, one after the other, at once, stopped,
# killed and started again, come to the bytes of one undisturbed run; nobody touches a member that another has finished.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 2000 --test 50 --seed 5 --out blobs.h5 --quiet > /dev/null

train=(train --data blobs.h5 --set "network.hidden=[16,8]" --set certificate.levels=10 --set training.batches=2
       --set training.epochs=15 --set training.expected_records=2000 --set ensemble.members=5 --quiet)
slice() { "$holdfast" "${train[@]}" --out "$1" --members "$2" "${@:3}"; }
slow() { exec "$holdfast" "${train[@]}" --out "$1" --members "$2" --set run.backend=reference --set run.checkpoint_steps=1; }
digest() { grep -o '^ "digest": "[0-9a-f]*"' "$1/manifest.json"; }
members() { (cd "$1/members" && stat -c '%n %i %Y' -- *); }
# same RUN WORDS: its result is that of the undisturbed run, and nothing else is left.
same() {
    [ "$(digest "$1")" = "$(digest whole)" ] || fail "$2: other boxes"
    cmp -s "$1/metrics.jsonl" whole/metrics.jsonl || fail "$2: other metrics"
    [ "$(ls -A "$1")" = "$(ls -A whole)" ] || fail "$2: left behind: $(ls -A "$1")"
}
# refused WORDS EXIT PATTERN COMMAND…
refused() {
    "${@:4}" > out.txt 2> err.txt
    [ $? = "$2" ] && grep -qE -- "$3" err.txt || fail "$1: $(cat out.txt err.txt)"
}
mpirun -n 2 "$holdfast" "${train[@]}" --out whole > /dev/null || fail "the undisturbed run"

# 1. One after the other, in any order and on any ranks; a slice twice does nothing; the last finishes the run.
slice turns 3:5 > out.txt || fail "the first slice"
grep -q '^trained 2 members; 2 of 5 are there' out.txt || fail "what a slice says: $(cat out.txt)"
refused "an unfinished run answers" 3 'no finished run.*--resume' "$holdfast" certify --quiet --run turns --queries blobs.h5
before=$(members turns)
slice turns 3:5 > out.txt && grep -q '^trained 0 members; 2 of 5' out.txt || fail "a slice twice: $(cat out.txt)"
mpirun -n 3 "$holdfast" "${train[@]}" --out turns --members 0:2 --set run.grid=1x3x1 > /dev/null || fail "a slice on three ranks"
[ "$(members turns | tail -n "$(wc -l <<< "$before")")" = "$before" ] || fail "a finished member was written again"
slice turns 2:3 > out.txt || fail "the last slice"
grep -q '^trained 5 members x 30 steps' out.txt || fail "the last slice does not finish the run: $(cat out.txt)"
same turns "slices in turn"
slice turns 2:3 > out.txt && grep -q '^trained 5 members x 30 steps' out.txt || fail "a slice of a finished run: $(cat out.txt)"
"$holdfast" "${train[@]}" --out turns --resume > /dev/null || fail "a finished run again"
same turns "a finished run again"

# 2. All at once.
for part in 0:1 1:3 3:5; do slice once $part > "once-${part%:*}.txt" 2>&1 & jobs+=($!); done
for job in "${jobs[@]}"; do wait "$job" || fail "slices at once: $(cat once-*.txt)"; done
same once "slices at once"

# Inside one job too, nobody waits for the members of others: with one of two ranks held still, the other trains all of its
# own, and the job ends as if nothing had been.
mpirun -n 2 "$holdfast" "${train[@]}" --out held --set run.backend=reference --set run.checkpoint_steps=5 > /dev/null 2> log.txt & launcher=$!
until [ "$(ls -d held/checkpoints/*/[0-9]* 2> /dev/null | wc -l)" -ge 2 ] || ! kill -0 $launcher 2> /dev/null; do sleep 0.01; done
rank=$(pgrep -P $launcher -x "$(basename "$holdfast" | cut -c1-15)" | tail -n 1)
kill -STOP "$rank"
trained() { ls "$1/members" 2> /dev/null | while IFS=- read -r _ first last; do seq "$((10#$first))" "$((10#$last))"; done | sort -n | tr '\n' ' '; }
own() { [[ $(trained held) = "0 1 " || $(trained held) = "2 3 4 " ]]; }
for ((waited = 0; waited < 600; ++waited)); do own && break; sleep 0.1; done
own || fail "a rank held still holds the other back: $(ls held/members)"
[ ! -e held/manifest.json ] || fail "finished without the rank that is held still"
kill -CONT "$rank"
wait $launcher || fail "held still and let go: $(cat log.txt)"
same held "held still and let go"

# 3. Two jobs that find every member there finish the run together.
slice joined 0:4 > /dev/null && slice other 4:5 > /dev/null || fail "slices of two folders"
cp other/members/* joined/members/
"$holdfast" "${train[@]}" --out joined --resume > /dev/null 2> first.txt & first=$!
"$holdfast" "${train[@]}" --out joined --resume > /dev/null 2> second.txt || fail "finishing together: $(cat second.txt)"
wait $first || fail "finishing together: $(cat first.txt)"
same joined "finished by two"

# 4. A slice that is killed, and one that is stopped, go on by the same command; a checkpoint holds the one member that
# moves, and the other slice's members stay as they are.
slice broken 0:3 > /dev/null || fail "the slice beside"
before=$(members broken)
for signal in KILL TERM; do
    (slow broken 3:5) > /dev/null 2> log.txt & job=$!
    kept=$(ls -d broken/checkpoints/*/[0-9]* 2> /dev/null)
    until [ "$(ls -d broken/checkpoints/*/[0-9]* 2> /dev/null)" != "$kept" ]; do kill -0 $job 2> /dev/null || { fail "finished before it was stopped: $(cat log.txt)"; break; }; sleep 0.01; done
    kill -$signal $job
    wait $job 2> /dev/null
    code=$?
    [ $signal = KILL ] || [ $code = 7 ] || fail "a slice stopped by SIGTERM ends with $code: $(cat log.txt)"
    [ "$(ls broken/checkpoints | wc -l)" = 1 ] || fail "checkpoints of $(ls broken/checkpoints)"
done
refused "another configuration" 2 'broken: .*another configuration' slice broken 3:5 --set training.learning_rate=0.5
refused "another slice of other data" 2 'broken: .*dataset' slice broken 3:5 --set training.seed=3
[ "$(members broken | head -n "$(wc -l <<< "$before")")" = "$before" ] || fail "another slice's members were touched"

# 5. A damaged member is found, named and trained again.
slice broken 3:4 > /dev/null || fail "a slice killed and stopped does not go on"
cp -r broken torn
slice broken 4:5 > /dev/null || fail "the last of it"
same broken "killed and stopped"
hit=$(ls -d torn/members/members-00000-*)
printf 'x' | dd of="$hit" bs=1 seek=5000 conv=notrunc status=none
refused "a changed byte" 3 'torn/members/members-00000-0000[0-9]: damaged.*delete it.*--resume' slice torn 4:5
truncate -s 3000 "$hit"
refused "a truncated file" 3 'torn/members/members-00000-0000[0-9]: damaged.*delete it.*--resume' slice torn 4:5
rm "$hit"
"$holdfast" "${train[@]}" --out torn --resume > /dev/null || fail "a member cannot be trained again"
same torn "a member trained again"

# 6. What is no slice.
for bad in 5:6 2:2 3:2 0:6 1 a:b 1: :3 0:2x -1:2; do refused "--members $bad" 2 '--members' slice new "$bad"; done
[ ! -e new ] || fail "a refusal made a folder"
mkdir foreign && touch foreign/thesis.txt
refused "a folder of something else" 4 'foreign: .*no run' slice foreign 0:1

((failures == 0)) && echo "slices as documented"
exit $((failures > 0))
