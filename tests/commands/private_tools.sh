#!/usr/bin/env bash
# private_tools.sh HOLDFAST: the settings that tools/private_settings names are those that its rule gives and that train
# takes; tools/private_training measures with them, and tools/private_accuracy with what holdfast advise says.
set -uo pipefail
tools=$(realpath "$(dirname "$0")/../../tools")
source "$(dirname "$0")/../support/script.sh"
refused() {
    local words
    words=$("$@" 2>&1 >/dev/null) && fail "takes ${*:2}"
    [[ $words != *Traceback* ]] || fail "${*:2} ends without a message: $words"
}

# A step's noise has length 1: 0.1 sigma sqrt(22)/33000 of it, with sigma as train itself computes it.
settings=$("$tools/private_settings" --records 33000 --features 21 --epsilon 0.1)
[[ $settings == *training.expected_records=33000\ * && $settings == *noise.epsilon=0.1\ * ]] || fail "settings: $settings"
rate=${settings##*learning_rate=} rate=${rate%% *}
"$holdfast" synth tabular --records 3000 --test 1000 --features 21 --out table.h5 --quiet >/dev/null || fail "synth"
"$holdfast" account --ledger ledger.db --data table.h5 --budget 1 --budget-delta 0.001 --quiet >/dev/null || fail "account"
# shellcheck disable=SC2086
said=$("$holdfast" train --config "$tools/../jobs/configs/private.toml" $settings --data table.h5 --out run --ledger ledger.db \
    --quiet) || fail "train with what private_settings says"
multiplier=${said##*noise multiplier } multiplier=${multiplier%% *}
awk -v rate="$rate" -v sigma="$multiplier" 'BEGIN { length_of_noise = rate * sigma * sqrt(22) / 33000
    exit !(length_of_noise > 0.99 && length_of_noise < 1.01) }' || fail "rate $rate at multiplier $multiplier"
[[ $("$tools/private_settings" --records 1e9 --features 21 --epsilon 1) == *learning_rate=50\ * ]] || fail "no greatest rate"
[[ $("$tools/private_settings" --records 9 --features 1 --epsilon 1 --centre 0.5) == *input_shift=0.5\ * ]] || fail "centre"
for wrong in "--epsilon 0" "--epsilon -1" "--epsilon nan" "--epsilon 51" "--epsilon 1 --delta 0.5" "--epsilon 1 --records 0"; do
    # shellcheck disable=SC2086
    refused "$tools/private_settings" --records 9 --features 1 $wrong
done

lines=$("$tools/private_training" table.h5:3000:0.5 --epsilon 1,10 --runs 2 --program "$holdfast" --json 2>words) ||
    fail "private_training: $(<words)"
[[ $(wc -l <words) == 2 && $lines == '[{"who": "holdfast", "data": "table", "records": 3000, "epsilon": 1.0, '*'"runs": 2, '* ]] ||
    fail "measured: $lines"
refused "$tools/private_training" missing.h5 --program "$holdfast"
refused "$tools/private_training" table.h5 --program "$holdfast" --runs 0
refused "$tools/private_training" table.h5 --program "$holdfast" --epsilon 0

# Every route at one total budget; a session or a batch that refuses all gets nothing right.
"$holdfast" synth tabular --records 700 --test 200 --features 4 --out small.h5 --quiet >/dev/null || fail "synth"
"$tools/private_accuracy" small.h5:650 --columns small=coordinates --total 1,1e-5 --runs 2 --program "$holdfast" --json >measured.json 2>words ||
    fail "private_accuracy: $(<words)"
python3 - <<'END' || fail "measured: $(<measured.json)"
import json
[table] = json.load(open("measured.json"))["tables"]
assert table["file"] == "small.h5" and table["records"] == 650 and table["route"] == "noisy", table
assert list(table["any_number"]) == ["noisy", "convex, published"] and set(table["answers"]) == {"1", "100", "10000"}, table
for routes in table["answers"].values():
    assert routes["noisy"] == table["any_number"]["noisy"] and {"votes, stable_rr", "boxes, session", "convex, stable_rr"} < set(routes), routes
    assert all(0 <= accuracy <= 1 for accuracy in routes.values()), routes
assert table["answers"]["1"]["votes, stable_rr"] > table["answers"]["10000"]["votes, stable_rr"]
figures = table["figures"]["noisy"]
assert set(figures) == {"accuracy", "balanced_accuracy", "auc", "brier", "log_loss", "calibration_error"}, figures
assert figures["accuracy"][0] == table["any_number"]["noisy"] and all(error >= 0 for _, error in figures.values()), figures
assert table["columns"] == "coordinates" and table["runs"] == 2 and "votes" in str(table["advised"]["1"]), table
END
refused "$tools/private_accuracy" missing.h5 --program "$holdfast"
refused "$tools/private_accuracy" small.h5 --program "$holdfast" --total 1
refused "$tools/private_accuracy" small.h5:650:words --program "$holdfast"
refused "$tools/private_accuracy" small.h5 --program "$holdfast" --total 0,1e-5
refused "$tools/private_accuracy" small.h5 --program "$holdfast" --columns small=words

((failures == 0)) && echo "private settings and their measure as they should be"
