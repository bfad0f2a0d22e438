# Sourced at the top of a test script, whose first argument is the program: $holdfast is its path, $scratch an empty
# folder to work in, gone at the end; fail WORDS counts $failures; reseal FILE…; await WORDS COMMAND… tries for three minutes;
# releasable_mechanisms: a name and its needs a line; $support: the folder of this file.

holdfast=$(realpath "$1")
support=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=1
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
# await WORDS COMMAND…: until it succeeds, three minutes at most: other tests and builds may have the cores.
await() {
    local i
    for ((i = 0; i < 1800; ++i)); do
        "${@:2}" && return
        sleep 0.1
    done
    fail "in vain: $1"
}
releasable_mechanisms() {
    "$holdfast" release --help | sed -n '/^Mechanisms:/,/^Exit codes:/{/^  /p}' | grep -v '; not differentially private\|; holdfast access'
}
