# Sourced by test scripts behind script.sh: two hosts of their own, each a network namespace with a name, joined by one
# cable. Nothing of the machine's own network is touched. make_hosts ends the test as skipped where they cannot be made;
# on_hosts OPTIONS… is mpirun on the first of them, one rank a host unless told otherwise; cable up|down; at the end both
# are gone with whatever runs in them.

namespace=hf$$
on_host() { ip netns exec "$namespace-$1" unshare --uts sh -c "hostname host$1 && exec \"\$@\"" sh "${@:2}"; }
remove_hosts() {
    local host
    for host in 1 2; do
        ip netns pids "$namespace-$host" 2> /dev/null | xargs -r kill -KILL
        ip netns del "$namespace-$host" 2> /dev/null
    done
    rm -rf "$scratch"
}
make_hosts() {
    command -v ip unshare > /dev/null && ip netns add "$namespace-1" 2> /dev/null ||
        { echo "SKIPPED: no network namespaces can be made here (root, iproute2)" && exit 77; }
    trap remove_hosts EXIT
    ip netns add "$namespace-2" &&
        ip link add cable netns "$namespace-1" type veth peer name cable netns "$namespace-2" &&
        on_host 1 true || { echo "SKIPPED: no hosts can be made of network namespaces here" && exit 77; }
    local host
    for host in 1 2; do
        ip -n "$namespace-$host" link set lo up
        ip -n "$namespace-$host" addr add "10.77.0.$host/24" dev cable
        ip -n "$namespace-$host" link set cable up
    done
    # What mpirun takes for ssh: HOST WORDS…
    cat > start_on_host << END
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec $namespace-\$host unshare --uts sh -c "hostname host\$host && \$*"
END
    chmod +x start_on_host
}
cable() { ip -n "$namespace-1" link set cable "$1"; }
on_hosts() {
    on_host 1 timeout -k 5 120 mpirun --mca plm_rsh_agent "$scratch/start_on_host" --mca plm_rsh_no_tree_spawn 1 \
        --mca pml ob1 --mca btl self,vader,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
        --mca oob_tcp_if_include 10.77.0.0/24 --host "${hosts:-10.77.0.1:1,10.77.0.2:1}" "$@"
}
# Of the program's ranks, those on a host.
ranks_on() {
    local process
    for process in $(ip netns pids "$namespace-$1"); do
        [ "$(readlink "/proc/$process/exe")" = "$holdfast" ] && echo "$process"
    done
}
