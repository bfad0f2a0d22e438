#!/usr/bin/env bash
# poison.sh HOLDFAST: boxes against poisoned records, from the example on: certified and evaluated for the owner, the same
# from any ranks, and never the ground of a release.
set -uo pipefail
configs=$(realpath "$(dirname "$0")/../../jobs/configs")
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --centre 1.5 --spread 0.35 --records 300 --test 40 --seed 1 --out blobs.h5 --quiet > /dev/null
# train RANKS RUN SETTING…
train() {
    local settings=()
    for setting in network.hidden=[6] training.expected_records=300 "${@:3}"; do settings+=(--set "$setting"); done
    mpirun -n "$1" "$holdfast" train --quiet --config "$configs/poison.toml" --data blobs.h5 --out "$2" "${settings[@]}" > "$2.txt" 2> err.txt || fail "$2 does not train: $(cat err.txt)"
}
digest() { grep -o '^ "digest": "[0-9a-f]*"' "$1/manifest.json"; }
train 1 one
claims one.txt 'moves by at most 0.02' && claims one.txt 'proved' || fail "what the boxes hold is not said: $(cat one.txt)"

# 1. Ranks that share records, and ranks that share levels, find the same least values.
train 2 blocks run.grid=1x1x2
train 3 levels run.grid=1x3x1
for run in blocks levels; do [ "$(digest one)" = "$(digest $run)" ] || fail "$run has other boxes"; done

# A count that is not the dataset's own is told.
"$holdfast" train --config "$configs/poison.toml" --data blobs.h5 --out other --set network.hidden=[6] --set training.expected_records=3000 > /dev/null 2> err.txt
grep -q 'training.expected_records = 3000, but the dataset states 300: steps divide by 3000' err.txt || fail "another count is not told: $(cat err.txt)"

# 2. Distances: at most K, and no more against more poison.
train 1 more poison.input_radius=1.5
for run in one more; do "$holdfast" certify --quiet --json --run "$run" --queries blobs.h5:test > "$run.json" || fail "$run is not certified"; done
"$holdfast" evaluate --quiet --json --run one --data blobs.h5:test --epsilon 1 > evaluation.json || fail "no evaluation"
grep -q 'a neighbour.s record may differ by more' evaluation.json || fail "a mechanism claims privacy against poison"
"$holdfast" evaluate --quiet --run one --data blobs.h5:test --epsilon 1 | grep -q '^no private answers, release refuses them' || fail "a table of private accuracy against poison"
"$holdfast" report one --quiet --out one.html > /dev/null && grep -q 'records are poisoned within the stated limits' one.html || fail "the report does not say what is poisoned"

# 3. Nothing is released.
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --budget 10 --budget-delta 0.01 > /dev/null || fail "cannot open an account"
for how in "" "--batch --delta 0.001" "--session new --delta 0.001"; do
    # shellcheck disable=SC2086
    "$holdfast" release --queries-are-public --run one --queries blobs.h5:test --epsilon 1 --ledger ledger.db $how > /dev/null 2> err.txt
    [ $? = 2 ] || fail "release $how: $(cat err.txt)"
done
"$holdfast" release --queries-are-public --run one --queries blobs.h5:test --epsilon 1 --ledger ledger.db > /dev/null 2> err.txt
grep -q 'a neighbour.s record may differ by more than a poison may' err.txt && grep -q 'certificate.relation' err.txt || fail "released: $(cat err.txt)"
"$holdfast" publish --run one --ledger ledger.db > /dev/null 2>&1 && fail "published"
((failures == 0)) && echo "poison is certified and never released from"
exit $((failures > 0))
