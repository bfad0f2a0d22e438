#!/usr/bin/env bash
# A noisy training that was stopped goes on to the same bytes on 1 to 4 ranks, with more threads and on another backend:
# noise and samples come from the key of the run, by their places, and what dropout leaves out from seed and step.
set -euo pipefail
holdfast=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$holdfast" synth blobs --records 3000 --test 200 --seed 3 --out blobs.h5 --quiet > /dev/null
"$holdfast" account --ledger ledger.db --data blobs.h5 --budget 3 --budget-delta 1e-4 --quiet > /dev/null
dense=(--set network.hidden=[16,8])
centred=(--set network.hidden=[8] --set noise.centre=4)
convolutions=(--set robust.noise=0.2 --set network.image=[1,2,3] --set 'network.layers=["conv 6 2x2 padding 1","max_pool 2x2 stride 1","dropout 0.3","conv 4 1x2","dense 8"]')
for network in "1 centred" "16 dense" "16 convolutions"; do
    read -r sampling layers <<< "$network"
    declare -n words=$layers
    train=("$holdfast" train --data blobs.h5 --ledger ledger.db --set training.kind=noisy --set clip.kind=norm "${words[@]}"
           --set training.batches=$sampling --set training.epochs=$((128 / sampling)) --set noise.multiplier=90 --set noise.average=0.5
           --set run.checkpoint_steps=5 --quiet)
    "${train[@]}" --set run.backend=reference --out stopped > /dev/null 2> stop.log & trained=$!
    until compgen -G 'stopped/checkpoints/*/[0-9]*' > /dev/null; do
        kill -0 $trained 2> /dev/null || { echo "finished too early: $(cat stop.log)"; exit 1; }
        sleep 0.01
    done
    kill -TERM $trained
    wait $trained && { echo "a terminated run did not say so"; exit 1; }
    [ ! -e stopped/manifest.json ] || { echo "finished before it was stopped"; exit 1; }

    # bytes NAME COMMAND…: of the run that goes on from a copy.
    bytes() {
        cp -a stopped "$1"
        "${@:2}" "${train[@]}" --resume --out "$1" > /dev/null
        [ ! -e "$1/key" ] || echo "the key is left"
        grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json"
        md5sum < "$1/metrics.jsonl"
        rm -rf "$1"
    }
    expected=$(bytes alone env)
    for ranks in 2 3 4; do
        [ "$(bytes ranks mpirun -n $ranks)" = "$expected" ] || { echo "q = 1/$sampling, $layers: $ranks ranks differ from 1"; exit 1; }
    done
    [ "$(bytes threads env OMP_NUM_THREADS=3)" = "$expected" ] || { echo "q = 1/$sampling, $layers: 3 threads differ"; exit 1; }
    train+=(--set run.backend=reference)
    [ "$(bytes reference env)" = "$expected" ] || { echo "q = 1/$sampling, $layers: the reference backend differs"; exit 1; }
    rm -rf stopped
done
spent=$("$holdfast" account --ledger ledger.db --population synthetic --json --quiet | grep -o '"spent_epsilon":[0-9.]*')
[ "$spent" = '"spent_epsilon":3' ] || [ "$spent" = '"spent_epsilon":3.0' ] || { echo "three trainings, resumed 18 times, cost $spent"; exit 1; }
echo "the same bytes on any ranks, threads and backend"
