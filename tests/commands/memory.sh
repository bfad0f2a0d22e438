#!/usr/bin/env bash
# memory.sh HOLDFAST: a training says what memory it takes before it reads a record, and warns where there is less.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --records 200 --test 20 --out blobs.h5 --quiet > /dev/null || fail "no blobs"
few=(--data blobs.h5 --set network.hidden=[8] --set certificate.levels=8 --set training.epochs=1)
"$holdfast" train "${few[@]}" --out plain > /dev/null 2> err.txt || fail "$(cat err.txt)"
grep -q 'a rank takes about [0-9.]* [KM]iB of memory: records ' err.txt && ! grep -q 'this takes' err.txt || fail "says $(cat err.txt)"
tight() { SLURM_MEM_PER_NODE=1 "$@" > /dev/null 2> err.txt || fail "it warns, and trains: $(cat err.txt)"; }
more=("${few[@]}" --set network.hidden=[500])
tight "$holdfast" train "${more[@]}" --out tight
grep -q 'this takes about .* MiB of memory on .*, which has 1.0 MiB left (SLURM_MEM_PER_NODE): the levels take most of it: give the levels to more ranks' err.txt || fail "a small allocation: $(cat err.txt)"
tight "$holdfast" train "${more[@]}" --set certificate.levels=40 --set certificate.budget=per_batch --set certificate.relation=substitute --out selections
grep -q 'a level k keeps 2 k least values .*certificate.budget = "per_epoch"' err.txt || fail "selections: $(cat err.txt)"
"$holdfast" synth blobs --records 20000 --features 40 --out wide.h5 --quiet > /dev/null || fail "no wide blobs"
tight "$holdfast" train --data wide.h5 --set network.hidden=[2] --set certificate.levels=1 --set training.epochs=1 --out data
grep -q 'left (SLURM_MEM_PER_NODE): the data take most of it: give the blocks to more ranks' err.txt || fail "much data: $(cat err.txt)"
tight mpirun -n 2 "$holdfast" train "${more[@]}" --out ranks
[ "$(grep -c 'this takes about' err.txt)" = 1 ] || fail "two ranks: $(cat err.txt)"
tight "$holdfast" train --quiet "${more[@]}" --out quiet
[ ! -s err.txt ] || fail "quiet: $(cat err.txt)"

# NCCL, and what it needs of the GPU's driver, are not there until a GPU's sums are.
LD_DEBUG=libs "$holdfast" --version > version.txt 2> libraries.txt || fail "--version"
grep -q 'libnccl\|libcuda\.' libraries.txt && fail "loads $(grep -m 1 'libnccl\|libcuda\.' libraries.txt)"
grep -q 'find library=libsqlite3' libraries.txt || fail "the loader does not say what it loads"
# Out of memory is said, and has a code.
(ulimit -v 600000; OMP_NUM_THREADS=1 exec "$holdfast" train --quiet --data blobs.h5 --set network.hidden=[20000] --set certificate.levels=200 --set certificate.budget=per_batch --set certificate.relation=substitute --out big > /dev/null 2> err.txt)
code=$?
[ $code = 10 ] && grep -q 'out of memory: .*holdfast plan' err.txt || fail "out of memory: exit $code, $(cat err.txt)"

((failures == 0)) && echo "told beforehand"
exit $((failures > 0))
