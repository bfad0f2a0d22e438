#!/usr/bin/env bash
# explain.sh HOLDFAST: what columns add to a model's answers is what they add: the differences of its logits between any two
# rows of a table, of numbers in their own units and categories, two classes and three, and a number; a page; what is refused.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
python3 - << 'END'
import random
random.seed(4)
with open("table.csv", "w") as file:
    print("income,home,debt,paid,sort,price", file=file)
    for row in range(400):
        income, home, debt = round(random.uniform(5, 95), 2), random.choice(["own", "rent", ""]), round(random.uniform(0, 50), 2)
        late = income + 20 * (home == "own") - debt < 30
        print(income, home, debt, "bad" if late else "good", "abc"[min(int(income // 30), 2)], 3 * income + debt, sep=",", file=file)
END
read_as() { # OUT LABEL OPTION…
    "$holdfast" import table.csv --quiet --label "$2" --scale 'income=0:100' --scale 'debt=0:50' --categories 'home=own|rent|' \
        --test-fraction 0.5 --out "$1" "${@:3}" > /dev/null || fail "import for $2"
}
read_as two.h5 paid --classes 'good|bad' --drop sort --drop price
read_as three.h5 sort --classes 'a|b|c' --drop paid --drop price
read_as price.h5 price --regression --target-range 0:400 --drop paid --drop sort
learn() { # DATA OUT OPTION…
    "$holdfast" pretrain --quiet --data "$1" --out "$2" --set training.epochs=20 --set "network.hidden=[]" "${@:3}" > /dev/null || fail "pretrain $2"
}
bins=(--set features.map=bins --set "features.edges=[0.1,0.25,0.5,0.75]")
learn two.h5 lines.h5
learn two.h5 bins.h5 "${bins[@]}"
learn two.h5 both.h5 "${bins[@]}" --set features.keep=true
learn two.h5 limited.h5 --set features.norm_limit=2 # longer than any row asked about
learn two.h5 short.h5 --set features.norm_limit=0.1
learn three.h5 three-bins.h5 "${bins[@]}" --set network.classes=3 --set network.loss=cross_entropy
learn price.h5 price-bins.h5 "${bins[@]}" --set network.loss=squared_error --set network.classes=1

# 1. Between any two rows of a table the outputs differ by what its columns add.
cat > asked.csv << 'END'
income,home,debt
0,own,0
100,own,0
0,rent,0
0,,50
100,,50
12.5,rent,0
END
for model in lines bins both limited three-bins price-bins; do
    "$holdfast" explain --model $model.h5 --json --out $model.html > shapes.json || fail "explain $model"
    "$holdfast" predict --model $model.h5 asked.csv --quiet > answers.csv || fail "$model: no answers"
    python3 - << 'END' || fail "$model adds otherwise: $(cat answers.csv)"
import csv, json, math
shapes = json.load(open("shapes.json"))
columns = {column["name"]: column for column in shapes["columns"]}
assert set(columns) == {"income", "home", "debt"} and columns["home"]["values"] == ["own", "rent", ""], columns
assert [c["span"] for c in shapes["columns"]] == sorted((c["span"] for c in shapes["columns"]), reverse=True)
assert [columns[name]["at"][end] for name in ("income", "debt") for end in (0, -1)] == [0, 100, 0, 50]
def adds(row, output):
    total = columns["home"]["adds"][output][columns["home"]["values"].index(row["home"])]
    for name in ("income", "debt"):
        at, of = columns[name]["at"], columns[name]["adds"][output]
        right = next(i for i in reversed(range(len(at))) if at[i] <= float(row[name]) + 1e-9)
        after = min(right + 1, len(at) - 1)
        part = 0 if at[after] == at[right] else (float(row[name]) - at[right]) / (at[after] - at[right])
        total += of[right] + part * (of[after] - of[right])
    return total
def outputs(answer):
    if "prediction" in answer:
        return [float(answer["prediction"])]
    logs = [math.log(max(float(cell), 1e-9)) for name, cell in answer.items() if name.startswith("probability")]
    return [logs[1] - logs[0]] if len(logs) == 2 else [log - sum(logs) / len(logs) for log in logs]
asked, answers = list(csv.DictReader(open("asked.csv"))), [outputs(answer) for answer in csv.DictReader(open("answers.csv"))]
compared = 0
for output, name in enumerate(shapes["outputs"]):
    for row, answer in zip(asked, answers):
        known, found = answer[output] - answers[0][output], adds(row, output) - adds(asked[0], output)
        if max(abs(answer[output]), abs(answers[0][output])) < 7 or "price" in name: # of six digits
            assert abs(known - found) < .01 + .01 * abs(known), (name, row, known, found)
            compared += abs(known) > .05
assert compared >= 3, compared
END
    "$holdfast" explain --model $model.h5 > said.txt && grep -q '^income  *[-+].* at [0-9]' said.txt && grep -q '^home .* at \(own\|rent\|(missing)\)' said.txt ||
        fail "the table of $model: $(cat said.txt)"
    grep -q '<svg' $model.html && grep -q '(missing)' $model.html || fail "no page of $model"
done

"$holdfast" explain --model short.h5 | grep -q 'longer than the model.s norm limit' || fail "does not say that rows are scaled"
"$holdfast" explain --model bins.h5 | grep -q 'norm limit' && fail "says that rows are scaled"

# 2. Whoever may not know the columns sees them by number, and their owner by name.
"$holdfast" schema table.csv --label paid --from-data --out found.toml > /dev/null &&
    "$holdfast" import table.csv --quiet --schema found.toml --test-fraction 0.5 --out found.h5 > /dev/null || fail "import as found"
learn found.h5 found-model.h5
"$holdfast" explain --model found-model.h5 > said.txt && grep -q '^column 0 ' said.txt && ! grep -q rent said.txt || fail "tells what was found: $(cat said.txt)"
"$holdfast" explain --model found-model.h5 --schema found.toml | grep -q '^home .* at own' || fail "no names for the owner"

# 3. What cannot be explained so.
refused() { # WORDS OPTIONS…
    "$holdfast" explain "${@:2}" > out.txt 2> err.txt
    [ $? -eq 2 ] && grep -q "$1" err.txt || fail "$*: $(cat out.txt err.txt)"
}
"$holdfast" pretrain --quiet --data two.h5 --out deep.h5 --set training.epochs=1 --set "network.hidden=[3]" > /dev/null || fail "pretrain deep.h5"
learn two.h5 pairs.h5 "${bins[@]}" --set "features.pairs=[0,1]"
for model in deep pairs; do refused 'depends on the others' --model $model.h5; done
refused '\-\-model' --schema two.h5
exit $((failures > 0))
