#!/usr/bin/env bash
# slurm.sh HOLDFAST: an experiment of slurm/submit on a real Slurm of two nodes: stopped by the signal that comes before the
# time limit, cancelled, its ranks, srun and a whole node killed, it ends in the bytes of an uninterrupted mpirun.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"
source "$root/tests/support/slurm.sh"
submit=$root/slurm/submit
require_slurm
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 2000 --test 50 --seed 5 --out blobs.h5 --quiet > /dev/null
start_slurm 2 || exit 1

# The reference backend gives the same bytes slowly enough to be seen in the middle, and then it is held.
set=("network.hidden=[16,8]" training.epochs=40 training.expected_records=2000 certificate.levels=10 ensemble.members=4)
cat > job.toml << 'END'
folder = "my study"
data = "blobs.h5"
members = 4
members_per_task = 2
levels = 10
epsilon = [0.5, 1]
[set]
"network.hidden" = [16, 8]
"training.epochs" = 40
"training.expected_records" = 2000
"run.backend" = "reference"
"run.checkpoint_steps" = 1
[grid]
"training.batches" = [1, 2]
[slurm]
nodes = 2
tasks_per_node = 1
launcher = "srun --mpi=pmix"
at_once = 1
time = "00:20:00"
END
sed -i "1i program = \"$holdfast\"" job.toml
for batches in 1 2; do
    mpirun -n 2 "$holdfast" train --data blobs.h5 --out "whole-$batches" "${set[@]/#/--set=}" --set "training.batches=$batches" \
        --quiet > /dev/null || fail "the uninterrupted run"
    "$holdfast" certify --run "whole-$batches" --queries blobs.h5 --quiet > /dev/null || fail "its certificates"
done

# 0. Slurm's fence for PMIx: a library holds rank 1 between the two fences of MPI_Init. Where the second one is a barrier, rank 0
# waits for rank 1. The scripts of slurm/submit set such a fence.
cat > held.c << 'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

typedef void (*Ended)(int, void*);
typedef int (*Fence)(const void*, size_t, const void*, size_t, Ended, void*);
static sem_t ended_once;
static int result;
static void note(int status, void* data) {
    (void)data;
    result = status;
    sem_post(&ended_once);
}
int PMIx_Fence_nb(const void* ranks, size_t rank_count, const void* infos, size_t info_count, Ended ended, void* data) {
    static int calls;
    const Fence fence = (Fence)dlsym(RTLD_NEXT, "PMIx_Fence_nb");
    if (++calls > 1 || atoi(getenv("SLURM_PROCID")) == 0) return fence(ranks, rank_count, infos, info_count, ended, data);
    sem_init(&ended_once, 0, 0);
    const int status = fence(ranks, rank_count, infos, info_count, note, data);
    if (status != 0) return status;
    sem_wait(&ended_once);
    sleep(1);
    close(open("going-on", O_CREAT | O_WRONLY, 0600));
    ended(result, data);
    return 0;
}
END
cat > starts.c << 'END'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int rank;
    MPI_Init(NULL, NULL);
    const int late = access("going-on", F_OK);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) puts(late ? "alone" : "together");
    return MPI_Finalize();
}
END
fence=$(sed -n 's/^export SLURM_PMIX_FENCE=//p' "$root/slurm/task.sh")
on_two_nodes() { rm -f going-on && timeout 120 srun --quiet --kill-on-bad-exit=1 --nodes=2 --ntasks=2 --mpi=pmix "$@"; }
if mpicc -o starts starts.c 2> words && gcc -D_GNU_SOURCE -shared -fPIC -o held.so held.c -ldl 2>> words; then
    on_two_nodes env LD_PRELOAD="$scratch/held.so" ./starts > default.txt 2>&1 || echo "a rank dies by the default fence"
    SLURM_PMIX_FENCE=$fence on_two_nodes env LD_PRELOAD="$scratch/held.so" ./starts > set.txt 2>&1
    [ $? = 0 ] && grep -qx together set.txt || fail "SLURM_PMIX_FENCE=$fence: $(cat set.txt)"
    grep -qx together default.txt && echo "the default fence of this Slurm is a barrier"
else
    echo "SKIPPED in part: no compiler for the fence of PMIx: $(tail -n 1 words)"
fi
on_two_nodes "$holdfast" doctor 2>&1 | grep -A 1 '^ *warn *PMIx fence' | grep -q 'export SLURM_PMIX_FENCE=ring' || fail "doctor: the default fence"
SLURM_PMIX_FENCE=$fence on_two_nodes "$holdfast" doctor 2>&1 | grep -q "^ *ok *PMIx fence *$fence" || fail "doctor: SLURM_PMIX_FENCE=$fence"

digest() { grep -o '"digest": "[0-9a-f]*"' "$1"; }
checkpoints() { ls -d "my study"/*/checkpoints/*/[0-9]* 2> /dev/null; }
job_of() { sed -n "s/^$1 //p" "my study/slurm/submitted"; }
queue_empty() { [ -z "$(squeue --noheader)" ]; }
in_state() { [ "$(job_state "$1")" = "$2" ]; }
restarts() { scontrol show job "$1" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p'; }
restarted() { [ "$(restarts "$1")" = "$2" ]; }
# Slurm waits two minutes before it starts again what was requeued.
run_soon() {
    await "$1 waits" in_state "$1" PENDING
    scontrol update "JobId=$1" StartTime=now || fail "no earlier start of $1"
}
stop_and_submit() {
    "$submit" cancel job.toml > words 2>&1 || fail "cancel: $(cat words)"
    await "what is cancelled leaves" queue_empty
    sleep 1
    queue_empty || fail "cancelled, and back: $(squeue)"
    "$submit" job.toml > words 2>&1 || fail "submitted again: $(cat words)"
}
# A checkpoint that was not there when it was asked for: a task is under way. Its ranks stand still till go_on, so that
# what disturbs them finds them in the middle, however late it comes.
await_progress() {
    before=$(checkpoints)
    await "a new checkpoint" caught
}
caught() { [ -n "$(checkpoints | grep -vxF -e "$before")" ] && ranks -STOP && task=$(running_task) && [ -n "$task" ]; }
ranks() { pkill "$1" -f "^$holdfast train --data $scratch/"; }
go_on() { ranks -CONT; }
running_task() { squeue --noheader --array --states=RUNNING --format=%i | head -n 1; }

# 1. Submitted once; a second time it is refused while it is queued.
"$submit" job.toml > words 2>&1 || fail "submit: $(cat words)"
[ "$(wc -l < words)" = 4 ] || fail "not four stages: $(cat words)"
"$submit" job.toml > words 2>&1 && fail "submitted twice" || grep -q 'still in the queue' words || fail "$(cat words)"
[ -z "$(find "my study/slurm" -type f -perm /077)" ] || fail "scripts that others may read"

# 2. What Slurm sends before the limit, to the script alone, twice: checkpoint, back into the queue, go on.
for turn in 1 2; do
    await_progress
    before=$(restarts "$task")
    kill -USR1 "$(pgrep -f "^/bin/bash $scratch/slurm/spool-.*/slurm_script")"
    go_on
    await "task $task back in the queue" restarted "$task" $((before + 1))
    run_soon "$task"
done
[ "$(cat "my study"/slurm/train-*.log | grep -c 'interrupted by a signal; a checkpoint was written')" = 2 ] ||
    fail "the logs do not say why they stopped: $(cat "my study"/slurm/train-*.log)"
! grep -hE 'MPI_ABORT|Killed|terminated' "my study"/slurm/train-*.log || fail "an orderly stop is not quiet"

# 3. Cancelled: nothing comes back by itself; submitted again, it goes on.
await_progress
"$submit" status job.toml > words 2>&1 && grep -q '1 running' words &&
    grep -qE '^  [0-9]+_[0-9]: .*(checkpoint written|left)' words || fail "status: $(cat words)"
go_on
stop_and_submit

# 4. A node goes down in the middle: Slurm requeues its task.
await_progress
before=$(restarts "$task")
stop_node 2
go_on
await "the node that goes down takes its task along" restarted "$task" $((before + 1))
start_node 2
run_soon "$task"

# 5. srun and a rank killed: the task fails and nothing waits for it; submitted again, it goes on.
for victim in srun rank; do
    await_progress
    case $victim in
        srun) kill -KILL "$(pgrep -of "^srun .* train --data $scratch/")" ;;
        rank) kill -KILL "$(pgrep -nf "^$holdfast train --data $scratch/")" ;;
    esac
    go_on
    await "the task fails without its $victim" in_state "$task" FAILED
    stop_and_submit
done

# 6. To the end, and the same bytes.
for turn in 1 2 3 4; do queue_empty || (await "the end" queue_empty > /dev/null); done
"$submit" job.toml > words 2>&1 && grep -q 'all 2 runs are finished' words || fail "not finished: $(cat words; squeue; tail "my study"/slurm/*.log)"
for batches in 1 2; do
    run="my study/batches=$batches"
    [ "$(digest "$run/manifest.json")" = "$(digest "whole-$batches/manifest.json")" ] || fail "$run: other boxes"
    cmp -s "$run/metrics.jsonl" "whole-$batches/metrics.jsonl" || fail "$run: other metrics"
    [ "$(digest "$run/certificates.json")" = "$(digest "whole-$batches/certificates.json")" ] || fail "$run: other certificates"
    [ -s "$run/evaluation.json" ] && [ -s "$run/report.html" ] || fail "$run: $(ls "$run")"
    [ ! -e "$run/checkpoints" ] && [ ! -e "$run/members" ] || fail "$run: left behind: $(ls "$run")"
done

((failures == 0)) || tail -n 5 "my study"/slurm/*.log
((failures == 0)) && echo "an experiment on Slurm, disturbed in every way, ends in the bytes of mpirun"
exit $((failures > 0))
