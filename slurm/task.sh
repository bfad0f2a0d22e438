#: The rest of every script that slurm/submit writes, behind cpu.sbatch or gpu.sbatch.
# One task of the array, stopped in time and queued again.
set -uo pipefail
export LC_ALL=C
# Slurm's default fence for PMIx, tree, is no barrier: a rank may send to one that is still in MPI_Init, which then crashes.
export SLURM_PMIX_FENCE=ring
umask 077
holdfast=@PROGRAM@
launcher=(@LAUNCHER@)

case ${SLURM_ARRAY_TASK_ID:-0} in
@TASKS@
    *) echo "$0: no task ${SLURM_ARRAY_TASK_ID:-0}" >&2; exit 2 ;;
esac

# Before the time limit Slurm sends USR1 to this script alone; where a job is cancelled or preempted, TERM. Both are
# passed on as USR1 (mpirun would end its ranks a second after TERM): the ranks agree on a step, write a checkpoint and
# exit with 7.
signals=0 cancelled=false child=
pass_on() {
    signals=$((signals + 1))
    [[ -z $child ]] || kill -s USR1 "$child" 2>/dev/null
}
trap pass_on USR1
trap 'cancelled=true; pass_on' TERM

"${launcher[@]}" "$holdfast" "${arguments[@]}" &
child=$!
((signals == 0)) || kill -s USR1 "$child"
status=0
while true; do # a signal ends wait, not what it waits for
    seen=$signals
    wait "$child"
    ended=$?
    ((ended == 127)) || status=$ended
    ((seen != signals)) || break
done

# Stopped by the time limit: back into the queue, to go on from the checkpoint; what waits for this task goes on waiting.
# Without scontrol, as in some containers, the exit code says it: a site may queue jobs that end with 7 again
# (RequeueExit=7 in its slurm.conf), and else running slurm/submit again submits what is left.
if ((status == 7)) && ! $cancelled && ((${SLURM_RESTART_COUNT:-0} < @RESTARTS@)) && command -v scontrol >/dev/null; then
    scontrol requeue "$SLURM_JOB_ID" && exit 0
fi
exit "$status"
