#!/usr/bin/env bash
# single_precision.sh HOLDFAST: train, certify, evaluate and release in single precision. Another program than double:
# other boxes; but its own bytes are the same on any ranks, threads and backends, and it is never mixed with double.
set -euo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 1500 --test 100 --seed 3 --out blobs.h5 --quiet > /dev/null
fail() {
    echo "FAILED: $*"
    exit 1
}
common=(--data blobs.h5 --quiet --set network.hidden=[16,8] --set certificate.levels=10 --set training.batches=2
        --set training.epochs=5 --set training.expected_records=1500)
# on RANKS COMMAND…: of one rank without mpirun, which is half the time
on() { if [ "$1" = 1 ]; then "${@:2}"; else mpirun -n "$@"; fi; }
# boxes RANKS RUN TRAIN-OPTIONS…: the digest of a training
boxes() {
    on "$1" "$holdfast" train "${common[@]}" --out "$2" --set training.precision=single "${@:3}" > "$2.txt"
    grep -o '"digest": "[0-9a-f]*"' "$2/manifest.json"
}
# answers RANKS RUN: digests of distances and evaluation
answers() {
    on "$1" "$holdfast" certify --run "$2" --queries blobs.h5 --json --quiet | grep -o '"digest":"[0-9a-f]*"'
    on "$1" "$holdfast" evaluate --run "$2" --data blobs.h5 --epsilon 0.3,1 --json --quiet | grep -o '"digest":"[0-9a-f]*"'
}

# 1. The same bytes on any ranks, threads and backends.
for clip in elementwise factored substitute; do
    options=(--set clip.kind=$clip)
    [ $clip = substitute ] && options=(--set certificate.relation=substitute --set certificate.budget=per_batch)
    expected=$(boxes 1 "$clip-1" "${options[@]}")
    answered=$(answers 1 "$clip-1")
    [ "$(boxes 2 "$clip-2" "${options[@]}")" = "$expected" ] && [ "$(answers 2 "$clip-2")" = "$answered" ] || fail "$clip: 2 ranks differ from 1"
    [ "$(OMP_NUM_THREADS=3 boxes 1 "$clip-3" "${options[@]}")" = "$expected" ] && [ "$(OMP_NUM_THREADS=3 answers 1 "$clip-3")" = "$answered" ] ||
        fail "$clip: 3 threads differ"
    [ "$(boxes 1 "$clip-r" "${options[@]}" --set run.backend=reference)" = "$expected" ] || fail "$clip: the reference differs"
done

# 2. The run says so, and so do its files and its guarantee.
grep -q '^single precision, exact in units of 2^-50 .* and 2^-18 ' elementwise-1.txt || fail "summary: $(cat elementwise-1.txt)"
claims elementwise-1.txt 'proved: .* in single precision lie' || fail "guarantee: $(cat elementwise-1.txt)"
grep -q '"training.precision": "single"' elementwise-1/manifest.json || fail "the manifest's configuration"
grep -q '"precision": "single"' elementwise-1/manifest.json || fail "the manifest's arithmetic"

# 3. It may be released from.
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --budget 20 > account.txt
"$holdfast" release --queries-are-public --quiet --ledger ledger.db --run elementwise-1 --queries blobs.h5 --epsilon 0.1 > labels.txt
[ "$(grep -c '^[01]$' labels.txt)" = 100 ] || fail "labels: $(head -3 labels.txt)"

# 4. Double is another program; a manifest of before the option means double, and is certified in it.
"$holdfast" train "${common[@]}" --out double > double.txt
certified() { "$holdfast" certify --run "$1" --queries blobs.h5 --json --quiet | grep -o '"digest":"[0-9a-f]*"'; }
cmp -s <(grep -o '"digest": "[0-9a-f]*"' double/manifest.json) <(grep -o '"digest": "[0-9a-f]*"' elementwise-1/manifest.json) && fail "double and single are the same program"
in_double=$(certified double)
sed -i '/"training.precision"/d' double/manifest.json
reseal double/manifest.json
[ "$(certified double)" = "$in_double" ] || fail "a manifest without the option is not double's"

# 5. A checkpoint of the other precision is refused, as of any other setting.
interrupted=("$holdfast" train "${common[@]}" --set training.epochs=2000 --set run.backend=reference --set run.checkpoint_steps=1 --out interrupted)
"${interrupted[@]}" --set training.precision=single > /dev/null 2> log.txt & job=$!
until ls -d interrupted/checkpoints/0/[0-9]* > /dev/null 2>&1; do kill -0 $job || fail "finished too early: $(cat log.txt)"; sleep 0.01; done
kill -TERM $job
wait $job && fail "a terminated run did not say so"
"${interrupted[@]}" --resume > /dev/null 2> err.txt && fail "resumed in double"
grep -q 'another configuration' err.txt || fail "the refusal does not say why: $(cat err.txt)"

# 6. A record far outside the public range counts as its end, in single as in double: no run ends for it.
{
    echo a,b,y
    for ((i = 0; i < 40; ++i)); do echo "$((i % 7)).5,$((i == 5 ? 9 : 0))e$((i == 5 ? 40 : 0)),$((i % 2))"; done
} > far.csv
"$holdfast" import far.csv --label y --out far.h5 --test-fraction 0.1 --quiet > /dev/null 2> err.txt || fail "import: $(cat err.txt)"
far() { "$holdfast" train --data far.h5 --out "far-$1" --set training.precision="$1" --set network.hidden=[4] --set certificate.levels=2 --quiet; }
far double > /dev/null || fail "double holds 9e40"
far single > /dev/null 2> err.txt || fail "a record far outside the public range ends the run: $(cat err.txt)"

# 7. Midpoint-radius products are refused, with the remedy.
status=0
"$holdfast" train "${common[@]}" --out rump --set training.precision=single --set certificate.product=rump > /dev/null 2> err.txt || status=$?
[ $status = 2 ] && grep -q 'training.precision = "double"' err.txt || fail "rump: $status $(cat err.txt)"
echo "single precision as documented"
