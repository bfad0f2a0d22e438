#!/usr/bin/env bash
# run_digests.sh HOLDFAST [--record]: the bytes of boxes, distances and expected private accuracies for a spread of
# settings (relations, budgets, clips, precisions, losses, layers, ensembles, ranks, a resumed run), held against
# run_digests.txt. No change of the program may move one of them unless it means to; --record prints them anew.
set -uo pipefail
expected=$(realpath "$(dirname "$0")/run_digests.txt")
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --centre 1.25 --spread 0.35 --records 700 --test 90 --seed 5 --out blobs.h5 --quiet > /dev/null
"$holdfast" synth halfmoons --noise 0.2 --records 500 --test 60 --seed 2 --out moons.h5 --quiet > /dev/null
"$holdfast" synth images --side 8 --records 300 --test 60 --seed 4 --out images.h5 --quiet > /dev/null
{ # three classes on a ring, in an order of no meaning
    echo id,a,b,y
    for ((i = 0; i < 600; ++i)); do
        echo "$((i * 7 + 3)),$((i % 3 == 0 ? 70 : i % 3 == 1 ? 25 : 50)).$((i * 37 % 100)),$((i % 3 == 2 ? 70 : 25)).$((i * 53 % 90)),$((i % 3))"
    done
} > ring.csv
"$holdfast" import ring.csv --label y --classes 3 --id id --scale '*=0:100' --test-fraction 0.1 --out ring.h5 --quiet > /dev/null

# Of evaluation.json, the rows of later mechanisms left out: one more is no other law of those before.
without_later() { sed -E 's/"accuracy":[^{}]*"guarantee":\{[^{}]*\},"mechanism":"(one_record_rr|stable_gauss|gaussian_argmax|confident_argmax)"//g'; }

# Of metrics.jsonl, what later programs say of layers left out: it decides nothing.
without_layers() { sed -E 's/"(charge_share|layer_width_mean|layer_width_max|undecided)":\[[^]]*\],//g'; }

# launcher RANKS: one starts by itself.
launcher() { (($1 == 1)) || echo "mpirun -n $1"; }

# digests NAME RANKS DATA SETTING…
digests() {
    local name=$1 ranks=$2 data=$3 settings=()
    shift 3
    for setting in "$@"; do settings+=(--set "$setting"); done
    local train=($(launcher "$ranks") "$holdfast" train --quiet --data "$data" --out "$name" --set training.expected_records=500 "${settings[@]}")
    if [ "$name" = resumed ]; then # stopped after a checkpoint, as often as it takes
        "${train[@]}" --set run.checkpoint_steps=1 --set run.backend=reference > /dev/null 2>&1 & local launcher=$!
        until [ -n "$(ls "$name/checkpoints/0" 2> /dev/null | grep '^[0-9]*$')" ] || ! kill -0 $launcher 2> /dev/null; do sleep 0.01; done
        kill -TERM $launcher
        wait $launcher
        train+=(--resume)
    fi
    "${train[@]}" > /dev/null 2> error.log || { echo "$name does not train: $(cat error.log)"; return; }
    echo "$name boxes $(grep -o '^ "digest": "[0-9a-f]*"' "$name/manifest.json" | cut -c13-44)"
    echo "$name metrics $(without_layers < "$name/metrics.jsonl" | md5sum | cut -c1-32)"
    echo "$name distances $("$holdfast" certify --run "$name" --queries "$data:test" --json --quiet | grep -o '"digest":"[0-9a-f]*"' | cut -c11-42)"
    # Laws of the mechanisms there were when these were recorded, as the accuracies they lead to: 17 digits each.
    echo "$name laws $("$holdfast" evaluate --run "$name" --data "$data:test" --epsilon 0.1,1 --json --quiet | without_later | grep -o '"accuracy":\[[^]]*\]' | md5sum | cut -c1-32)"
}

# left_out NAME RANKS DATA SETTING…: of a fleet.
left_out() {
    local name=$1 ranks=$2 data=$3 settings=()
    shift 3
    for setting in "$@"; do settings+=(--set "$setting"); done
    $(launcher "$ranks") "$holdfast" fleet --quiet --data "$data" --out "$name" --records 12 "${settings[@]}" > /dev/null 2> error.log ||
        { echo "$name does not train: $(cat error.log)"; return; }
    echo "$name networks $(grep -o '^ "digest": "[0-9a-f]*"' "$name/manifest.json" | cut -c13-44)"
    echo "$name votes $("$holdfast" evaluate --run "$name" --data "$data:test" --epsilon 0.1,1 --json --quiet | grep -o '"accuracy":\[[^]]*\]' | md5sum | cut -c1-32)"
}

all() {
    local two=(network.hidden=[6,5] certificate.levels=9 training.batches=3 training.epochs=4 training.l2=0.01 training.learning_rate=8
               clip.gamma=0.004 clip.delta_limit=0.02 clip.activation_limit=0.2)
    digests plain 1 blobs.h5 "${two[@]}"
    digests ranks 3 blobs.h5 "${two[@]}" run.grid=1x3x1
    digests resumed 2 blobs.h5 "${two[@]}" training.epochs=60
    digests single 1 blobs.h5 "${two[@]}" training.precision=single
    digests factored 1 blobs.h5 "${two[@]}" clip.kind=factored training.learning_rate_decay=0.3
    digests per_batch 1 blobs.h5 "${two[@]}" certificate.budget=per_batch
    digests substitute 1 moons.h5 "${two[@]}" certificate.relation=substitute certificate.budget=per_batch
    digests substitute_epoch 2 moons.h5 "${two[@]}" certificate.relation=substitute
    digests remove 1 moons.h5 "${two[@]}" certificate.relation=remove certificate.budget=per_batch
    digests single_factored 1 moons.h5 "${two[@]}" training.precision=single clip.kind=factored
    digests fixed 1 blobs.h5 "${two[@]}" training.precision=fixed
    digests fixed_factored 2 moons.h5 "${two[@]}" training.precision=fixed training.activation_bits=8 clip.kind=factored run.grid=1x2x1
    digests fixed_classes 1 ring.h5 network.hidden=[8,8] network.classes=3 certificate.levels=12 clip.gamma=0.02 training.batches=4 training.precision=fixed certificate.relation=substitute certificate.budget=both
    digests softmax 1 moons.h5 "${two[@]}" network.loss=cross_entropy network.input_shift=0.5 network.input_scale=2
    digests linear 1 moons.h5 network.hidden=[] certificate.levels=40 training.batches=8 clip.gamma=0.01
    digests members 2 blobs.h5 network.hidden=[8] certificate.levels=12 clip.gamma=0.005 training.learning_rate=4 ensemble.members=5
    digests votes 1 moons.h5 network.hidden=[] certificate.levels=0 ensemble.members=20
    digests sparse 1 blobs.h5 "${two[@]}" certificate.level_list=[2,5,9]
    digests rump 1 moons.h5 network.hidden=[6] certificate.levels=4 clip.gamma=0.01 certificate.product=rump
    digests actual 1 moons.h5 network.hidden=[6] certificate.levels=4 clip.gamma=0.01 training.normalise=actual certificate.budget=per_batch certificate.relation=remove
    digests sequential 1 blobs.h5 network.hidden=[6] certificate.levels=4 clip.gamma=0.01 training.batching=sequential training.batch_size=100 training.batches=7
    digests classes 1 ring.h5 network.hidden=[8] network.classes=3 certificate.levels=12 clip.gamma=0.02 training.batches=4
    digests one_vs_rest 1 ring.h5 network.hidden=[8] network.classes=3 network.loss=one_vs_rest certificate.levels=6
    digests huber 1 moons.h5 "${two[@]}" network.loss=huber
    local image=("network.image=[1,8,8]" 'network.layers=["conv 4 3x3 stride 2 padding 1","max_pool 2x2","dropout 0.2","conv 4 2x2 no_bias","dense 5"]'
                 certificate.levels=6 clip.gamma=0.02 training.epochs=3 training.batches=2)
    digests images 1 images.h5 "${image[@]}"
    digests images_ranks 2 images.h5 "${image[@]}" run.grid=1x1x2
    digests images_substitute 1 images.h5 "network.image=[1,8,8]" 'network.layers=["conv 4 3x3 padding 1 groups 1","average_pool 2x2"]' network.bias=false \
        certificate.levels=4 clip.gamma=0.02 certificate.relation=substitute certificate.budget=per_batch training.precision=single
    digests classes_members 2 ring.h5 network.hidden=[8] network.classes=3 certificate.levels=6 ensemble.members=3
    digests convex 1 moons.h5 training.kind=convex network.hidden=[] features.norm_limit=1 training.l2=0.001 training.batches=2 training.learning_rate=1
    digests convex_substitute 2 ring.h5 training.kind=convex network.hidden=[] network.classes=3 features.norm_limit=1 training.l2=0.01 training.learning_rate=0.9 certificate.relation=substitute
    digests without_noise 1 blobs.h5 training.kind=noisy network.hidden=[5] clip.kind=norm noise.law=none training.epochs=2
    digests poison 1 moons.h5 "${two[@]}" certificate.relation=poison poison.input_radius=0.01 certificate.budget=per_batch
    digests weighed 2 blobs.h5 "${two[@]}" training.class_weights=[0.25,1] certificate.budget=both
    digests weighed_convex 1 moons.h5 training.kind=convex network.hidden=[] features.norm_limit=1 training.l2=0.001 training.class_weights=[1,0.3] certificate.relation=remove
    digests robust 2 blobs.h5 training.kind=noisy network.hidden=[5] network.loss=cross_entropy clip.kind=norm noise.law=none training.epochs=2 robust.attack=fgsm robust.input_radius=0.05
    left_out fleet 2 blobs.h5 network.hidden=[4] training.epochs=2 training.batches=2
    left_out fleet_single 1 moons.h5 network.hidden=[] training.precision=single training.batches=3
    # A model of public records, by its answers.
    "$holdfast" pretrain --data moons.h5 --out model.h5 --set network.hidden=[6] --set training.epochs=3 --quiet > /dev/null 2> error.log || cat error.log
    echo "pretrained answers $("$holdfast" predict --model model.h5 --queries moons.h5:test --scores --quiet | md5sum | cut -c1-32)"
}

all > found.txt
[ "${2:-}" = --record ] && { cat found.txt; exit 0; }
diff "$expected" found.txt && echo "$(wc -l < found.txt) digests as recorded"
