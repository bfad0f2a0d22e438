#!/usr/bin/env bash
# plan.sh HOLDFAST: holdfast plan: the layouts it predicts are those that train takes, it reads no record and writes nothing;
# times are not held to a clock here.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth blobs --records 3000 --test 10 --seed 5 --out blobs.h5 --quiet > /dev/null
cat > job.toml << 'END_TOML'
[network]
hidden = [8]
[training]
epochs = 3
batches = 2
expected_records = 3000
[certificate]
levels = 5
[ensemble]
members = 3
END_TOML
sed '/certificate/,+1d' job.toml > noisy.toml  # levels are of other kinds
# holds FILE PYTHON: of the object in FILE, as `said`, its layouts by (ranks, layout) as `at`.
holds() {
    python3 -c "import json, math, sys
said = json.load(open('$1'))
at = {(row['ranks'], row['layout']): row for row in said['layouts']}
sys.exit(not ($2))"
}
ls > before.txt
"$holdfast" plan --config job.toml --data blobs.h5 --ranks 1,2,6,64,512,4096 --json > plan.json 2> err.txt || fail "plan: $(cat err.txt)"
holds plan.json "said['steps'] == 6 and said['step_records'] == 500 and said['parameters'] > 0" || fail "the training: $(cat plan.json)"
holds plan.json "all(math.prod(map(int, row['grid'].split('x'))) == row['ranks'] for row in said['layouts'])" || fail "grids: $(cat plan.json)"
holds plan.json "at[1, 'data']['grid'] == '1x1x1' and at[1, 'data']['auto'] and (1, 'levels') not in at" || fail "one rank: $(cat plan.json)"
holds plan.json "at[6, 'ensemble']['grid'] == '3x1x2' and at[6, 'levels']['grid'] == '1x6x1' and at[6, 'data']['grid'] == '1x1x6'" || fail "six ranks: $(cat plan.json)"
holds plan.json "at[4096, 'levels']['grid'] == '1x4x1024' and at[4096, 'levels']['levels'] == 2 and at[64, 'data']['members'] == 3" || fail "many ranks: $(cat plan.json)"
holds plan.json "all(row['seconds'] > 0 and row['memory'] > 1e6 for row in said['layouts'])" || fail "times: $(cat plan.json)"
holds plan.json "at[1, 'data']['communication'] == 0 < at[64, 'data']['communication'] and not said['link']['measured']" || fail "sums: $(cat plan.json)"
holds plan.json "at[64, 'data']['memory'] < at[1, 'data']['memory']" || fail "memory: $(cat plan.json)"

# auto is what train takes; sums are measured where there are ranks.
mpirun -n 2 "$holdfast" plan --config job.toml --data blobs.h5 --ranks 2 --json > two.json 2> err.txt || fail "two ranks: $(cat err.txt)"
holds two.json "said['link']['measured'] and said['link']['bandwidth'] > 0 and said['link']['latency'] > 0" || fail "two ranks: $(cat two.json)"
mpirun -n 2 "$holdfast" train --config job.toml --data blobs.h5 --out run > /dev/null 2> train.txt || fail "train: $(cat train.txt)"
grid=$(sed -n 's/.*members x levels x blocks \([0-9x]*\)).*/\1/p' train.txt)
holds two.json "[row['grid'] for row in said['layouts'] if row['auto']] == ['$grid']" || fail "train takes $grid: $(cat two.json)"
rm -r run

# A slower link takes longer; cores that are shared take longer.
"$holdfast" plan --config job.toml --data blobs.h5 --ranks 64 --latency 0.1 --json > slow.json 2> err.txt || fail "$(cat err.txt)"
holds slow.json "at[64, 'data']['communication'] > 1" || fail "a slow link: $(cat slow.json)"
"$holdfast" plan --config job.toml --data blobs.h5 --ranks 64 --bandwidth 1e3 --json > slow.json 2> err.txt || fail "$(cat err.txt)"
holds slow.json "at[64, 'data']['communication'] > 1" || fail "a narrow link: $(cat slow.json)"

# Of every kind, and of what boxes can be charged by.
for words in "training.kind=noisy clip.kind=norm noise.law=none ensemble.members=1" "training.kind=convex network.hidden=[] features.norm_limit=1 training.learning_rate=0.1" \
    "certificate.relation=substitute certificate.budget=per_batch" "training.precision=single" "training.precision=fixed" "network.classes=3 network.loss=cross_entropy"; do
    options=()
    for word in $words; do options+=(--set "$word"); done
    config=job.toml
    [[ $words == *noisy* ]] && config=noisy.toml
    "$holdfast" plan --config $config "${options[@]}" --data blobs.h5 --ranks 1,4 --json > kind.json 2> err.txt || fail "$words: $(cat err.txt)"
    holds kind.json "at[1, 'data']['seconds'] > 0" || fail "$words: $(cat kind.json)"
done

# No record is read: one that train refuses makes no difference. The table, for people.
cat > spoil.py << 'END_PYTHON'
import h5py
with h5py.File("nan.h5", "r+") as file:
    file["x_train"][...] = float("nan")
    del file.attrs["sealed"]
END_PYTHON
cp blobs.h5 nan.h5
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" spoil.py 2> /dev/null || continue
    "$holdfast" train --config job.toml --data nan.h5 --out run > out.txt 2>&1 && fail "train takes what is no number"
    break
done
"$holdfast" plan --config job.toml --data nan.h5 --ranks 1 --quiet > out.txt 2> err.txt || fail "it reads records: $(cat err.txt)"
grep -q '^ ranks  layout' out.txt && grep -qE '^ +1  data +1x1x1 .* auto$' out.txt || fail "its table: $(cat out.txt)"
rm -rf run nan.h5 spoil.py

# For data that is not here: by the public count, and by the number of features alone.
ask() { # OUT OPTIONS…
    "$holdfast" plan --quiet --json "${@:2}" > "$1" 2> err.txt || fail "plan ${*:2}: $(cat err.txt)"
}
ask more.json --config job.toml --data blobs.h5 --ranks 1,64 --set training.expected_records=30000
holds more.json "said['records'] == 30000 and said['step_records'] == 5000" || fail "another count: $(cat more.json)"
ask shape.json --config job.toml --features 2 --ranks 1,64
holds shape.json "said['records'] == 3000 and said['step_records'] == 500 and at[64, 'data']['grid'] == '1x1x64'" || fail "from numbers alone: $(cat shape.json)"

# For another machine: its cost is given, and nothing is measured.
ask given.json --config job.toml --features 2 --ranks 1 --cost 0.5,0,0.001,0 --set run.backend=cuda
holds given.json "said['cost']['fixed'] == 0.5 and abs(at[1, 'data']['computing'] - 1) < 1e-9 and said['cost']['records_measured'] == 0" ||
    fail "a given cost: $(cat given.json)"

# A leave-one-out ensemble: as many networks as records, and one of all.
ask apart.json --leave-one-out --data blobs.h5 --ranks 1,2 --set network.hidden=[8] --set training.epochs=2 --set training.batches=4
holds apart.json "said['steps'] == 8 and at[1, 'networks']['members'] == 3001 and at[2, 'networks']['members'] == 1501
    and at[1, 'networks']['seconds'] > 1.9 * at[2, 'networks']['seconds'] > 0" || fail "a leave-one-out ensemble: $(cat apart.json)"

# Other processes on the same core do not make a step longer.
alone() { ask "$1" --config job.toml --data blobs.h5 --ranks 1 --set run.threads=1 && python3 -c "import json; print(json.load(open('$1'))['layouts'][0]['computing'])"; }
if command -v taskset > /dev/null; then
    core=$(taskset -cp $$ | grep -oE '[0-9]+$')
    taskset -cp "$core" $$ > /dev/null
    free=$(alone free.json)
    others=()
    for _ in 1 2 3 4 5; do timeout 120 sh -c 'while :; do :; done' & others+=($!); done
    busy=$(alone busy.json)
    kill "${others[@]}" 2> /dev/null
    wait "${others[@]}" 2> /dev/null
    python3 -c "import sys; sys.exit($busy > 2.5 * $free)" || fail "a busy machine: $busy s for $free s"
fi

# What is refused.
refused() {
    "$holdfast" plan "${@:3}" > out.txt 2>&1
    [ $? = "$1" ] && grep -q -- "$2" out.txt || fail "${*:3}: $(cat out.txt)"
}
refused 2 ranks --data blobs.h5 --ranks 0
refused 2 ranks --data blobs.h5 --ranks many
refused 2 expected_records --features 2
refused 2 features
refused 2 features --features 2 --data blobs.h5
refused 2 cost --data blobs.h5 --cost 1,2
refused 2 cost --data blobs.h5 --cost 1,2,3,-4
[ -e /dev/nvidia0 ] || refused 2 --cost --data blobs.h5 --set run.backend=cuda
refused 2 latency --data blobs.h5 --latency -1
refused 2 'epoch' --data blobs.h5 --set training.epoch=2
refused 3 none.h5 --data none.h5
ls | grep -vE '^(.*\.json|err\.txt|out\.txt|train\.txt)$' > after.txt
diff <(grep -vE '\.(json|txt)$' before.txt) <(grep -vE '\.(json|txt)$' after.txt) || fail "it leaves files"

((failures == 0)) && echo "what a training will take is said before it starts"
exit $((failures > 0))
