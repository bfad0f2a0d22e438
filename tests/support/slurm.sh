# Sourced after script.sh by a test of batch jobs: a Slurm of this test alone, on this machine, as root, all of it in
# $scratch/slurm and on ports of its own, gone at the end.
#
#   require_slurm       exit 77, saying why, where there is none (packages slurm-wlm and munge)
#   start_slurm NODES   munged, slurmctld and NODES slurmd, each of two processors; the commands of Slurm then find it
#   stop_node I         kills all that runs on a node, as when it loses its power, and says so: Slurm need not find out
#   start_node I        starts it (again)
#   job_state JOB       one word, as PENDING, RUNNING, COMPLETED; of a task 5_1

require_slurm() {
    local program
    for program in munged slurmctld slurmd sbatch srun; do
        [ -n "$(PATH=$PATH:/usr/sbin command -v $program)" ] && continue
        echo "SKIPPED: no $program here (packages slurm-wlm, munge)"
        exit 77
    done
    local reason=
    if [ "$(id -u)" != 0 ]; then
        reason="only root can start the daemons of Slurm"
    elif [ ! -d /sys/devices/system/cpu ]; then
        reason="slurmd needs /sys, which is not mounted here"
    elif ! unshare --mount mount --bind "$scratch" "$scratch" 2> /dev/null; then
        reason="no node can have mounts of its own here: / is no mount point, or the container forbids mounts"
    fi
    [ -z "$reason" ] && return
    echo "SKIPPED: $reason"
    exit 77
}
declare -A daemons=() # name: process
# run_daemon NAME COMMAND…: a child of this test. It ends with the test even where ctest kills that, which runs no trap.
run_daemon() {
    setpriv --pdeathsig KILL "${@:2}" > "$scratch/slurm/words-$1" 2>&1 &
    daemons[$1]=$!
    disown
}
daemon_dead() {
    local process
    for process in "${daemons[@]}"; do kill -0 "$process" 2> /dev/null || return 0; done
    return 1
}

start_slurm() {
    local nodes=$1 folder=$scratch/slurm host port i
    host=$(hostname -s)
    port=$((20000 + $$ % 2000 * 16))
    mkdir -p "$folder/state" "$folder/munge" "$folder/pmix"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chmod 0400 "$folder/munge/key"
    chmod 0755 "$scratch" "$folder" "$folder/munge" # the socket's folder, or munged refuses
    export SLURM_CONF=$folder/slurm.conf PATH=$PATH:/usr/sbin
    {
        cat << END
ClusterName=holdfast
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket,cred_expire=15
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,sched_min_interval=100000,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobRequeue=1
KillWait=5
MinJobAge=600
ReturnToService=2
SlurmdTimeout=300
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
END
        for ((i = 1; i <= nodes; ++i)); do
            echo "NodeName=node$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=2 State=UNKNOWN"
        done
        echo "PartitionName=test Nodes=node[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
    } > "$SLURM_CONF"
    echo "PMIxCliTmpDirBase=$folder/pmix" > "$folder/mpi.conf"
    trap 'stop_slurm; rm -rf "$scratch"' EXIT
    run_daemon munged munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
        --pid-file="$folder/munge/pid" --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
    await "munged starts" munged_settled
    run_daemon slurmctld slurmctld -D -c
    for ((i = 1; i <= nodes; ++i)); do start_node "$i"; done
    await "Slurm's $nodes nodes come up" nodes_settled "$nodes" && nodes_idle "$nodes" && return
    fail "Slurm does not start: $(sinfo --Node 2>&1) $(tail -n 5 "$folder"/words-* "$folder"/slurm*.log)"
    return 1
}
munged_settled() { [ -S "$scratch/slurm/munge/socket" ] || daemon_dead; }
nodes_settled() { nodes_idle "$1" || daemon_dead; }
nodes_idle() { [ "$(sinfo --noheader --Node --states=idle 2> /dev/null | wc -l)" = "$1" ]; }

start_node() {
    # Of several nodes on one machine each needs a place of its own for the sockets of its ranks, under the same name.
    mkdir -p "$scratch/slurm/pmix-node$1"
    run_daemon "node$1" unshare --mount bash -c 'mount --bind "$1" "$2" && exec slurmd -D -N "$3"' start_node \
        "$scratch/slurm/pmix-node$1" "$scratch/slurm/pmix" "node$1"
}

# All that runs on a node shares its mounts.
stop_node() {
    local mounts process
    mounts=$(readlink "/proc/${daemons[node$1]}/ns/mnt") || return
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/ns/mnt" 2> /dev/null)" != "$mounts" ] || kill -KILL "${process#/proc/}" 2> /dev/null
    done
    scontrol update "NodeName=node$1" State=DOWN Reason=power || fail "node$1 is not down"
}

stop_slurm() {
    local name
    ! kill -0 "${daemons[slurmctld]:-}" 2> /dev/null || scancel --quiet --user=root --signal=KILL --full > /dev/null 2>&1
    for name in node1 node2 slurmctld munged; do
        [ -z "${daemons[$name]:-}" ] || end_daemon "${daemons[$name]}"
    done
}
# Five seconds to end, then it is killed.
end_daemon() {
    local i
    for ((i = 0; i < 50; ++i)); do
        kill "$1" 2> /dev/null || return
        sleep 0.1
    done
    kill -KILL "$1" 2> /dev/null
}

job_state() { squeue --noheader --states=all --jobs="$1" --format=%T 2> /dev/null | head -n 1; }
