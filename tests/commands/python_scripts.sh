#!/usr/bin/env bash
# python_scripts.sh HOLDFAST: halves.py parts what the program wrote and cuts hidden layers; private_peers.py goes on where a
# library does not load; certificates() of a run that nobody certified says what to do; Parquet. Skipped without numpy and h5py.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
for python in ${HOLDFAST_PYTHON:-python3 /usr/bin/python3}; do
    "$python" -c 'import numpy, h5py, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && break
    python=
done
[ -n "$python" ] || { echo "SKIPPED: no Python 3.11 with numpy and h5py (HOLDFAST_PYTHON names one)"; exit 77; }
export PYTHONPATH=$root/tools/python PYTHONDONTWRITEBYTECODE=1
halves() { "$python" "$root/tools/python/halves.py" "$@"; }

# 1. Records parted, a network of two hidden layers cut behind each; both parts together are the network.
"$holdfast" synth blobs --records 400 --test 100 --out blobs.h5 --quiet > /dev/null || fail "no data"
halves part blobs.h5 public.h5 private.h5 prefix.h5 stand_in.h5 2> err.txt || fail "part: $(cat err.txt)"
"$holdfast" train --data public.h5 --out run --set 'network.hidden=[8,6]' --set training.epochs=1 --set certificate.levels=0 --quiet > /dev/null 2> err.txt ||
    fail "what part wrote is not read: $(cat err.txt)"
for layers in 1 2; do
    rm -f front.h5 rest.h5
    halves cut run $layers front.h5 rest.h5 2> err.txt || fail "cut behind $layers: $(cat err.txt)"
    hidden=$([ $layers = 1 ] && echo 6)
    "$holdfast" train --data private.h5 --out "on$layers" --set features.map=prefix --set features.prefix=front.h5 --set network.initial=rest.h5 \
        --set "network.hidden=[$hidden]" --set training.epochs=1 --set training.learning_rate=1e-12 --set certificate.levels=0 --quiet > /dev/null 2> err.txt || fail "on its first $layers: $(cat err.txt)"
    # Hardly trained on: its answers are those of the network that was cut.
    for one in run "on$layers"; do "$holdfast" certify --run $one --queries private.h5:test --quiet > /dev/null 2> err.txt || fail "certify $one: $(cat err.txt)"; done
    "$python" -c "from holdfast import runs; a, b = (runs.certificates(one)['ensemble_label'] for one in ('run', 'on$layers')); assert (a == b).mean() > 0.98, (a == b).mean()" 2> err.txt ||
        fail "cut behind $layers, it answers otherwise: $(tail -n 1 err.txt)"
done
for layers in 0 3; do halves cut run $layers a.h5 b.h5 2> err.txt && fail "cut behind $layers" || grep -q 'it has 2 hidden layers' err.txt || fail "cut behind $layers: $(cat err.txt)"; done

# 2. A run that nobody certified.
"$python" -c "from holdfast import runs; runs.certificates('on2')" > out.txt 2>&1 || fail "certificates of a certified run: $(tail -n 1 out.txt)"
rm on2/certificates.json
"$python" -c "from holdfast import runs; runs.certificates('on2')" > out.txt 2>&1 && fail "certificates of none"
grep -q 'FileNotFoundError: on2: nothing was certified yet: holdfast certify --run on2 --queries FILE:test' out.txt || fail "$(tail -n 1 out.txt)"

# 3. A library that does not load beside the others is left out by name; here none of them is a real one.
mkdir -p site/diffprivlib site/diffprivlib-0.dist-info site/sklearn site/scikit_learn-9.dist-info
echo 'from sklearn.tree import gone' > site/diffprivlib/__init__.py
printf 'Metadata-Version: 2.1\nName: diffprivlib\nVersion: 0\n' > site/diffprivlib-0.dist-info/METADATA
printf 'Metadata-Version: 2.1\nName: scikit-learn\nVersion: 9\n' > site/scikit_learn-9.dist-info/METADATA
touch site/sklearn/__init__.py
cat > site/sklearn/ensemble.py << 'END'
class HistGradientBoostingClassifier:
    def fit(self, x, y): return self
    def predict_proba(self, x):
        import numpy
        return numpy.tile([[0.25, 0.75]], (len(x), 1))
END
PYTHONPATH=$scratch/site:$PYTHONPATH "$python" "$root/tools/python/private_peers.py" blobs.h5 --records 400 --epsilon 1 --delta 1e-5 --runs 1 > out.txt 2> err.txt ||
    fail "private_peers.py: $(tail -n 1 err.txt)"
grep -q 'left out: diffprivlib 0: ' err.txt && grep -q '"scikit-learn 9": \[{"accuracy": 0.5, ' out.txt || fail "peers: $(cat out.txt err.txt)"

# 4. A Parquet file is refused with the line that makes a CSV file of it, by every command that reads a table; that line
# works, and the package reads the file as the program reads the other.
printf 'PAR1 and more, PAR1' > "it's.parquet"
printf 'PAR1' > short.csv
for words in "import it's.parquet --label y --out p.h5" "schema it's.parquet --label y --out p.toml" 'import short.csv --label y --out p.h5'; do
    "$holdfast" $words > out.txt 2> err.txt
    [[ $? == 3 ]] && grep -q "is a Parquet file.*(python3 -c 'import sys, pyarrow" err.txt && [[ $(wc -l < err.txt) == 1 ]] || fail "$words: $(cat err.txt)"
done
grep -qF "' 'short.csv' 'short.csv.csv'" err.txt || fail "the files of the line: $(cat err.txt)"
if "$python" -c 'import pyarrow.parquet, sklearn' 2> /dev/null; then
    "$python" - << 'END' || fail "no table"
import datetime, random, pyarrow as pa, pyarrow.parquet as parquet
random.seed(4)
rows = [(i, random.uniform(0, 100), random.choice(["rent", "own", None]), datetime.date(2021, 3, 1 + i % 28), i % 9 == 0) for i in range(400)]
table = pa.table({name: list(cells) for name, cells in zip(("who", "income", "home", "since", "flag"), zip(*rows))})
table = table.append_column("bad", pa.array([int(row[1] + 20 * (row[2] == "own") < 50) for row in rows]))
parquet.write_table(table, "bank.parquet")
END
    "$holdfast" schema bank.parquet --label bad --person who --out bank.toml > out.txt 2> err.txt
    line=$(sed -n "s/.*(\(python3 -c .*\)  makes a CSV file.*/\1/p" err.txt)
    PATH=$(dirname "$python"):$PATH bash -c "$line" > out.txt 2>&1 || fail "$line: $(tail -n 1 out.txt)"
    "$holdfast" schema bank.csv --label bad --person who --from-data --out bank.toml --quiet > /dev/null 2> err.txt &&
        "$holdfast" import bank.csv --schema bank.toml --population bank --out bank.h5 --quiet > /dev/null 2> err.txt || fail "its CSV file: $(cat err.txt)"
    HOLDFAST_PROGRAM=$holdfast "$python" -W ignore - << 'END' || fail "the package and Parquet"
import numpy as np, pyarrow.csv as csv, holdfast
table, other = holdfast.read_parquet("bank.parquet"), csv.read_csv("bank.csv")
ours, theirs = holdfast.tables.columns_of(table), holdfast.tables.columns_of(other)
assert ours[0] == theirs[0] and ours[1][:4] == theirs[1][:4], (ours[0], theirs[0])
X, y = table.drop_columns(["bad", "who"]), np.array(table["bad"])
model = holdfast.PrivateClassifier(50).fit(X, y, ids=np.array(table["who"]))
assert model.score(X, y) > 0.7
END
else
    echo "Parquet itself was not read: $python has no pyarrow and scikit-learn"
fi

((failures == 0)) && echo "the scripts do what they say"
exit $((failures > 0))
