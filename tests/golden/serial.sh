#!/usr/bin/env bash
# serial.sh HOLDFAST: the program without MPI (HOLDFAST_MPI=OFF) gives the same bytes. Here it is linked of the same objects with
# the dist/comm of one process, and the whole of it is only configured: tools/wheel compiles it.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
serial=$(dirname "$holdfast")/tests/holdfast_serial
if [ ! -x "$serial" ]; then
    echo "SKIPPED: $serial is not built"
    exit 77
fi

# 1. The same models of every kind.
"$holdfast" synth blobs --centre 1.25 --spread 0.35 --records 400 --test 50 --seed 5 --out blobs.h5 --quiet > /dev/null
kinds=("boxes network.hidden=[5] ensemble.members=2" "noisy network.hidden=[5] noise.law=none clip.kind=norm"
    "convex network.hidden=[] features.norm_limit=1 training.l2=0.001 training.learning_rate=1")
for kind in "${kinds[@]}"; do
    name=${kind%% *} settings=()
    for setting in training.kind=$kind training.expected_records=400; do settings+=(--set "$setting"); done
    for program in holdfast serial; do
        "${!program}" train --quiet --data blobs.h5 --out "$program-$name" "${settings[@]}" > /dev/null 2> words || fail "$program, $name: $(< words)"
        grep -o '^ "digest": "[0-9a-f]*"' "$program-$name/manifest.json" > "$program-$name.digest"
    done
    [ -s "serial-$name.digest" ] && cmp -s "serial-$name.digest" "holdfast-$name.digest" || fail "$name: $(cat ./*-"$name.digest")"
done
"$serial" certify --run serial-boxes --queries blobs.h5:test --json --quiet > serial.json || fail "certify"
"$holdfast" certify --run holdfast-boxes --queries blobs.h5:test --json --quiet > holdfast.json
cmp <(sed 's/serial-boxes/RUN/g' serial.json) <(sed 's/holdfast-boxes/RUN/g' holdfast.json) || fail "other certificates"

# 2. It is of one process, and says so.
mpirun -n 2 "$serial" synth blobs --records 10 --test 0 --out two.h5 --quiet > /dev/null 2> words && fail "two ranks"
grep -q 'built without MPI' words || fail "two ranks are refused in what words: $(< words)"

# 3. What configures it looks for no MPI.
if pkg-config --exists hdf5-serial; then
    cmake -S "$root" -B bare -DCMAKE_BUILD_TYPE=Release -DHOLDFAST_MPI=OFF -DHOLDFAST_CUDA=OFF -DHOLDFAST_TESTS=OFF -DHOLDFAST_BENCHMARKS=OFF \
        -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON > bare.log 2>&1 || fail "not configured: $(tail -5 bare.log)"
    ! grep -q '^MPI_\|openmpi' bare/CMakeCache.txt || fail "MPI is looked for: $(grep '^MPI_\|openmpi' bare/CMakeCache.txt)"
else
    echo "not configured without MPI: libhdf5-dev is not installed"
fi
((failures == 0)) && echo "one process without MPI gives the same bytes"
exit $((failures > 0))
