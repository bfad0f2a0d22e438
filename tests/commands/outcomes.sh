#!/usr/bin/env bash
# outcomes.sh HOLDFAST: whoever may start a release learns nothing but labels. On neighbouring datasets made to hurt
# (records huge and tiny, one record more or less at every boundary of counts, none left for a member) training ends
# with the same exit code, and a release with the same exit code, the same words on stderr, as many lines on stdout
# and a ledger of the same size: for every mechanism, for queries far outside any range, within the budget and beyond.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
compared=0

# table FIRST LAST EXTRA…: records FIRST..LAST of one population, then lines of EXTRA.
table() {
    echo id,a,b,y
    for ((i = $1; i <= $2; ++i)); do echo "$i,$((i % 3)).$((i * 37 % 100)),$((i % 2)).$((i * 53 % 90)),$((i % 3))"; done
    printf '%s\n' "${@:3}"
}
queries() {
    echo a,b
    printf '%s\n' 0.5,0.5 2,1 1e308,-1e308 -1.7e308,1.7e308 1e-320,0 0,0 1048576,-1048577
}
queries > queries.csv
"$holdfast" import queries.csv --no-labels --out queries.h5 --quiet > /dev/null || fail "cannot import the queries"

# world NAME TABLE-ARGUMENTS…: one dataset, imported and with an account, as its owner would.
world() {
    mkdir -p "$1"
    table "${@:2}" > "$1/data.csv"
    "$holdfast" import "$1/data.csv" --label y --id id --population people --expected-records 90 --out "$1/data.h5" --quiet > /dev/null ||
        fail "$1 cannot be imported"
}
# What an outsider sees of a command: exit code, lines on stdout, words on stderr with the folder's name taken out.
seen() {
    "${@:2}" > out.txt 2> err.txt
    printf 'exit %s, %s lines\n' "$?" "$(wc -l < out.txt)"
    sed "s|$1|WORLD|g" err.txt
}
# outcomes NAME SETTING…: of training and of every release from the run.
outcomes() {
    local name=$1 settings=() relation=add_remove
    shift
    [[ $* == *=substitute* ]] && relation=substitute
    for setting in "$@"; do settings+=(--set "$setting"); done
    rm -rf "$name/run" "$name/ledger.db"
    "$holdfast" train --quiet --data "$name/data.h5" --out "$name/run" --set network.classes=3 "${settings[@]}" > /dev/null 2> train.txt
    printf 'train: exit %s\n' "$?"
    "$holdfast" account --ledger "$name/ledger.db" --data "$name/data.h5" --budget 40 --budget-delta 1e-3 --relation $relation --quiet > /dev/null || fail "$name has no account"
    while read -r mechanism needs; do
        local delta=0
        [[ $needs != *'; needs delta'* ]] || delta=1e-5
        for epsilon in "${epsilons[@]}"; do
            echo "$mechanism at $epsilon:"
            rm -f "$name/fresh.db"
            cp "$name/ledger.db" "$name/fresh.db"
            seen "$name" "$holdfast" release --queries-are-public --run "$name/run" --queries queries.h5:train --epsilon $epsilon --delta $delta \
                --mechanism $mechanism --ledger "$name/fresh.db"
            stat -c 'ledger of %s bytes' "$name/fresh.db"
        done
    done < <(releasable_mechanisms)
}
# same A B SETTING…: the outcomes of two neighbours; those of A once for all its neighbours.
known=
same() {
    local first=$1 second=$2
    shift 2
    [[ $known == "$first $*" ]] || outcomes "$first" "$@" > first.txt
    known="$first $*"
    outcomes "$second" "$@" > second.txt
    diff first.txt second.txt > difference.txt || fail "$first and $second with $*: $(head -5 difference.txt)"
    grep -q 'exit 0, 7 lines' first.txt || fail "$first with $*: nothing was released"
    [[ ${epsilons[*]} != *50* ]] || grep -q 'exit 6' first.txt || fail "$first with $*: no budget was refused"
    compared=$((compared + $(wc -l < first.txt)))
}

world w90 1 90
world w90-with-huge 1 90 "1000,1e300,-1e300,1"
world w90-with-largest 1 90 "1000,1.7e308,1.7e308,2"
world w90-with-tiny 1 90 "1000,1e-320,-1e-310,0"
world w89 1 89
world w1 1 1
world w2 1 2
world w9 1 9
world w10 1 10

small=("network.hidden=[4]" certificate.levels=6 training.epochs=2)
epsilons=(1 50) # within the budget, and beyond it
for neighbour in w90-with-huge w90-with-largest w90-with-tiny w89; do same w90 $neighbour "${small[@]}"; done
epsilons=(1) # what a budget refuses is refused before a run is looked at
# Deep networks in single precision, where bounds grow fastest.
same w90 w90-with-huge "network.hidden=[9,9,9,9,9,9,9,9]" training.precision=single training.learning_rate=100 clip.gamma=10 certificate.levels=5
same w90 w90-with-huge "${small[@]}" training.precision=fixed training.learning_rate=100
same w90 w90-with-tiny "${small[@]}" training.precision=fixed training.activation_bits=8 clip.kind=factored
# Counts: members without records, K beyond the records there are, batches without records.
same w10 w9 "${small[@]}" ensemble.members=9 training.batches=3
same w2 w1 "${small[@]}" certificate.levels=80 training.batches=40 ensemble.members=2
same w2 w1 "${small[@]}" certificate.relation=substitute certificate.budget=per_batch

[ "$failures" = 0 ] && echo "$compared lines of outcomes agree"
exit $((failures > 0))
