#!/usr/bin/env bash
# signals.sh HOLDFAST: who is told to end does, and whoever comes next finds the folder as it should be: one job trains into
# it at a time, what the others left is waited for, and what training was paid with is in no core file.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
unset OMP_WAIT_POLICY # the program starts itself anew with it, and is the same process
"$holdfast" synth blobs --records 400 --test 50 --seed 1 --out blobs.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 400 --test 600000 --seed 1 --out many.h5 --quiet > /dev/null
train=("$holdfast" train --data blobs.h5 --quiet --set "network.hidden=[8]" --set certificate.levels=20 --set training.expected_records=400)
slow=(--set training.epochs=2000 --set run.backend=reference --set run.checkpoint_steps=1)
"${train[@]}" --out run > /dev/null || fail "cannot train"
# ends WORDS EXIT PATTERN COMMAND…
ends() {
    "${@:4}" > out.txt 2> err.txt
    local code=$?
    [[ $code = "$2" ]] && grep -qE -- "$3" out.txt err.txt || fail "$1: $code, $(cat out.txt err.txt)"
}

# 1. A command that has nothing to go on from ends at once.
for command in "certify --queries many.h5" "evaluate --epsilon 1 --data many.h5"; do
    "$holdfast" $command --run run --quiet > out.txt 2>&1 & job=$!
    sleep 0.3
    kill -TERM $job || fail "$command had ended before"
    wait $job
    code=$?
    ((code == 143)) || fail "SIGTERM ends $command with $code: $(head -c 300 out.txt)"
done

# 2. One job trains into a folder: another says which, and what was killed is gone on with at once.
begin() { # FOLDER ARGUMENTS…: trains until its first checkpoint, and holds still
    "${train[@]}" "${slow[@]}" --out "$@" > log.txt 2>&1 & job=$!
    await "a checkpoint of $1" compgen -G "$1/checkpoints/*/[0-9]*" > /dev/null
    kill -STOP $job
}
begin one
grep -zqx OMP_WAIT_POLICY=passive "/proc/$job/environ" || fail "the program waits by spinning"
ends "two at once" 2 "one: another job .*process $job on $(hostname), since .*let it end" "${train[@]}" "${slow[@]}" --out one --resume
ends "started at once" 4 "one" "${train[@]}" "${slow[@]}" --out one
touch one/.boxes.h5.0.partial
kill -KILL $job
wait $job 2> /dev/null
ends "after a kill" 0 '' "${train[@]}" "${slow[@]}" --set run.backend=auto --set run.checkpoint_steps=0 --out one --resume
[[ $(ls -A one) == "$(ls -A run)" ]] || fail "left: $(ls -A one)"
begin slices --set ensemble.members=3 --members 0:2
ends "members of another job" 2 "slices: .*process $job .*members 0 to 1" "${train[@]}" "${slow[@]}" --set ensemble.members=3 --out slices --members 1:3
ends "members beside" 0 '1 of 3 are there' "${train[@]}" "${slow[@]}" --set run.backend=auto --set run.checkpoint_steps=0 --set ensemble.members=3 --out slices --members 2:3
kill -CONT $job
kill -TERM $job
wait $job
code=$?
((code == 7)) || fail "SIGTERM ends a training with $code"
"$holdfast" fleet --data blobs.h5 --out fleet --quiet --set "network.hidden=[16]" --set training.epochs=200 --set clip.kind=none --set training.expected_records=400 > log.txt 2>&1 & job=$!
await "a fleet" test -d fleet/parts
kill -STOP $job
ends "two fleets at once" 2 "fleet: another job .*process $job" "$holdfast" fleet --data blobs.h5 --out fleet --quiet --set "network.hidden=[16]" --set training.epochs=200 --set clip.kind=none --set training.expected_records=400 --resume
kill -KILL $job
wait $job 2> /dev/null

# 3. Members that others have finished and this host does not see yet: waited for, and the run is finished.
two=("${train[@]}" --set ensemble.members=2 --out late --members)
ends "the first of two" 0 '1 of 2 are there' "${two[@]}" 0:1
mv late/members aside
"${two[@]}" 1:2 > out.txt 2> err.txt & job=$!
await "it says that it waits" grep -q 'late: host .* does not see every member that is finished yet, and waits' err.txt
mv aside/* late/members/
wait $job || fail "members seen late: $(cat err.txt)"
grep -q '^trained 2 members x' out.txt || fail "members seen late: $(cat out.txt)"

# 4. Every host, and every instruction set.
elsewhere=()
unshare -u true 2> /dev/null && elsewhere=(unshare -u bash -c 'hostname elsewhere; exec "$@"' bash)
mpirun -n 1 "${train[@]}" --out ranks : -n 2 "${elsewhere[@]}" "${train[@]}" --out ranks > out.txt 2>&1 || fail "three ranks: $(cat out.txt)"
python3 -c 'import json, sys
said = json.loads(open("ranks/provenance.jsonl").readline())
hosts = {sys.argv[1]: 1, "elsewhere": 2} if sys.argv[2:] else {sys.argv[1]: 3}
assert said["hosts"] == hosts and sum(said["instruction_sets"].values()) == 3, said' "$(hostname)" "${elsewhere[@]:0:1}" || fail "provenance: $(cat ranks/provenance.jsonl)"

# 5. A training that has a key leaves no core file.
mkdir cores
(ulimit -c unlimited; exec "$holdfast" train --data blobs.h5 --quiet --out cores/run --set training.kind=noisy --set clip.kind=norm \
    --set noise.law=none --set training.epochs=4000 --set training.expected_records=400 --set run.backend=reference) > log.txt 2>&1 & job=$!
await "a key" test -e cores/run/provenance.jsonl
grep -qE '^Max core file size +1 +1 ' /proc/$job/limits || fail "a key may come into a core file: $(grep core /proc/$job/limits)"
kill -ABRT $job
wait $job 2> /dev/null
[[ -z $(find . -name 'core*' -type f) ]] || fail "a core file: $(find . -name 'core*')"

((failures == 0)) && echo "told to end, they end; coming back, they find what they need"
exit $((failures > 0))
