#!/usr/bin/env bash
# A fleet's bytes are the same on 1 to 4 ranks, and for one that was killed and resumed on another number of ranks: what
# it had finished is kept, and the rest trained.
set -euo pipefail
holdfast=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 150 --test 10 --seed 3 --out blobs.h5 --quiet > /dev/null

options=(--data blobs.h5 --set network.hidden=[16,8] --set training.batches=5 --set training.epochs=20
         --set training.expected_records=150 --quiet)
sums() { md5sum < "$1/fleet.h5"; grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json"; }
"$holdfast" fleet "${options[@]}" --out alone > /dev/null
for ranks in 2 3 4; do
    mpirun -n $ranks "$holdfast" fleet "${options[@]}" --out "ranks-$ranks" > /dev/null
    [ "$(sums ranks-$ranks)" = "$(sums alone)" ] || { echo "$ranks ranks differ from 1"; exit 1; }
done

# The reference is slow enough to be caught once a part is there.
parts() { ls "$1"/parts/part-*.h5 2> /dev/null | wc -l || true; }
slow=("${options[@]}" --set training.epochs=60)
"$holdfast" fleet "${slow[@]}" --out slow > /dev/null
for signal in TERM KILL; do
    run="stopped-$signal"
    "$holdfast" fleet "${slow[@]}" --out "$run" --backend reference > /dev/null 2> log & job=$!
    until [ "$(parts "$run")" -gt 0 ]; do kill -0 $job || { echo "finished too early"; exit 1; }; sleep 0.02; done
    kill -$signal $job
    code=0; wait $job || code=$?
    [ $signal = KILL ] || [ $code = 7 ] || { echo "a terminated fleet ended with $code"; cat log; exit 1; }
    [ ! -e "$run/manifest.json" ] || { echo "finished before it was stopped"; exit 1; }
    kept=$(ls -i "$run"/parts/part-*.h5)
    # A part that was damaged meanwhile is trained again, the others are not.
    : > "$run/parts/part-00004.h5"
    mpirun -n 3 "$holdfast" fleet "${slow[@]}" --out "$run" --resume > /dev/null & job=$!
    wait $job
    [ "$(sums "$run")" = "$(sums slow)" ] || { echo "the resumed fleet differs"; exit 1; }
    [ ! -e "$run/parts" ] || { echo "parts were left"; exit 1; }
    [ -n "$kept" ]
done
