#!/usr/bin/env bash
# paper_fleets.sh HOLDFAST: tools/paper_fleets prints the figures that the program's own jobs give, of small tables.
# HOLDFAST_PYTHON names a Python with numpy and h5py, which make the tables; skipped where there is none.
set -uo pipefail
source "$(dirname "$0")/../support/numpy.sh"
tools=$(realpath "$(dirname "$0")/../../tools")
source "$(dirname "$0")/../support/script.sh"
refuses() { # WORDS OPTION…
    local words=$1
    shift
    "$tools/paper_fleets" "$@" --program "$holdfast" > out.txt 2> err.txt && fail "takes $*"
    grep -q -e "$words" err.txt && ! grep -q Traceback err.txt || fail "$* does not say '$words': $(cat err.txt)"
}

"$python" -B - << 'END' || fail "no tables"
import h5py, numpy as np
random = np.random.default_rng(5)
for name, features, count in (("crypto", 3, 150), ("credit_lucid", 4, 130), ("twitter", 3, 140), ("adult_lucid", 4, 120)):
    with h5py.File(f"{name}.h5", "w") as file:
        for split, records in (("train", count), ("test", 60)):
            x = random.random((records, features)).astype(np.float32)
            y = (x[:, 0] + 0.1 * random.normal(size=records) > 0.5).astype(np.int32)
            file[f"x_{split}"], file[f"y_{split}"] = x, y
END

"$tools/paper_fleets" . --quick --shapes 2x50,4x30 --seconds 0.2,2 --threads 1 --out measured --program "$holdfast" > said.txt 2> err.txt || fail "paper_fleets: $(cat err.txt)"
for words in 'crypto 2x50: 21 networks' 'crypto 4x30' 'bound 1.78 and 2.95 in 0.1 and 0.07 h' 'credit_lucid 2x50' 'adult_lucid 2x50: 21 networks, a sample' 'all, hulls first' 'as published'; do
    grep -qF "$words" said.txt || fail "does not say '$words': $(cat said.txt)"
done
"$python" -B - << 'END' || fail "not as it should be: $(cat said.txt)"
import json
found = json.load(open("measured/paper_fleets.json"))
assert [one["shape"] for one in found["crypto"]] == ["2x50", "4x30"] and [one["table"] for one in found["samples"]] == ["credit_lucid", "twitter", "adult_lucid"]
for one in found["crypto"] + found["samples"]:
    vote, bound = one["rules"]["vote"], one["rules"]["bound"]
    for rule in (vote, bound):
        assert 0 <= rule["right"] <= rule["answered"] <= 1 and abs(rule["accuracy"] - rule["right"] - (1 - rule["answered"]) / 2) < 1e-9, rule
    assert vote["answered"] >= bound["answered"] and one["queries"] == 60 and one["networks"] == 21 and one["seconds"] > 0, one
for one in found["samples"]:
    assert [each["asked"] for each in one["bounds"]] == [0.2, 2], one
    for each in one["bounds"]:
        assert all(0 <= c["lower"] <= c["upper"] for c in each["classes"]) and len(each["classes"]) == 2, each
        # Whatever the time, every bound holds: none is below what another search attained.
        assert all(c["upper"] >= other["classes"][i]["lower"] for other in one["bounds"] for i, c in enumerate(each["classes"])), one
        assert each["guarantee"].startswith("as published (gap: records are known by row number"), each
for one in found["ablation"]:
    names = [variant["variant"] for variant in one["variants"]]
    assert names[0] == "intervals" and "all" in names and one["table"] in ("crypto", "twitter"), names
    plain, best = (one["variants"][names.index(name)]["classes"] for name in ("intervals", "all"))
    assert all(b["upper"] <= p["upper"] for p, b in zip(plain, best)), one
    for c in (0, 1):
        assert min(v["classes"][c]["upper"] for v in one["variants"]) >= max(v["classes"][c]["lower"] for v in one["variants"]), one
END

# The same by hand: the settings are those of the configuration, but for the shape, the count and --quick's epochs.
settings=(--set 'network.hidden=[50,50]' --set training.expected_records=150 --set training.batches=2 --set training.epochs=5)
"$holdfast" fleet --config "$tools/../jobs/configs/idp_crypto.toml" --data crypto.h5 --out fleet --records 20 "${settings[@]}" --quiet > /dev/null || fail "the fleet by hand"
"$holdfast" evaluate --run fleet --data crypto.h5 --json --quiet > evaluation.json || fail "its evaluation"
"$python" -B - << 'END' || fail "by hand it is otherwise: $(cat evaluation.json)"
import json
here, there = json.load(open("evaluation.json")), json.load(open("measured/paper_fleets.json"))["crypto"][0]
assert here["accuracy"]["single"] == there["accuracy"] and here["rules"][0]["accuracy"] == there["rules"]["vote"]["accuracy"], (here, there)
END

refuses 'unknown part mnist' . mnist
refuses 'no elsewhere/crypto.h5' elsewhere crypto
refuses 'no 3x9: there are' . crypto --shapes 3x9
refuses 'seconds, above 0' . crypto --seconds 0
echo damaged > crypto.h5
refuses 'crypto.h5' . crypto --quick
((failures == 0)) && echo "the published fleets as they should be"
