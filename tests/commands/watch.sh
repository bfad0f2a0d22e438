#!/usr/bin/env bash
# watch.sh HOLDFAST: holdfast watch of a run that trains, was stopped, was killed, goes on and is finished; what it reads is
# for the owner alone, is never there of a noisy training, and changes no byte of a run. Where a run came from.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 2000 --test 50 --seed 5 --out blobs.h5 --quiet > /dev/null
# The reference backend gives the same bytes slowly enough to be looked at.
settings=(--set "network.hidden=[16,8]" --set training.expected_records=2000 --set certificate.levels=6 --set training.batches=2)
long=("${settings[@]}" --set training.epochs=400 --set run.checkpoint_steps=20 --set run.backend=reference)
train=("$holdfast" train --data blobs.h5 --quiet --set ensemble.members=2)
# said NAME EXPRESSION: of the object that NAME.json holds.
said() { python3 -c "import json, sys; said = json.load(open('$1.json')); sys.exit(not ($2))"; }
look() { "$holdfast" watch "$1" --once --json > "$2.json" 2> err.txt || fail "watch $1: $(cat err.txt)"; }
lines_of() { cat "$1"/progress/*.jsonl 2> /dev/null | grep -c '"event":"step"'; }
has_lines() { [ "$(lines_of "$1")" -ge "$2" ]; }

# 1. A run that trains: how far, how fast, how wide.
"${train[@]}" "${long[@]}" --out run > /dev/null 2> train.txt &
trainer=$!
await "lines of steps" has_lines run 3
await "a checkpoint" compgen -G "run/checkpoints/*/[0-9]*" > /dev/null
look run running
said running "said['state'] == 'running' and said['members'] == 2 and said['steps'] == 1600" || fail "running: $(cat running.json)"
said running "0 < said['steps_done'] < 1600 and said['steps_per_second'] > 0 and said['seconds_left'] > 0" || fail "no progress: $(cat running.json)"
said running "abs(said['seconds_left'] - (1600 - said['steps_done']) / said['steps_per_second']) < 1e-6 * said['seconds_left']" || fail "another time left"
said running "abs(said['records_per_second'] - said['metrics']['records'] * said['steps_per_second']) < 1 and said['metrics']['records'] > 0" || fail "throughput: $(cat running.json)"
said running "said['metrics']['level'] == 6 and len(said['metrics']['layer_width_mean']) == 3 and said['metrics']['width_max'] > 0" || fail "no widths: $(cat running.json)"
said running "said['checkpoint_age'] >= 0 and said['training'][0]['host'] == '$(hostname)'" || fail "$(cat running.json)"
"$holdfast" watch run --once > text.txt && grep -q 'run: running, .* of 1600 steps, 0 of 2 members finished, .* left, .* steps/s, .* records/s' text.txt &&
    grep -q 'level 6, widths' text.txt && grep -q 'last checkpoint' text.txt || fail "its words: $(cat text.txt)"
[ -z "$(find run -type f -perm /077)" ] && [ "$(stat -c %a run run/progress)" = "$(printf '700\n700')" ] || fail "others may read of it: $(ls -lR run)"

# 2. Killed: its process is gone, and a torn last line is passed over. Resumed it runs again, and stopped it says so.
kill -KILL $trainer
wait $trainer 2> /dev/null
printf '{"event":"step","ti' >> run/progress/member-00000.jsonl
look run killed
said killed "said['state'] == 'interrupted' and said['seconds_left'] is None and said['steps_done'] > 0" || fail "killed: $(cat killed.json)"
"$holdfast" watch run --once | grep -q 'its process is gone: --resume goes on' || fail "killed, in words"
printf '\n[1]\n{"event":7,"time":"x","step":[],"members":"many"}\n{"event":"step","step":"y","records":{}}\n' >> run/progress/member-00000.jsonl
look run odd
said odd "said['state'] == 'interrupted'" || fail "odd lines: $(cat odd.json)"
"${train[@]}" "${long[@]}" --out run --resume > /dev/null 2> train.txt &
trainer=$!
before=$(lines_of run)
await "more lines" has_lines run $((before + 2))
look run resumed
said resumed "said['state'] == 'running'" || fail "resumed: $(cat resumed.json)"
kill -USR1 $trainer
wait $trainer
[ $? = 7 ] || fail "not stopped: $(cat train.txt)"
look run stopped
said stopped "said['state'] == 'stopped' and said['steps_done'] > 0" || fail "stopped: $(cat stopped.json)"

# 3. Nothing rests on it: gone or in the way, the run goes on to the same bytes; who follows it sees the end.
"$holdfast" watch run --json --interval 0.2 > follow.txt 2> err.txt &
watcher=$!
rm -r run/progress && touch run/progress
"${train[@]}" "${settings[@]}" --set training.epochs=400 --out run --resume > /dev/null 2> train.txt || fail "it does not go on: $(cat train.txt)"
wait $watcher || fail "watch ends with $?: $(cat err.txt)"
tail -n 1 follow.txt > followed.json && said followed "said['state'] == 'finished'" || fail "followed: $(tail -n 1 follow.txt)"
"${train[@]}" "${settings[@]}" --set training.epochs=400 --out whole > /dev/null 2>&1 || fail "an uninterrupted run"
for file in boxes.h5 metrics.jsonl; do cmp -s run/$file whole/$file || fail "$file is another one"; done
[ "$(ls run)" = "$(printf 'boxes.h5\nfingerprint\nmanifest.json\nmetrics.jsonl\nprovenance.jsonl')" ] || fail "a finished run holds $(ls run)"
look run finished
said finished "said['state'] == 'finished' and said['steps_done'] == 1600 and said['metrics']['step'] == 799" || fail "finished: $(cat finished.json)"

# 4. Where it came from: a line a start, beside the manifest, which is the same anywhere.
[ "$(wc -l < run/provenance.jsonl)" = 3 ] && [ "$(wc -l < whole/provenance.jsonl)" = 1 ] || fail "provenance: $(cat run/provenance.jsonl)"
[ "$(stat -c %a run/provenance.jsonl)" = 600 ] || fail "others may read the provenance"
head -n 1 run/provenance.jsonl > provenance.json
"$holdfast" --version --json > version.json
python3 -c 'import json
said, version = json.load(open("provenance.json")), json.load(open("version.json"))
assert version.items() <= said.items(), (version, said)
assert said["ranks"] == 1 and said["grid"] == "1x1x1" and said["backend"] == "reference" and said["started"].endswith("Z"), said
assert said["hosts"]' || fail "provenance: $(cat provenance.json)"
! grep -q "$(hostname)" run/manifest.json || fail "the manifest names the machine"

# 5. Ranks that share levels: one of them tells, and it holds the widest.
mpirun -n 2 "${train[@]}" "${long[@]}" --set run.grid=1x2x1 --out levels > /dev/null 2> train.txt &
trainer=$!
await "lines of ranks" has_lines levels 1
look levels levels
said levels "said['metrics']['level'] == 6 and said['metrics']['width_max'] > 0 and said['training'][0]['ranks'] == 2" || fail "ranks: $(cat levels.json)"
kill -USR1 $trainer
wait $trainer

# 6. Of a training with noise nothing is told on the way.
"$holdfast" train --data blobs.h5 --quiet --out noisy --set training.kind=noisy --set clip.kind=norm --set noise.law=none \
    --set training.epochs=4000 --set training.expected_records=2000 --set run.backend=reference > /dev/null 2> train.txt &
trainer=$!
await "it begins" test -e noisy/provenance.jsonl
sleep 2
look noisy noisy
said noisy "said['state'] == 'hidden' and said['metrics'] is None and said['steps_done'] == 0" || fail "noisy: $(cat noisy.json)"
[ ! -e noisy/progress ] || fail "a training with noise tells its progress"
kill -KILL $trainer
wait $trainer 2> /dev/null

# 7. What is no run.
mkdir empty
for folder in empty nowhere blobs.h5; do
    "$holdfast" watch $folder --once > out.txt 2>&1
    [ $? = 3 ] && grep -q "$folder" out.txt && [ "$(wc -l < out.txt)" -le 2 ] || fail "watch $folder: $(cat out.txt)"
done
"$holdfast" watch run --interval 0 > out.txt 2>&1
[ $? = 2 ] || fail "an interval of nothing: $(cat out.txt)"

((failures == 0)) && echo "one sees how far a training is, and the training does not notice"
exit $((failures > 0))
