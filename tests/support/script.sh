# Sourced at the top of a test script, whose first argument is the program: $holdfast is its path, $scratch an empty
# folder to work in, gone at the end; fail WORDS counts $failures; await WORDS COMMAND… tries for a minute;
# releasable_mechanisms: a name and its needs a line; $support: the folder of this file.

holdfast=$(realpath "$1")
support=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# await WORDS COMMAND…: until it succeeds, a minute at most.
await() {
    local i
    for ((i = 0; i < 600; ++i)); do
        "${@:2}" && return
        sleep 0.1
    done
    fail "in vain: $1"
}
releasable_mechanisms() {
    "$holdfast" release --help | sed -n '/^Mechanisms:/,/^Exit codes:/{/^  /p}' | grep -v '; not differentially private\|; holdfast access'
}
