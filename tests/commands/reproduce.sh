#!/usr/bin/env bash
# reproduce.sh HOLDFAST: no item of the papers is without an entry; a fixed few are asked on small tables, kept, and come out as
# the commands say that they print; claims that do not hold are shown not to.
# HOLDFAST_PYTHON names a Python with numpy and h5py, which make the tables; skipped where there is none.
set -uo pipefail
source "$(dirname "$0")/../support/numpy.sh"
export HOLDFAST_PYTHON=$python
root=$(realpath "$(dirname "$0")/../..")
source "$(dirname "$0")/../support/script.sh"
reproduce() { "$root/tools/reproduce" "$@" --data "$scratch" --program "$holdfast" --threads 1 > said.txt 2> err.txt; }
refuses() { # WORDS OPTION…
    local words=$1
    shift
    reproduce "$@" && fail "takes $*"
    grep -q -e "$words" err.txt && ! grep -q Traceback err.txt || fail "$* does not say '$words': $(cat err.txt)"
}

# Every figure and table whose caption stands in a paper is listed, every item has an entry, and every entry an item.
"$python" -B - "$root" << 'END2' || fail "the list of items"
import importlib, pathlib, re, sys
root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "tools/papers"))
import entries
for file in (root / "tools/papers").glob("of_*.py"):
    importlib.import_module(file.stem)
listed = entries.items()
told = {item for item, texts in listed.items() if "verdict" in texts}
assert listed.keys() == told | entries.ENTRIES.keys() and not told & entries.ENTRIES.keys(), listed.keys() ^ (told | entries.ENTRIES.keys())
assert all(texts["caption"] for texts in listed.values())
# Tests that are named in them are there.
named = " ".join(file.read_text() for file in [*(root / "tools/papers").glob("of_*.py"), root / "tools/papers/items.toml"]).replace('"\n', "")
paths = set(re.findall(r"tests/\w+/[\w.]+\.\w+", named))
assert len(paths) >= 5 and all((root / path).exists() for path in paths), paths
tests = set(re.findall(r"\b[A-Z]\w+\.[A-Z]\w{12,}", named))
assert tests and all(any(test.split(".")[1] in (root / path).read_text() for path in paths) for test in tests), tests
for example in (texts["counterexample"] for texts in listed.values() if "counterexample" in texts):
    path, _, test = example.partition(" ")
    assert (root / path).is_file() and test.split(".")[-1] in (root / path).read_text(), example
papers = sorted((root.parent / "shared/papers").glob("*.txt"))
found = {(file.name[:3], f"{kind} {number}") for file in papers for kind, number in re.findall(r"(?m)^(Figure|Table) (\d+)[.:] ", file.read_text())}
assert found <= listed.keys(), found - listed.keys()
print(f"{len(listed)} items; {len(found)} captions compared" if papers else f"{len(listed)} items; no papers here to compare captions with")
# The rule of jobs/configs/private.toml: noise of length 1 after the first step, and no rate above 50.
import of_own
assert of_own.learning_rate(1e9, 21, 1, 1e-5) == 50
print(of_own.learning_rate(33000, 21, 0.1, 1e-5), file=open("rate", "w"))
END2
"$holdfast" synth tabular --records 3000 --test 10 --features 21 --out rule.h5 --quiet > /dev/null && "$holdfast" account --ledger ledger.db --data rule.h5 --budget 1 --budget-delta 0.001 --quiet > /dev/null
multiplier=$("$holdfast" train --config "$root/jobs/configs/private.toml" --data rule.h5 --out rule --ledger ledger.db --quiet --set noise.epsilon=0.1 --set training.expected_records=33000 |
    sed -n 's/.*noise multiplier \([0-9.]*\).*/\1/p')
awk -v rate="$(cat rate)" -v sigma="${multiplier:-0}" 'BEGIN { exit !(rate * sigma * sqrt(22) / 33000 > .99 && rate * sigma * sqrt(22) / 33000 < 1.01) }' || fail "rate $(cat rate) at multiplier $multiplier"

# Small tables of the same names and columns.
"$python" -B - << 'END2' || fail "no tables"
import h5py, numpy as np
random = np.random.default_rng(3)
for name, columns, count in (("crypto", 7, 280), ("adult_lucid", 21, 300), ("imdb_lsa100", 100, 400), ("cifar10_10k", 192, 300)):
    with h5py.File(f"{name}.h5", "w") as file:
        for split, records in (("train", count), ("test", 60)):
            labels = random.integers(0, 3 if name == "cifar10_10k" else 2, records).astype(np.int32)
            file[f"x_{split}"] = np.clip(0.5 + 0.2 * (labels[:, None] - 0.5) + random.normal(size=(records, columns)) / 20, 0, 1).astype(np.float32)
            file[f"y_{split}"] = labels
END2
few=("000 Figure 8" "000 Theorem 5.3" "001 Table 1" "001 Table 3" "002 Corollary 5" "002 Lemma 16" "003" "004 Theorem 4.1" "004 Section 4.2" "AGT Boxes" "own Votes")
for item in "${few[@]}"; do
    # shellcheck disable=SC2086
    reproduce $item --quick --out out || fail "$item: $(cat err.txt)"
    cat said.txt >> all.txt
done
for words in '003 Lemma 3: does not hold' '003 Lemma 6: does not hold' '003 Proposition 1: does not hold' '003 Figure 2: cannot be asked here yet' '003 Figure 7: ' '003 Figure 9: ' '002 Corollary 5: does not hold' \
    '002 Lemma 16: does not hold' '004 Theorem 4.1: does not hold' '000 Theorem 5.3: does not hold' 'own Votes: holds' 'AGT Boxes: holds'; do
    grep -qF "$words" all.txt || fail "does not say '$words': $(cat all.txt)"
done
"$python" -B - "$holdfast" << 'END2' || fail "not as it should be"
import csv, json, pathlib, shlex, subprocess, sys, xml.etree.ElementTree
out, found = pathlib.Path("out"), {}
for path in out.glob("*/*.json"):
    if path.parent.name == "kept":
        continue
    one = found[path.parent.name, path.stem] = json.loads(path.read_text())
    assert one["verdict"] in ("holds", "holds on a stand-in", "does not hold", "cannot be asked here yet", "nothing to measure"), one["verdict"]
    assert one["why"] or one["verdict"] == "nothing to measure", path
    if one["rows"]:
        assert len(list(csv.DictReader(path.with_suffix(".csv").open()))) == len(one["rows"]), path
for svg in out.glob("*/*.svg"):
    xml.etree.ElementTree.parse(svg)
page = (out / "index.html").read_text()
assert all(f'id="{one["paper"]} {one["item"]}"' in page for one in found.values()) and "http" not in page.replace("http://www.w3.org/2000/svg", "")
# A claim that does not hold has a test of its smallest case, and the page lists them.
false = {key for key, one in found.items() if one["verdict"] == "does not hold" and key[1].partition("-")[0] in ("theorem", "lemma", "corollary", "proposition")}
assert len(false) >= 6 and all(found[key].get("counterexample", "no test") in page for key in false), false
# More changed records leave no more answers certified; whatever only removals do, additions and removals do.
shares = {row["records"]: [row[f"certified k={k}"] for k in (1, 2, 5, 10, 20, 50)] for row in found["000", "figure-8"]["rows"]}
assert all(values == sorted(values, reverse=True) for values in shares.values()) and len(shares) == 3, shares
assert all(r <= a <= m for r, a, m in zip(shares["replaced"], shares["added or removed"], shares["removed"])), shares
bounds = found["001", "table-1"]["rows"]
assert [(bound["network"], bound["networks"], bound["published_bounds"]) for bound in bounds] == [("2x50", 21, "1.78, 2.95"), ("conv", 21, "0.29, 0.52")], bounds
# Boxes leave no fewer answers than members that nobody asks about do, and some where all are asked about.
stays = {(row["run"], row["records"], row["at once"]): row["answers that stay meanwhile"] for row in found["004", "section-4.2"]["rows"] if "answers that stay meanwhile" in row}
assert all(share >= stays["SISA", *key] for (run, *key), share in stays.items() if run == "boxes") and stays["boxes", "chosen", 4] > 0 == stays["SISA", "chosen", 4], stays
# The commands of an item, typed by hand.
pathlib.Path("WORK").mkdir()
pathlib.Path("DIR").symlink_to(".")
boxes = found["AGT", "boxes"]
# What is published, its baselines and ours beside one another, and what a size is called certified at.
asked = {row["model"]: row for row in found["003", "figure-7"]["rows"]}
assert set(asked) == {"DPAL", "DPAL, its loss corrected", "AdLM", "SecureSGD", "DP-SGD", "worst case (ours)"} and all(0 <= row["pgd"] <= 1 for row in asked.values()), asked
sizes = {(row["model"], row["attack"]): row for row in found["003", "figure-9"]["rows"]}
assert all(sizes[model, "none"]["certified at 0.6"] <= sizes[model, "none"]["certified at 0.05"] <= row["clean"] for (model, _), row in sizes.items())
assert all(row["certified at 0.6"] <= row["right under 0.6"] for (model, attack), row in sizes.items() if attack != "none"), sizes
for command in boxes["commands"]:
    words = shlex.split(command)
    assert words[0] == "holdfast", command
    said = subprocess.run([sys.argv[1], *words[1:], "--quiet", "--json"], check=True, stdout=subprocess.PIPE).stdout
    if words[1] == "evaluate":
        evaluation = json.loads(said)
        row = next(row for row in boxes["rows"] if row["accuracy"] == evaluation["accuracy"]["single"] and [row[f"k={k}"] for k in (1, 5, 10, 50)] == evaluation["certified_fraction"]["single"][1:])
assert len(boxes["commands"]) == 9
END2

# What is done is kept, and so is what a command said: nobody reads the table again.
echo damaged > imdb_lsa100.h5
reproduce 000 figure-8 --quick --out out || fail "what is done: $(cat err.txt)"
grep -qF "$(cat said.txt)" all.txt || fail "other words: $(cat said.txt)"
rm out/000/figure-8.json
reproduce 000 Figure 8 --quick --out out || fail "what was said: $(cat err.txt)"
grep -qF "$(cat said.txt)" all.txt || fail "other words once more: $(cat said.txt)"
refuses 'imdb_lsa100.h5' 000 Figure 8 --quick --out other
rm imdb_lsa100.h5
reproduce 000 Figure 8 --quick --out other || fail "without the table: $(cat err.txt)"
grep -q 'cannot be asked here yet.*: no .*/imdb_lsa100.h5' said.txt && [[ ! -e other/000/figure-8.json ]] || fail "without the table: $(cat said.txt)"
refuses 'no 000 Figure 99' 000 Figure 99 --out other
refuses 'no 005' 005 --out other
refuses '--out DIR' 000
"$root/tools/reproduce" 000 --out other --program nowhere > said.txt 2> err.txt && fail "takes no program"
HOLDFAST_PYTHON=/nowhere reproduce 000 Figure 3 --quick --out other && grep -q 'not be asked here yet.*: no Python with numpy and h5py' said.txt || fail "without numpy: $(cat said.txt err.txt)"

# Halves of a table: no record is in two parts, and none is lost.
"$python" -B - "$root/tools/python/halves.py" << 'END2' || fail "halves"
import subprocess, sys
import h5py
names = ["public.h5", "private.h5", "prefix.h5", "stand_in.h5"]
subprocess.run([sys.executable, "-B", sys.argv[1], "part", "crypto.h5", *names], check=True)
ids = {(name, split): set(h5py.File(name)[f"id_{split}"][...]) for name in names for split in ("train", "test") if f"id_{split}" in h5py.File(name)}
public, private = ids["public.h5", "train"], ids["private.h5", "train"]
parts = [ids["prefix.h5", "train"], ids["stand_in.h5", "train"], ids["stand_in.h5", "test"]]
assert public | private == set(range(280)) and not public & private and set.union(*parts) == public and sum(map(len, parts)) == len(public)
table, half = h5py.File("crypto.h5"), h5py.File("private.h5")
assert (table["x_train"][...][half["id_train"][...].astype(int)] == half["x_train"][...]).all() and (table["y_test"][...] == half["y_test"][...]).all()
END2
((failures == 0)) && echo "the papers, item by item"
