#!/usr/bin/env bash
# paper_settings.sh HOLDFAST: tools/paper_settings trains on a half alone, behind what the other half taught; its figures
# are those that the program's own jobs give, and more changed records leave no more answers certified.
# HOLDFAST_PYTHON names the Python to use; skipped where it has no numpy and h5py.
set -uo pipefail
source "$(dirname "$0")/../support/numpy.sh"
export HOLDFAST_PYTHON=$python
tools=$(realpath "$(dirname "$0")/../../tools")
source "$(dirname "$0")/../support/script.sh"
refuses() { # WORDS OPTION…
    local words=$1
    shift
    "$tools/paper_settings" "$@" --program "$holdfast" > out.txt 2> err.txt && fail "takes $*"
    grep -q -e "$words" err.txt && ! grep -q Traceback err.txt || fail "$* does not say '$words': $(cat err.txt)"
}

# The same script with networks a tenth as wide; `--choose` among a few settings.
cat > small.py <<'END'
import importlib.machinery, sys
del sys.argv[0]
script = importlib.machinery.SourceFileLoader("paper_settings", sys.argv[0]).load_module()
images, reviews = script.EXPERIMENTS["pneumoniamnist"], script.EXPERIMENTS["imdb_lsa100"]
images.base["network.layers"] = images.base["network.layers"].replace("conv 16", "conv 4").replace("conv 32", "conv 4").replace("dense 100", "dense 20")
for wide in (images.published, reviews.published, reviews.own):
    wide.network["network.hidden"] = wide.network["network.hidden"].replace("100", "20")
if "--choose" in sys.argv:
    reviews.grid.update({"training.epochs": (1,), "training.batches": (1,), "clip.gamma": (0.01,)})
script.main()
END
small() { "$python" -B small.py "$tools/paper_settings" "$@"; }

# Small tables of the same names and columns: two kinds of images, and two clusters.
"$python" -B - <<'END' || fail "no tables"
import h5py, numpy as np
random = np.random.default_rng(3)
def table(name, features, dtype, count, test):
    with h5py.File(f"{name}.h5", "w") as file:
        for split, records in (("train", count), ("test", test)):
            labels = random.integers(0, 2, records).astype(np.int32)
            file[f"x_{split}"], file[f"y_{split}"] = features(labels).astype(dtype), labels
def images(labels):
    pixels = random.integers(0, 60, (len(labels), 28, 28))
    pixels[labels == 1, 10:18] += 150
    return pixels.reshape(-1, 784)
table("pneumoniamnist", images, np.uint8, 160, 20)
table("imdb_lsa100", lambda labels: np.clip(0.5 + 0.1 * (labels[:, None] - 0.5) + random.normal(size=(len(labels), 100)) / 50, 0, 1), np.float32, 400, 50)
END

small . pneumoniamnist --sparse --out sparse --program "$holdfast" > said.txt 2> err.txt || fail "--sparse: $(cat err.txt)"
small . imdb_lsa100 --out measured --program "$holdfast" >> said.txt 2> err.txt || fail "paper_settings: $(cat err.txt)"
small . imdb_lsa100 --choose --out chosen --program "$holdfast" > /dev/null 2> err.txt || fail "--choose: $(cat err.txt)"
"$python" -B - "$tools/python/halves.py" "$holdfast" <<'END' || fail "not as it should be: $(cat said.txt)"
import json, pathlib, subprocess, sys
import h5py, numpy as np
halves, holdfast = sys.argv[1:]
[images], [reviews] = (json.load(open(f"{out}/paper_settings.json"))["tables"] for out in ("sparse", "measured"))
assert [images["table"], reviews["table"]] == ["pneumoniamnist", "imdb_lsa100"]
for entry, count in ((images, 160), (reviews, 400)):
    assert entry["records"] + entry["public_records"] == count and entry["records"] > count / 4, entry
    assert [run["relation"] for run in entry["runs"]] == ["add_remove", "substitute", "remove"] * 2
    for run in entry["runs"]:
        assert run["certified"] == sorted(run["certified"], reverse=True) and run["right"] == sorted(run["right"], reverse=True), run
        assert all(right <= certified and right <= run["accuracy"] for right, certified in zip(run["right"], run["certified"])), run
        for accuracies in run["private"].values():
            assert all(0 <= accuracy <= 1 for accuracy in accuracies), run
        assert bool(run["private"]) == (entry is reviews and run["relation"] == "add_remove"), run
        assert run["guarantee"].startswith("as published" if run["name"] == "published" else "proved"), run
    # Whatever only removals do, additions and removals do; a replaced record is one of each.
    for added, replaced, removed in (entry["runs"][:3], entry["runs"][3:]):
        assert all(r <= a <= m for r, a, m in zip(replaced["certified"], added["certified"], removed["certified"])), entry
assert images["public_accuracy"] > 0.9 and images["runs"][0]["accuracy"] > 0.9, images
assert "network.initial" in images["runs"][0]["settings"] and "network.initial" not in images["runs"][3]["settings"]

# No record is in two parts, and none is lost.
names = ["public.h5", "private.h5", "prefix.h5", "stand_in.h5"]
subprocess.run([sys.executable, "-B", halves, "part", "imdb_lsa100.h5", *names], check=True)
ids = {(name, split): set(h5py.File(name)[f"id_{split}"][...]) for name in names for split in ("train", "test") if f"id_{split}" in h5py.File(name)}
public, private = ids["public.h5", "train"], ids["private.h5", "train"]
parts = [ids["prefix.h5", "train"], ids["stand_in.h5", "train"], ids["stand_in.h5", "test"]]
assert public | private == set(range(400)) and not public & private and set.union(*parts) == public and sum(map(len, parts)) == len(public)
table, half = h5py.File("imdb_lsa100.h5"), h5py.File("private.h5")
assert (table["x_train"][...][half["id_train"][...].astype(int)] == half["x_train"][...]).all()
assert (table["y_test"][...] == half["y_test"][...]).all() and ids["private.h5", "test"] == set(range(400, 450))

# The same by hand.
own = reviews["runs"][3]
subprocess.run([holdfast, "import", "private.h5", "--out", "data.h5", "--population", "p", "--source-scaling", "public", "--quiet"], check=True, stdout=subprocess.DEVNULL)
settings = {**own["settings"], "certificate.levels": 50, "training.expected_records": int(float(f"{reviews['records']:.1e}"))}
subprocess.run([holdfast, "train", "--data", "data.h5", "--out", "run", "--quiet", *(f"--set={key}={value}" for key, value in settings.items())], check=True, stdout=subprocess.DEVNULL)
said = json.loads(subprocess.run([holdfast, "certify", "--run", "run", "--queries", "data.h5", "--quiet", "--json"], check=True, stdout=subprocess.PIPE).stdout)
assert [row["member"] for row in said["certified"] if row["k"] in (1, 2, 5, 10, 20, 50)] == own["certified"], (said, own)

[chosen] = json.load(open("chosen/paper_settings.json"))["tables"]
near = [one for one in chosen["tried"] if one["accuracy"] >= max(other["accuracy"] for other in chosen["tried"]) - 0.02]
assert chosen["chosen"]["score"] == max(one["score"] for one in near) and len(chosen["tried"]) == 4
END

refuses 'unknown table mnist' . mnist
refuses 'no elsewhere/imdb_lsa100.h5' elsewhere imdb_lsa100
HOLDFAST_PYTHON=/nowhere refuses 'numpy and h5py' . imdb_lsa100
echo damaged > imdb_lsa100.h5
refuses 'imdb_lsa100.h5' . imdb_lsa100
((failures == 0)) && echo "the published settings as they should be"
