#!/usr/bin/env bash
# The digests of boxes, distances and evaluation are the same on 1 to 4 ranks, on other grids and threads, and for a run
# that was killed and resumed on another number of ranks.
set -euo pipefail
holdfast=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 3000 --test 200 --seed 3 --out blobs.h5 --quiet > /dev/null

# digests RANKS FOLDER TRAIN-OPTIONS…: boxes, distances, evaluation
digests() {
    local ranks=$1 run=$2
    shift 2
    mpirun -n "$ranks" "$holdfast" train --data blobs.h5 --out "$run" --set network.hidden=[16,8] --set certificate.levels=12 \
        --set training.batches=2 --set training.epochs=8 --set training.expected_records=3000 "$@" --quiet > /dev/null
    summary "$ranks" "$run"
}
summary() {
    mpirun -n "$1" "$holdfast" certify --run "$2" --queries blobs.h5 --json --quiet | grep -o '"digest":"[0-9a-f]*"'
    mpirun -n "$1" "$holdfast" evaluate --run "$2" --data blobs.h5 --epsilon 0.3,1 --json --quiet | grep -o '"digest":"[0-9a-f]*"'
    grep -o '"digest": "[0-9a-f]*"' "$2/manifest.json"
    md5sum < "$2/metrics.jsonl"
}

for relation in add_remove substitute; do
    options=(--set certificate.relation=$relation --set ensemble.members=3)
    [ $relation = substitute ] && options=(--set certificate.relation=$relation --set certificate.budget=per_batch)
    expected=$(digests 1 "$relation-1" "${options[@]}")
    for ranks in 2 3 4; do
        [ "$(digests $ranks "$relation-$ranks" "${options[@]}")" = "$expected" ] || { echo "$relation: $ranks ranks differ from 1"; exit 1; }
    done
    grep -q '"charge_share":\[.*"layer_width_mean":\[.*"undecided":\[' "$relation-1/metrics.jsonl" || { echo "$relation: no layers in the metrics"; exit 1; }
    [ "$(digests 4 "$relation-grid" "${options[@]}" --set run.grid=1x2x2)" = "$expected" ] || { echo "$relation: grid 1x2x2 differs"; exit 1; }
    [ "$(OMP_NUM_THREADS=3 digests 1 "$relation-threads" "${options[@]}")" = "$expected" ] || { echo "$relation: 3 threads differ"; exit 1; }
    [ "$(digests 2 "$relation-reference" "${options[@]}" --set run.backend=reference)" = "$expected" ] || { echo "$relation: the reference backend differs"; exit 1; }

    # Stopped by a signal after its first checkpoints, resumed on three ranks, killed outright, resumed on one. The
    # reference backend gives the same bytes slowly enough to be caught in the middle, where SIGSTOP holds it.
    run="$relation-resumed"
    train=("$holdfast" train --data blobs.h5 --out "$run" --set network.hidden=[16,8] --set certificate.levels=12 --set training.batches=2
           --set training.epochs=8 --set training.expected_records=3000 "${options[@]}" --set run.checkpoint_steps=1 --quiet)
    kept() { ls -d "$run"/members/members-* "$run"/checkpoints/*/[0-9]* 2> /dev/null | sort || true; }
    ranks() { pgrep -P $launcher -x "$(basename "$holdfast" | cut -c1-15)"; }
    held_with_more_than() {
        until [ "$(kept)" != "$1" ]; do kill -0 $launcher || { echo "$relation: finished too early"; exit 1; }; sleep 0.01; done
        kill -STOP $(ranks) || true # those that are left
        [ ! -e "$run/manifest.json" ] || { echo "$relation: finished before it was held"; exit 1; }
    }
    mpirun -n 2 "${train[@]}" --set run.backend=reference > /dev/null 2> signal.log & launcher=$!
    held_with_more_than ""
    kill -TERM $(ranks) # waits for them, where mpirun would let them go on first
    kill -CONT $(ranks)
    wait $launcher && { echo "$relation: a terminated run did not say so"; exit 1; }
    [ ! -e "$run/manifest.json" ] || { echo "$relation: a terminated run went on to its end"; exit 1; }
    before=$(kept)
    mpirun -n 3 "${train[@]}" --set run.backend=reference --resume > /dev/null 2> kill.log & launcher=$!
    held_with_more_than "$before"
    kill -KILL $(ranks)
    wait $launcher && { echo "$relation: a killed run did not say so"; exit 1; }
    "${train[@]}" --resume > /dev/null
    [ "$(summary 1 "$run")" = "$expected" ] || { echo "$relation: the resumed run differs"; exit 1; }
    [ ! -e "$run/checkpoints" ] && [ ! -e "$run/members" ] || { echo "$relation: checkpoints were left"; exit 1; }
done

# Public records, which every rank holds, are added once.
for batches in 0 30; do
    options=(--public blobs.h5:test --set training.public_batch_size=$batches --set training.public_steps=$((batches / 10)))
    expected=$(digests 1 "public-$batches-1" "${options[@]}")
    [ "$(digests 3 "public-$batches-3" "${options[@]}" --set run.grid=1x1x3)" = "$expected" ] || { echo "public records: 3 ranks differ from 1"; exit 1; }
done

# The trace is of the log alone: a line a step, the phases of them all at the end, and no other byte in the run.
mpirun -n 2 "$holdfast" train --data blobs.h5 --out traced --trace --set network.hidden=[16,8] --set certificate.levels=12 --set training.batches=2 \
    --set training.epochs=8 --set training.expected_records=3000 --set certificate.relation=substitute --set certificate.budget=per_batch > /dev/null 2> trace.log
[ "$(grep -c 'step .* widths .* may change sign .* charge .* sums .* reduction ' trace.log)" = 16 ] || { echo "no line a step: $(cat trace.log)"; exit 1; }
grep -q '16 steps on this rank: sums ' trace.log || { echo "no sum of the phases: $(cat trace.log)"; exit 1; }
cmp -s traced/metrics.jsonl substitute-1/metrics.jsonl || { echo "the trace changes the metrics"; exit 1; }
echo "same bytes"
