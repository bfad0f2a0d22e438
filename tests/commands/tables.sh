#!/usr/bin/env bash
# tables.sh HOLDFAST: from a table as a bank has it to an answer for a new customer. The schema of the table goes with the
# dataset, the run and the model; whoever asks names columns, in any order, and nothing is silently another number.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"

# 1. 400 customers with semicolons, decimal commas, dates, text and gaps; a template; filled in; imported.
python3 - << 'EOF'
import random
random.seed(3)
rows = []
for i in range(400):
    income, since = random.uniform(10, 90), random.randrange(28) + 1
    home = random.choice(["Miete", "Eigentum", ""])
    bad = income + (20 if home == "Eigentum" else 0) + random.gauss(0, 8) < 55
    rows.append((f"K{i}", f"{income:.2f}".replace(".", ","), f"{since:02d}.03.2021", home, "2" if bad else "1"))
def write(name, header, rows, order):
    with open(name, "w") as out:
        for row in [header] + rows:
            out.write(";".join(row[j] for j in order) + "\n")
header = ("Kunde", "Einkommen", "Seit", "Wohnung", "Default")
write("bank.csv", header, rows[:350], range(5))
write("new.csv", header, rows[350:], (3, 1, 0, 2))  # other order, no label
write("fewer.csv", header, rows[350:], (3, 0, 2))  # and no income
write("labelled.csv", header, rows[350:], (4, 3, 1, 0, 2))
EOF
"$holdfast" schema bank.csv --label Default --id Kunde --out bank.toml > said.txt || fail "no template"
grep -q 'classes of .Default.: 1, 2' said.txt || fail "labels 1 and 2 are not two classes: $(cat said.txt)"
sed 's/^K1;[^;]*/K1;/' bank.csv > gaps.csv
"$holdfast" schema gaps.csv --label Default --id Kunde --out gaps.toml | grep -q "'Einkommen': 1 missing cells, which count as the middle of its range, or as missing = VALUE says" || fail "what a gap in numbers takes is not said"
[[ $(stat -c %a bank.toml) == 600 ]] || fail "the template is not for its owner alone"
"$holdfast" import bank.csv --schema bank.toml --out bank.h5 > out.txt 2> err.txt
[[ $? == 2 && ! -e bank.h5 ]] && grep -q 'no public range is filled in for: Einkommen, Seit' err.txt || fail "blanks are taken: $(cat err.txt)"
awk '/^name = "Einkommen"/ { range = "[0, 100]" } /^name = "Seit"/ { range = "[2021-03-01, 2021-03-31]" }
     /^range = \[\]/ { print "range = " range; next } /^found/ { next } { print }' bank.toml > filled.toml
grep -v 'Einkommen' filled.toml | head -n 3 > /dev/null
"$holdfast" import bank.csv --schema filled.toml --test-fraction 0.2 --expected-records 280 --population bank --out bank.h5 --quiet > said.txt || fail "not imported"
grep -q 'scaling public' said.txt || fail "public ranges are not public: $(cat said.txt)"

for twice in '--delimiter ;' '--decimal ,' '--classes 1|2' '--missing-word x'; do
    "$holdfast" import bank.csv --schema filled.toml $twice --out twice.h5 > out.txt 2> err.txt
    [[ $? == 2 && ! -e twice.h5 ]] && grep -q 'the schema says what the columns are' err.txt || fail "$twice beside a schema: $(cat err.txt)"
done
"$holdfast" import bank.h5 --schema filled.toml --out twice.h5 > out.txt 2> err.txt
[[ $? == 2 ]] && grep -q -- '--schema: says what the columns of a CSV table are' err.txt || fail "a schema of no table: $(cat err.txt)"
# What a regression learns is in the schema too, and queries have none of it.
sed -e 's/^label = .*/label = "Einkommen"/; s/^classes = .*/regression = true\ntarget_range = [0, 100]/' -e '/^\[\[column\]\]/{N;/Einkommen/{N;N;d}}' filled.toml > numbers.toml
"$holdfast" import bank.csv --schema numbers.toml --out numbers.h5 > said.txt 2> err.txt && grep -q 'target range: \[0, 1\]' said.txt || fail "no target range: $(cat said.txt err.txt)"
"$holdfast" import fewer.csv --schema numbers.toml --no-labels --out asked.h5 --quiet > /dev/null 2> err.txt || fail "queries of a regression: $(cat err.txt)"

# 2. A model that may leave, by convex training; what it says of its columns.
"$holdfast" account --ledger l.db --data bank.h5 --budget 20 --budget-delta 1e-3 --quiet > /dev/null || fail "no account"
"$holdfast" train --data bank.h5 --out run --set training.kind=convex --set 'network.hidden=[]' --set features.norm_limit=2 --set training.l2=0.0001 \
    --set training.learning_rate=0.7 --set training.epochs=40 --quiet > /dev/null 2> err.txt || fail "no run: $(cat err.txt)"
"$holdfast" publish --run run --ledger l.db --out model.h5 --epsilon 10 --delta 1e-6 --quiet > /dev/null 2> err.txt || fail "no model: $(cat err.txt)"

# 3. New customers, from a file of their own: id, class by its name, probabilities; whatever the order of columns.
"$holdfast" predict --model model.h5 new.csv --out answers.csv > out.txt 2> err.txt || fail "no answers: $(cat err.txt)"
head -n 1 answers.csv | grep -qx 'Kunde,class,probability of 1,probability of 2' || fail "answers begin with $(head -n 1 answers.csv)"
[[ $(wc -l < answers.csv) == 51 ]] && grep -q '^K350,[12],0\.' answers.csv && [[ $(cut -d, -f2 answers.csv | sort -u | wc -l) == 3 ]] || fail "answers: $(head -n 3 answers.csv)"
"$holdfast" predict --model model.h5 labelled.csv --out other.csv --quiet 2> err.txt && cmp -s answers.csv other.csv || fail "another order of columns, another answer: $(cat err.txt)"
"$holdfast" import labelled.csv --schema bank.h5 --out new.h5 --quiet > /dev/null 2> err.txt || fail "no import by a dataset's schema: $(cat err.txt)"
"$holdfast" predict --model model.h5 --queries new.h5:train --quiet > labels.txt
paste -d, <(sed 1d answers.csv | cut -d, -f2) labels.txt | awk -F, '$1 != $2 + 1 { exit 1 }' || fail "the table's answers are not the dataset's"
"$holdfast" predict --model model.h5 labelled.csv --accuracy > said.txt 2> err.txt || fail "no accuracy of a table"
for words in '95% interval' 'majority class' 'balanced accuracy' 'true .* answered'; do grep -q "$words" said.txt || fail "accuracy without $words: $(cat said.txt)"; done
# The owner, and who pays, ask by the table too.
"$holdfast" certify --run run --queries new.csv --quiet > /dev/null 2> err.txt || fail "certify: $(cat err.txt)"
"$holdfast" evaluate --run run --data labelled.csv --epsilon 1 --quiet > /dev/null 2> err.txt || fail "evaluate: $(cat err.txt)"
"$holdfast" release --run run --queries new.csv --epsilon 0.1 --first 3 --ledger l.db --quiet > one.txt 2> err.txt || fail "release: $(cat err.txt)"
"$holdfast" release --run run --queries new.h5:train --epsilon 0.1 --first 3 --ledger l.db --json --quiet | grep -q '"remembered_answers":3' || fail "a table's query is another than the dataset's"

# 4. Nothing is silently another number: each said by line and counted, in one pass.
{ cat new.csv; echo 'Zelt;10,5;K900;01.03.2021'; echo 'Miete;viel;K901;01.03.2021'; echo 'Zelt;10;K902;31.02.2021'; } > wrong.csv
"$holdfast" predict --model model.h5 wrong.csv > out.txt 2> err.txt
[[ $? == 3 && ! -s out.txt ]] || fail "wrong cells are answered: $(cat out.txt)"
for words in "line 52, column 'Wohnung': 'Zelt' is not in its public list" '1 more like it, at 54' "'viel' is not a number" 'no date of the form'; do
    grep -q "$words" err.txt || fail "does not say $words: $(cat err.txt)"
done
"$holdfast" predict --model model.h5 fewer.csv > out.txt 2> err.txt
[[ $? == 3 ]] && grep -q "lacks the columns 'Einkommen'" err.txt || fail "a missing column: $(cat err.txt)"
sed 's/^\([^;]*\);[^;]*;K350/\1;500,0;K350/' new.csv > outside.csv
"$holdfast" predict --model model.h5 outside.csv > /dev/null 2> err.txt || fail "outside: $(cat err.txt)"
grep -q 'Einkommen: 1 outside \[0, 100\], the first in line 2' err.txt || fail "a value outside is not told: $(cat err.txt)"
tr ';,' ',.' < new.csv > comma.csv
"$holdfast" predict --model model.h5 comma.csv > out.txt 2> err.txt
[[ $? == 3 ]] && grep -q "it is read as the table trained on was: ';' between cells, numbers with ','" err.txt && ! grep -q -- '--delimiter' err.txt || fail "another delimiter: $(cat err.txt)"
# Columns in another order, or other categories, as a dataset of their own: refused, not another number.
sed 's/"Eigentum", "Miete"/"Miete", "Eigentum"/' filled.toml > turned.toml
"$holdfast" import labelled.csv --schema turned.toml --out turned.h5 --quiet > /dev/null || fail "not imported"
"$holdfast" predict --model model.h5 --queries turned.h5:train > out.txt 2> err.txt
[[ $? == 3 ]] && grep -q 'categories or ranges are not those' err.txt || fail "other categories are answered: $(cat out.txt err.txt)"

# 5. What was found in private records stays with their owner.
"$holdfast" schema bank.csv --label Default --id Kunde --from-data --out found.toml --quiet > /dev/null || fail "no schema of the data"
"$holdfast" import bank.csv --schema found.toml --expected-records 350 --population found --out found.h5 > said.txt || fail "not imported"
grep -q 'scaling private' said.txt || fail "what is found is public: $(cat said.txt)"
"$holdfast" account --ledger found.db --data found.h5 --budget 20 --budget-delta 1e-3 --quiet > /dev/null || fail "no account"
"$holdfast" train --data found.h5 --out found --set training.kind=convex --set 'network.hidden=[]' --set features.norm_limit=2 --set training.l2=0.01 \
    --set training.learning_rate=0.5 --quiet > said.txt 2> err.txt || fail "no run: $(cat err.txt)"
claims said.txt '^as published (gap: .*categories found in them' || fail "proved of what was found: $(cat said.txt)"
"$holdfast" publish --run found --ledger found.db --out found-model.h5 --epsilon 10 --delta 1e-6 --quiet > /dev/null || fail "no model"
grep -qa 'Eigentum' found-model.h5 && fail "a published model tells categories that were found"
"$holdfast" predict --model found-model.h5 new.csv > out.txt 2> err.txt
[[ $? == 2 ]] && grep -q 'stayed with their owner' err.txt || fail "withheld: $(cat out.txt err.txt)"
"$holdfast" predict --model found-model.h5 new.csv --schema found.h5 --out out.csv --quiet || fail "the owner cannot ask"

# 6. Arrays of NumPy: the labels and ids of each split are files of their own.
python3 - << 'END'
import struct
def save(name, kind, shape, values):
    head = "{'descr': '<%s8', 'fortran_order': False, 'shape': %s, }\n" % (kind, shape)
    packed = struct.pack("<%d%s" % (len(values), {"f": "d", "i": "q"}[kind]), *values)
    open(name, "wb").write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head.encode() + packed)
for name, rows in ("", 6), ("test-", 4):
    save(name + "x.npy", "f", f"({rows}, 2)", [i / 12 for i in range(2 * rows)])
    save(name + "y.npy", "i", f"({rows},)", [i % 2 for i in range(rows)])
    save(name + "ids.npy", "i", f"({rows},)", [100 * rows + i for i in range(rows)])
END
arrays=(x.npy --labels y.npy --ids ids.npy --test test-x.npy --out arrays.h5 --quiet)
"$holdfast" import "${arrays[@]}" --test-labels test-y.npy --test-ids test-ids.npy > said.txt 2> err.txt || fail "no import of arrays: $(cat err.txt)"
"$holdfast" inspect arrays.h5:test --json > said.txt 2> err.txt && grep -q '"ids": *"given"' said.txt && grep -q '"rows": *4' said.txt || fail "arrays: $(cat said.txt err.txt)"
rm arrays.h5
"$holdfast" import "${arrays[@]}" > said.txt 2> err.txt
[[ $? == 2 ]] && grep -q -- '--test-labels' err.txt || fail "arrays without labels: $(cat said.txt err.txt)"

((failures == 0)) && echo "tables are read by their schema"
