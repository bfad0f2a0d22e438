#!/usr/bin/env bash
# nccl_ranks.sh HOLDFAST: the boxes of ranks that add by NCCL are those of one rank on the CPU, on 2 up to as many ranks as
# there are GPUs (four at most). Skipped (77) where there are fewer than two; with HOLDFAST_REQUIRE_GPU=1 it fails where
# there is none.
set -euo pipefail
holdfast=$(realpath "$1")
gpus=$(nvidia-smi --list-gpus 2> /dev/null | grep -c '^GPU' || true)
if ((gpus == 0)) && [ "${HOLDFAST_REQUIRE_GPU-}" = 1 ]; then
    echo "HOLDFAST_REQUIRE_GPU=1, but nvidia-smi lists no GPU"
    exit 1
fi
if ((gpus < 2)); then
    echo "SKIPPED: $gpus GPU(s) here, two ranks that add by NCCL need two"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 3000 --test 200 --seed 3 --out blobs.h5 --quiet > /dev/null
train=("$holdfast" train --data blobs.h5 --set network.hidden=[16,8] --set certificate.levels=12 --set training.batches=2
       --set training.epochs=10 --set training.expected_records=3000)
digest() { grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json"; }
"${train[@]}" --quiet --out cpu --backend cpu > /dev/null
for ranks in $(seq 2 $((gpus < 4 ? gpus : 4))); do
    for transport in nccl mpi; do
        mpirun -n "$ranks" "${train[@]}" --out "$transport-$ranks" --backend cuda --transport $transport > /dev/null 2> log
        grep -q "sums by $transport" log || { echo "$ranks ranks did not add by $transport: $(cat log)"; exit 1; }
        [ "$(digest "$transport-$ranks")" = "$(digest cpu)" ] || { echo "$ranks ranks by $transport differ from the CPU"; exit 1; }
    done
done
echo "the same boxes by NCCL, by MPI and on the CPU, up to $ranks GPUs"
