#!/usr/bin/env bash
# lost_rank.sh HOLDFAST: one of three ranks is killed in the middle of a step. The job ends with a nonzero code and no
# finished run; its last checkpoint is whole, and --resume gives the digest of an undisturbed run, on any ranks.
set -euo pipefail
holdfast=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 2000 --test 50 --seed 5 --out blobs.h5 --quiet > /dev/null
fail() {
    echo "$victim of 3 killed: $*"
    exit 1
}

# The reference backend gives the same bytes slowly enough to be caught in the middle.
train=("$holdfast" train --data blobs.h5 --set network.hidden=[16,8] --set certificate.levels=10 --set training.batches=2
       --set training.epochs=30 --set training.expected_records=2000 --set ensemble.members=2 --quiet)
slow=(--set run.backend=reference --set run.checkpoint_steps=1)
digest() { grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json"; }
newest() { ls -d "$1"/checkpoints/*/[0-9]* 2> /dev/null | sort -V | tail -n 1 || true; }
"${train[@]}" --out undisturbed > /dev/null

for victim in 1 2 3; do
    run=lost-$victim
    mpirun -n 3 "${train[@]}" "${slow[@]}" --out "$run" > /dev/null 2> "$run.log" &
    launcher=$!
    until [ -n "$(newest "$run")" ]; do
        kill -0 $launcher 2> /dev/null || fail "finished before its first checkpoint: $(cat "$run.log")"
        sleep 0.01
    done
    kill -KILL "$(pgrep -P $launcher -x "$(basename "$holdfast" | cut -c1-15)" | sed -n "${victim}p")"
    code=0
    timeout 60 tail --pid=$launcher -f /dev/null || fail "the others wait for it forever"
    wait $launcher || code=$?
    [ $code -ne 0 ] || fail "the job reports success"
    [ ! -e "$run/manifest.json" ] || fail "left a finished run"
    ! "$holdfast" certify --quiet --run "$run" --queries blobs.h5 > /dev/null 2>&1 || fail "the unfinished run answers"
    [ -n "$(newest "$run")" ] || fail "left no checkpoint"

    "${train[@]}" --out "$run" --resume > /dev/null 2> resume.log || fail "cannot be resumed: $(cat resume.log)"
    [ "$(digest "$run")" = "$(digest undisturbed)" ] || fail "the resumed run differs"
    cmp -s "$run/metrics.jsonl" undisturbed/metrics.jsonl || fail "the resumed run's metrics differ"
    [ "$(ls -A "$run")" = "$(ls -A undisturbed)" ] || fail "left behind: $(ls -A "$run")"
done
# One that is stopped is missed, and named.
victim="one stopped"
mpirun -n 3 "${train[@]}" "${slow[@]}" --set run.stall_seconds=3 --out stopped > /dev/null 2> stopped.log &
launcher=$!
until [ -n "$(newest stopped)" ]; do
    kill -0 $launcher 2> /dev/null || fail "finished before its first checkpoint: $(cat stopped.log)"
    sleep 0.01
done
kill -STOP "$(pgrep -P $launcher -x "$(basename "$holdfast" | cut -c1-15)" | sed -n 2p)"
code=0
timeout 60 tail --pid=$launcher -f /dev/null || fail "the others wait for it forever"
wait $launcher || code=$?
[ $code -eq 8 ] || fail "the job ends with $code: $(cat stopped.log)"
grep -q "no rank got any further for 3 s, and no sign of life comes from rank" stopped.log || fail "$(cat stopped.log)"
# One that never comes to the start of MPI is missed there.
victim="one that never starts"
code=0
timeout 120 mpirun -n 1 "${train[@]}" --set run.stall_seconds=3 --out started : -n 1 sleep 100 > /dev/null 2> started.log || code=$?
[ $code -eq 8 ] || fail "the job ends with $code: $(cat started.log)"
grep -q "no rank got any further for 3 s: a call of MPI hangs" started.log || fail "$(cat started.log)"
echo "a lost rank costs no more than the steps since its last checkpoint"
