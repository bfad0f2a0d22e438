#!/usr/bin/env bash
# submit.sh HOLDFAST: slurm/submit without a Slurm: what it writes, what it would submit, what it refuses, what it leaves out
# the second time, and what its scripts do when a signal comes; tests/batch/slurm.sh runs them for real.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"
submit=$root/slurm/submit
python3 -c 'import tomllib' 2> /dev/null || { echo "SKIPPED: no Python 3.11 here"; exit 77; }
"$holdfast" synth blobs --records 300 --test 40 --seed 5 --out "blobs.h5" --quiet > /dev/null

# A queue of our own, which only writes down what it is asked for.
mkdir bin
cat > bin/sbatch << END
#!/bin/bash
printf '%s\n' "\$*" >> "$scratch/calls"
wc -l < "$scratch/calls"
END
printf '#!/bin/bash\ncat "%s/queue" 2> /dev/null\n' "$scratch" > bin/squeue
printf '#!/bin/bash\necho "$*" > "%s/cancelled"\n' "$scratch" > bin/scancel
printf '#!/bin/bash\nexec "$@"\n' > bin/srun
printf '#!/bin/bash\necho "$*" >> "%s/controlled"\n' "$scratch" > bin/scontrol
chmod +x bin/*
export PATH=$scratch/bin:$PATH
job() {
    cat << END
folder = "a study"
program = "$holdfast"
data = "blobs.h5"
members = 4
members_per_task = 2
levels = 5
epsilon = [0.5, 1]
[set]
"network.hidden" = [8]
"training.epochs" = 2
"training.expected_records" = 300
[grid]
"training.batches" = [1, 2]
"clip.gamma" = [0.05]
[slurm]
partition = "big"
account = "p1"
launcher = "env"
END
}
job > job.toml

# 1. --dry-run writes scripts, for their owner alone, and submits nothing.
"$submit" job.toml --dry-run > out.txt 2>&1 || fail "--dry-run: $(cat out.txt)"
[ "$(grep -c '^sbatch' out.txt)" = 4 ] && [ ! -e calls ] || fail "--dry-run: $(cat out.txt)"
grep -q -- '--array=0,1,2,3 ' out.txt && grep -q -- "--dependency=afterok:<certify>" out.txt || fail "$(cat out.txt)"
for stage in train certify evaluate report; do
    script="a study/slurm/$stage.sbatch"
    [ "$(stat -c %a "$script")" = 600 ] || fail "$script has mode $(stat -c %a "$script")"
    bash -n "$script" || fail "$script is no script"
    ! grep -nE '@[A-Z_]+@|^#:' "$script" || fail "$script was not filled in"
    for line in '--partition=big' '--account=p1' '--requeue' '--signal=B:USR1@120'; do
        grep -q -- "^#SBATCH $line" "$script" || fail "$script lacks $line"
    done
done
! grep -q gpus "a study/slurm/train.sbatch" || fail "a GPU nobody asked for"
sed 's/^partition/gpus = true\npartition/; s/a study/gpu study/' job.toml > gpu.toml
"$submit" gpu.toml --dry-run > out.txt 2>&1 && grep -q '^#SBATCH --gpus-per-task=1' "gpu study/slurm/train.sbatch" || fail "GPU nodes: $(cat out.txt)"

for script in "a study/slurm/train.sbatch" "gpu study/slurm/train.sbatch"; do
    grep -qx 'export SLURM_PMIX_FENCE=ring' "$script" || fail "$script leaves PMIx the fence that is no barrier"
done

# 2. Submitted: a chain; not twice while it is queued; cancelled as a whole.
"$submit" job.toml > out.txt 2>&1 || fail "submit: $(cat out.txt)"
[ "$(grep -c 'afterok:[123] --kill' calls)" = 3 ] || fail "no chain: $(cat calls)"
echo PENDING > queue
"$submit" job.toml > out.txt 2>&1 && fail "submitted twice" || grep -q 'still in the queue' out.txt || fail "$(cat out.txt)"
"$submit" status job.toml > out.txt 2>&1 && grep -q 'batches=2.*not begun' out.txt && grep -q '^train job 1: 1 pending' out.txt || fail "status: $(cat out.txt)"
"$submit" cancel job.toml > out.txt 2>&1 && [ "$(cat cancelled)" = "4 3 2 1" ] || fail "cancel: $(cat out.txt cancelled)"
rm queue

# 3. The scripts do it, from another folder; what is done is left out afterwards.
task() { (cd / && env SLURM_ARRAY_TASK_ID="$2" SLURM_JOB_ID=17 ${3:-} bash "$scratch/a study/slurm/$1.sbatch") > task.txt 2>&1; }
for index in 0 1 2; do task train $index || fail "train $index: $(cat task.txt)"; done
rm calls
"$submit" job.toml > out.txt 2>&1 || fail "the rest: $(cat out.txt)"
grep -q -- '--array=3 .*train.sbatch' calls || fail "not the one slice that is left: $(cat calls)"
task train 3 || fail "train 3: $(cat task.txt)"
for stage in certify evaluate report; do for index in 0 1; do task $stage $index || fail "$stage $index: $(cat task.txt)"; done; done
rm calls
"$submit" job.toml > out.txt 2>&1 && grep -q 'all 2 runs are finished' out.txt && [ ! -e calls ] || fail "finished: $(cat out.txt)"
rm "a study"/*batches=2*/evaluation.json
"$submit" job.toml > out.txt 2>&1 && [ "$(cat calls)" = "--parsable --array=1 $scratch/a study/slurm/evaluate.sbatch" ] || fail "one stage again: $(cat calls)"
task train 9
[ $? = 2 ] || fail "a task that is none: $(cat task.txt)"

# 4. A signal: passed on, and back into the queue; not where it was cancelled, nor too often, nor for another code.
cat > stops << 'END'
#!/bin/bash
[ "$1" != plan ] || exit 0
trap 'echo stopped; exit 7' USR1
touch "$(dirname "$0")/began"
sleep 60 & wait
END
chmod +x stops
sed "s|^program.*|program = \"$scratch/stops\"|; s/a study/stopped/" job.toml > stopped.toml
"$submit" stopped.toml --dry-run > out.txt 2>&1 || fail "$(cat out.txt)"
# signalled SIGNAL RESTARTS: the exit code of a task that gets it.
signalled() {
    rm -f began controlled
    SLURM_ARRAY_TASK_ID=0 SLURM_JOB_ID=17 SLURM_RESTART_COUNT=$2 bash stopped/slurm/train.sbatch > task.txt 2>&1 &
    until [ -e began ]; do sleep 0.05; done
    kill -s "$1" $!
    wait $!
}
signalled USR1 0 || fail "USR1: $? $(cat task.txt)"
[ "$(cat controlled)" = "requeue 17" ] && grep -q stopped task.txt || fail "not queued again: $(cat task.txt)"
signalled TERM 0
[ $? = 7 ] && [ ! -e controlled ] || fail "cancelled, and queued again: $(cat task.txt)"
signalled USR1 1000
[ $? = 7 ] && [ ! -e controlled ] || fail "queued again for ever: $(cat task.txt)"
mv bin/scontrol bin/hidden
signalled USR1 0
[ $? = 7 ] || fail "without scontrol: $(cat task.txt)"
mv bin/hidden bin/scontrol

# 5. What is refused, in one line and before anything is written.
# refused WORDS OLD NEW: job.toml so changed.
refused() {
    sed "s|$2|$3|; s|a study|other|" job.toml > bad.toml
    "$submit" bad.toml --dry-run > out.txt 2>&1 && fail "accepted: $3"
    grep -q -- "$1" out.txt && [ "$(wc -l < out.txt)" = 1 ] || fail "$3: $(cat out.txt)"
    [ ! -e other ] || { fail "$3 left a folder"; rm -rf other; }
}
refused 'unknown key dta' '^data' 'dta'
refused 'data is missing' '^data.*' ''
refused 'unknown key particion' '^partition' 'particion'
refused 'is no int' '^members =.*' 'members = "4"'
refused 'too small' '^members =.*' 'members = 0'
refused 'no list' '= \[1, 2\]' '= 1'
refused 'in \[grid\] and outside' '"clip.gamma"' '"training.epochs"'
refused 'members = N' '"clip.gamma"' '"ensemble.members"'
refused 'none of train' '^levels' 'stages = ["bake"]\nlevels'
refused 'would be called' '= \[1, 2\]' '= [1, 1]'
# What every task would refuse, as the program itself says it.
refused 'data: there is no file .*/blob.h5' 'blobs.h5' 'blob.h5'
refused "has no split 'none'" '"blobs.h5"' '"blobs.h5:none"'
refused 'queries: there is no file .*/asked.h5' '^levels' 'queries = "asked.h5:test"\nlevels'
refused 'config: there is no file' '^levels' 'config = "none.toml"\nlevels'
refused 'ledger: there is no file' '^levels' 'ledger = "none.db"\nlevels'
refused 'unknown key training.epoch (did you mean training.epochs?)' '"training.epochs"' '"training.epoch"'
refused 'gamma' '\[0.05\]' '[0.05, -3]'
refused 'is no time: write HH:MM:SS' '^partition' 'time = "one hour"\npartition'
refused 'is no time' '^partition' 'time = "01:00:00:00:00"\npartition'
refused 'over before a task begins' '^partition' 'time = "00:02:00"\npartition'
refused 'over before a task begins' '^partition' 'time = "0"\npartition'
refused 'no positive number' '^epsilon.*' 'epsilon = [0.5, -1]'
refused 'evaluate needs epsilon' '^epsilon.*' ''
sed 's|^partition|time = "2-00"\npartition|; s|a study|timed|; s|^epsilon.*|stages = ["train", "report"]|' job.toml > timed.toml
"$submit" timed.toml --dry-run > out.txt 2>&1 && grep -q '^#SBATCH --time=2-00$' timed/slurm/train.sbatch || fail "two days: $(cat out.txt)"
"$submit" none.toml > out.txt 2>&1 && fail "no file" || grep -q 'No such file' out.txt || fail "$(cat out.txt)"
"$submit" > out.txt && grep -q 'members_per_task' out.txt || fail "no help"
sed 's/"training.epochs" = 2/"training.epochs" = 3/' job.toml > changed.toml
"$submit" changed.toml > out.txt 2>&1 && fail "other settings under the same name" ||
    grep -q 'other settings or data' out.txt || fail "$(cat out.txt)"

((failures == 0)) && echo "experiments are submitted as they should be"
exit $((failures > 0))
