#!/usr/bin/env bash
# private_accuracy.sh HOLDFAST: tools/private_accuracy measures with what holdfast advise says.
set -uo pipefail
tools=$(realpath "$(dirname "$0")/../../tools")
source "$(dirname "$0")/../support/script.sh"
refused() {
    local words
    words=$("$@" 2>&1 >/dev/null) && fail "takes ${*:2}"
    [[ $words != *Traceback* ]] || fail "${*:2} ends without a message: $words"
}

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

# Published models alone; and these behind ranges and bins that are measured out of the same total.
published() {
    "$@" --total 3,1e-5 --runs 2 --program "$holdfast" --json >measured.json 2>words || fail "${*:2}: $(<words)"
    python3 -c 'import json; [table] = json.load(open("measured.json"))["tables"]; assert list(table["any_number"]) == ["noisy"] and table["answers"] == {}, table
mean, error = table["figures"]["noisy"]["log_loss"]; assert 0 < mean < 1 and error > 0, table' || fail "${*:2}: $(<measured.json)"
}
published "$tools/private_accuracy" small.h5 --answers 0
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import h5py' 2>/dev/null || continue
    published "$python" "$tools/private_accuracy" small.h5 --measure
    break
done

refused "$tools/private_accuracy" missing.h5 --program "$holdfast"
refused "$tools/private_accuracy" small.h5 --program "$holdfast" --total 1
refused "$tools/private_accuracy" small.h5:650:words --program "$holdfast"
refused "$tools/private_accuracy" small.h5 --program "$holdfast" --total 0,1e-5
refused "$tools/private_accuracy" small.h5 --program "$holdfast" --columns small=words

((failures == 0)) && echo "models and answers measured as they should be"
