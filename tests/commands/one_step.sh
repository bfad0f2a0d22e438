#!/usr/bin/env bash
# one_step.sh HOLDFAST: after one step over everything all levels follow from two, so a run keeps no more, whatever K is;
# every job finds the others, and they are those of the budget that trains each level (which charges as much in one batch).
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --records 3000 --test 200 --seed 3 --population step --out blobs.h5 --quiet > /dev/null || fail "no data"
common=(--data blobs.h5 --quiet --set clip.gamma=0.005 --set training.learning_rate=1600 --set training.epochs=1 --set training.batches=1)
trained() { "$holdfast" train "${common[@]}" "${@:2}" --out "$1" > /dev/null || fail "$1 does not train"; }
size() { stat -c %s "$1/boxes.h5"; }
# The table of certified fractions, and the digest of all distances.
certified() { "$holdfast" certify --run "$1" --queries blobs.h5:test --quiet --json | grep -o '"\(digest\|levels\|table\)":[^]]*'; }

for network in 'network.hidden=[]' 'network.hidden=[5]'; do
    for relation in add_remove remove substitute; do
        name=${network//[^0-9]/}$relation
        trained "$name" --set "$network" --set certificate.relation=$relation --set certificate.levels=150
        trained "$name-far" --set "$network" --set certificate.relation=$relation --set certificate.levels=2900
        [ "$(size "$name")" = "$(size "$name-far")" ] || fail "$name: levels take room: $(size "$name"), $(size "$name-far")"
        mpirun -n 3 "$holdfast" train "${common[@]}" --set "$network" --set certificate.relation=$relation --set certificate.levels=150 --out "$name-ranks" > /dev/null || fail "$name: not on ranks"
        cmp -s "$name/boxes.h5" "$name-ranks/boxes.h5" || fail "$name: other boxes on 3 ranks"
        "$holdfast" verify "$name" --data blobs.h5 --quiet > verified.txt 2>&1 || fail "$name: $(cat verified.txt)"
    done
    # Every level trained: charged in the one batch there is, k Gamma.
    name=${network//[^0-9]/}add_remove
    trained "$name-each" --set "$network" --set certificate.levels=150 --set certificate.budget=per_batch
    [ "$(size "$name-each")" -gt $((2000 + $(size "$name"))) ] || fail "$name: the other budget trains no levels"
    [ -n "$(certified "$name")" ] && [ "$(certified "$name")" = "$(certified "$name-each")" ] || fail "$name: other distances than of levels that are trained: $(diff <(certified "$name") <(certified "$name-each"))"
done

# A second step, and every level is trained again.
trained two --set 'network.hidden=[]' --set certificate.levels=150 --set training.epochs=2
[ "$(size two)" -gt $((2000 + $(size add_remove))) ] || fail "levels of two steps do not follow from two"

# The release of a far level, and what stays when people are forgotten.
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --budget 9 --budget-delta 1e-3 > /dev/null || fail "no account"
"$holdfast" release --run add_remove-far --queries blobs.h5:test --queries-are-public --first 5 --epsilon 0.01 --ledger ledger.db --quiet > released.txt || fail "no release"
[ "$(grep -c '' released.txt)" -ge 5 ] || fail "released: $(cat released.txt)"
printf '%s\n' 1 2 3 > ids
"$holdfast" unlearn --run remove-far --data blobs.h5 --ids ids --queries blobs.h5:test --quiet > stays.txt || fail "no unlearning"
"$holdfast" unlearn --run remove-far --data blobs.h5 --ids ids --out without --out-data left.h5 --quiet > /dev/null || fail "no run without them"
"$holdfast" verify without --data left.h5 --quiet > verified.txt 2>&1 || fail "the run without them: $(cat verified.txt)"

[ $failures = 0 ] && echo "one step, any number of levels"
exit $((failures > 0))
