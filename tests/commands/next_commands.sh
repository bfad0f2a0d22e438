#!/usr/bin/env bash
# next_commands.sh HOLDFAST: from advice to answers, each command ends with the next one, complete: run as printed.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
mkdir bin "a folder"
ln -s "$(realpath "$holdfast")" bin/holdfast
PATH=$scratch/bin:$PATH
# next NAME: runs the command that the one before ended with, which must be the command NAME.
next() {
    local line
    line=$(sed -n 's/^Next: //p' said.txt | sed 's/NEW.csv/others.h5:test/')
    [[ $line == "holdfast $1 "* && $(wc -l <<<"$line") == 1 ]] || fail "no $1 after: $(<said.txt)"
    bash -c "$line" >next.txt 2>err.txt || fail "$line: $(<err.txt)"
    cat next.txt err.txt >said.txt # publish names the data on stderr: what it prints may be shown with the model
}
# chain FILE CLASSES RELATION
chain() {
    holdfast advise --records 300 --features 3 --classes "$2" --epsilon 2 --relation "$3" --data "$1" --out "$1.toml" >said.txt 2>err.txt ||
        fail "advise: $(<err.txt)"
    for command in account train publish predict; do next "$command"; done
    grep -q '^Next:' said.txt && fail "predict goes on: $(<said.txt)"
    answers=${1%.h5}-run-model-answers.csv
}

holdfast synth tabular --features 3 --records 300 --test 40 --out plain.h5 --quiet >/dev/null || fail synth
chain plain.h5 2 add_remove
[[ $(grep -c '^[01]$' "$answers") == 40 ]] || fail "answers: $(head -n 3 "$answers")"
awk 'BEGIN { srand(3); print "id,a,b,c,kind"
    for (i = 0; i < 340; ++i) { a = rand(); b = rand(); print i "," a "," b "," rand() "," (a > 0.6 ? "long" : b > 0.5 ? "wide" : "small") } }' >kinds.csv
holdfast import kinds.csv --label kind --classes "small|wide|long" --id id --scale '*=0:1' --test-fraction 0.1176 --population shelf \
    --out "a folder/kinds of it.h5" --quiet >/dev/null 2>err.txt || fail "import: $(<err.txt)"
chain "a folder/kinds of it.h5" 3 substitute
[[ $(head -n 1 "$answers") == 'row,class,probability of small,probability of wide,probability of long' && $(wc -l <"$answers") -gt 20 ]] ||
    fail "answers: $(head -n 3 "$answers")"

# From a run of boxes to its page and the account that pays for its labels; from a request to forget to the check of it.
holdfast synth blobs --records 1000 --test 20 --population others --seed 9 --out others.h5 --quiet >/dev/null || fail synth
holdfast synth blobs --records 300 --test 40 --population boxes --out boxes.h5 --quiet >/dev/null || fail synth
holdfast train --data boxes.h5 --out boxes --set ensemble.members=2 --set certificate.levels=2 --set training.epochs=1 >said.txt 2>err.txt || fail "train: $(<err.txt)"
for command in evaluate report account; do next "$command"; done
holdfast report boxes --ledger boxes.ledger >said.txt && next release
holdfast certify --run boxes --queries boxes.h5:test >said.txt 2>err.txt && next evaluate
# From one whose labels may not leave: nothing that asks for a price.
holdfast train --data boxes.h5 --out poisoned --set certificate.relation=poison --set poison.input_radius=0.01 --set certificate.budget=both --set certificate.levels=2 --set training.epochs=1 \
    >said.txt 2>err.txt || fail "train: $(<err.txt)"
for command in certify report; do next "$command"; done
echo 3 >ids
holdfast unlearn --run boxes --data boxes.h5 --ids ids >said.txt 2>err.txt && next unlearn && next verify
# Of a fleet, which is asked one thing after the other.
holdfast synth blobs --records 20 --test 20 --population few --seed 3 --out few.h5 --quiet >/dev/null || fail synth
holdfast fleet --data few.h5 --out fleet --set 'network.hidden=[3]' --set clip.kind=none >said.txt 2>err.txt || fail "fleet: $(<err.txt)"
for command in evaluate idp report influence report account; do next "$command"; done
holdfast report fleet --ledger few.ledger >said.txt && next access
# What is measured is trained on by the account that is open.
awk 'BEGIN { srand(3); print "id,a,kind"; for (i = 0; i < 4000; ++i) { a = rand(); print i "," a "," (a > 0.6) } }' >measured.csv
holdfast import measured.csv --label kind --person id --population measured --out raw.h5 --quiet >/dev/null 2>err.txt || fail "import: $(<err.txt)"
holdfast account --ledger open.ledger --data raw.h5 --budget 1 --budget-delta 1e-5 --composition gdp --quiet >/dev/null || fail account
holdfast measure --data raw.h5 --ledger open.ledger --out measured.h5 >said.txt 2>err.txt || fail "measure: $(<err.txt)"
next advise
grep -q '^map = "bins"' measured-advised.toml && ! grep -q '^edges' measured-advised.toml || fail "bins that were measured: $(<measured-advised.toml)"
for command in train publish; do next "$command"; done

# By the program as it was called: by its path, as here, or by its name, as above and from Python.
"$holdfast" synth blobs --records 20 --test 20 --out by-path.h5 --quiet | grep -qxF "Next: $holdfast inspect by-path.h5" || fail "another program than was called"
mpirun -n 2 bin/holdfast synth blobs --records 20 --test 20 --out "by path.h5" --quiet | grep -qxF "Next: bin/holdfast inspect 'by path.h5'" || fail "another program than was called, on two ranks"
# What a configuration is not named for goes nowhere, and nothing is opened.
holdfast advise --records 300 --features 3 --epsilon 1 --data no/such.h5 --out other.toml --quiet >said.txt || fail "advise opens --data"
grep -q '^Next: holdfast account --ledger no/such.ledger ' said.txt || fail "next: $(<said.txt)"
holdfast advise --records 300 --features 3 --epsilon 1 --force --out other.toml --quiet | grep '^Next:' && fail "next, of no data"
holdfast account --ledger plain.ledger --data plain.h5 --quiet | grep '^Next:' && fail "next, of no configuration"

((failures == 0)) && echo "every command runs the next"
