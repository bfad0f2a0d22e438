# Sourced at the top of a test script, whose first argument is the program: $holdfast is its path, $scratch an empty
# folder to work in, gone at the end; fail WORDS counts $failures; reseal FILE…; await WORDS COMMAND… tries for three minutes or more;
# releasable_mechanisms: a name and its needs a line; mode FILE; field FILE NAME: the first of that name in JSON;
# kill_ever_later MOST COMMAND…; claims FILE PATTERN; make_locale NAME; $support: the folder of this file.

holdfast=$(realpath "$1")
support=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
source "$support/../../tools/lib.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
export OMP_WAIT_POLICY=passive # as the program has it: without it each start is two
# Debian's own: the python3 of a version manager is a script that takes longer to find it than it runs.
[ ! -x /usr/bin/python3 ] || python3() { /usr/bin/python3 "$@"; }
failures=0
# reseal FILE…: files that were changed on purpose, JSON of a run or HDF5 of the same length, as who can write them can
# do it (dist/files/seal.hpp).
reseal() {
    python3 - "$@" << 'END'
import hashlib, sys
digest = lambda text: hashlib.blake2b(text, digest_size=32).digest()
for path in sys.argv[1:]:
    text = open(path, "rb").read()
    if text.startswith(b"\x89HDF"):
        size = int.from_bytes(text[-40:-32], "little")
        seal = b"".join(digest(text[at : min(size, at + (4 << 20))]) for at in range(0, size, 4 << 20)) + text[-56:-32]
        open(path, "wb").write(text[:size] + seal + digest(seal))
        continue
    text = text.split(b',\n "seal"')[0] if b',\n "seal"' in text else text[: text.rindex(b"}")]
    seal = digest(text).hex().encode()
    open(path, "wb").write(text + b',\n "seal": "' + seal + b'"\n}\n')
END
}
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# await WORDS COMMAND…: until it succeeds, for three minutes times the load of the machine.
await() {
    local end=$((SECONDS + 180 * $(load_factor)))
    while ((SECONDS < end)); do
        "${@:2}" && return
        sleep 0.1
    done
    fail "in vain: $1"
}
mode() { stat -c %a "$1"; }
# make_locale NAME: LC_ALL=NAME.UTF-8 then works in this script. False where localedef or its sources are missing.
make_locale() {
    export LOCPATH=$scratch/locales
    mkdir -p "$LOCPATH"
    localedef -i "$1" -f UTF-8 "$LOCPATH/$1.UTF-8" 2> /dev/null && return
    echo "SKIPPED in part: no locale $1 can be made here (localedef, package locales)"
    return 1
}
# claims FILE PATTERN: a line of it has this, once those that begin with blanks, as the conditions of a claim, are joined to the
# line before.
claims() { grep -q -- "$2" <<<"$(sed -e ':a' -e '$!N' -e 's/\n  */ /' -e 'ta' -e 'P' -e 'D' "$1")"; }
field() { grep -o "\"$2\": *[^,}]*" "$1" | head -1 | cut -d: -f2- | tr -d ' "'; }
# kill_ever_later MOST COMMAND…: killed after 5 ms, then later and later, MOST ms at most, until it ends by itself.
kill_ever_later() {
    local delay status runs=0
    for ((delay = 5; delay < $1; delay += delay / 3 + 1)); do
        ((++runs))
        (timeout -s KILL "$(awk -v d=$delay 'BEGIN { print d / 1000 }')" "${@:2}" >out.txt 2>err.txt; exit $?) 2>/dev/null
        status=$?
        ((status == 0)) && break
        ((status == 137)) || { fail "killed after $delay ms: exit $status: $(cat err.txt)" && break; }
    done
    ((runs > 3)) || fail "it was never killed"
}
releasable_mechanisms() {
    "$holdfast" release --help | sed -n '/^Mechanisms:/,/^Exit codes:/{/^  /p}' | grep -v '; not differentially private\|; holdfast access'
}
