#!/usr/bin/env bash
# quickstart.sh HOLDFAST: tools/quickstart --csv of a small table of patients publishes a model for the budget that was
# asked for, which gets the held-out records right.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
if [[ ! $root/build/holdfast -ef $holdfast ]]; then
    echo "SKIPPED: tools/quickstart runs build/holdfast, and another one is tested"
    exit 77
fi

# What cmake builds is there already.
mkdir bin
printf '#!/bin/bash\n' >bin/cmake
chmod +x bin/cmake
PATH=$scratch/bin:$PATH

# 30 measurements of 570 patients, in units of their own; most tell the same: how far the illness is.
awk 'BEGIN { srand(7); printf "number"; for (j = 0; j < 30; ++j) printf ",m" j; print ",ill"
    for (i = 0; i < 570; ++i) {
        ill = rand() < 0.4; state = (ill ? 1.2 : -0.8) + normal(); printf "%d", i
        for (j = 0; j < 30; ++j) printf ",%.4f", (j % 7 + 1) * exp(0.3 * state + 0.3 * normal())
        print "," ill } }
    function normal(  sum, k) { for (k = 0; k < 12; ++k) sum += rand(); return sum - 6 }' >patients.csv
"$root/tools/quickstart" --no-install --csv patients.csv --label ill --out out --id number --scale-from-data \
    --expected-records 430 --population patients --ranks 1 >result 2>words || fail "quickstart: $(tail -5 words)"
# The noise is drawn anew: of 25 models from .775 to .824, mean .804, deviation .013; who says the greater class, .6.
[[ $(sed -n 's/^accuracy \([0-9.]*\) of .*/\1/p' result) > 0.72 ]] || fail "too few right: $(<result)"
grep -q 'published: .*model.h5, for epsilon 1 and delta 1e-5 in all' result || fail "no model: $(<result)"
[[ -s out/report.html && -s out/advised.toml ]] || fail "no report or no advice"
spent=$("$holdfast" account --ledger out/ledger.db --population patients --json --quiet)
[[ $spent == *'"spent_epsilon":1.0'* ]] || fail "spent: $spent"

# Nothing stated: it goes on, and says what that costs. Another budget.
"$root/tools/quickstart" --no-install --csv patients.csv --label ill --epsilon 0.5 --out out --ranks 1 >result 2>words ||
    fail "quickstart without facts: $(tail -5 words)"
for words in 'no column names' 'the count found stands in, rounded' 'no population' 'computed from the private'; do
    grep -q "$words" words || fail "does not say: $words"
done
grep -q 'as published (gap: .*row number decided.*number of records was found' words || fail "what is found is laundered: $(tail -3 words)"
grep -q 'holds all the same' words && fail "promises more than the claim"
grep -q 'for epsilon 0.5' result || fail "another budget: $(<result)"

((failures == 0)) && echo "quickstart as it should be"
