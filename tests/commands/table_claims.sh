#!/usr/bin/env bash
# table_claims.sh HOLDFAST: a claim is about the table that was imported. Two tables of one row more and less, whose split is
# dealt by row numbers, make models that are told apart with certainty: none may be called proved.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

flat() { "$@" | tr -s '\n ' ' '; } # COMMAND…: what it prints, in one line

# 1. The attack: 4000 rows of one feature. Labels are the side that the hash of its number deals a row to, so that all who are
# trained on have label 0. In the neighbour, without its first row, the others move up by one and are dealt anew.
import() { "$holdfast" import "$1.csv" --label y --scale x=0:1 --test-fraction 0.25 --expected-records 3000 --population "$1" --out "$1.h5" --quiet "${@:2}" > "$1.txt" || fail "cannot import $1: $(cat "$1.txt")"; }
# Where every row of a table of so many goes: its number as its label.
{ echo x,y; for ((i = 0; i < 4000; ++i)); do echo "0.5,$i"; done; } > places.csv
import places --classes 4000
"$holdfast" inspect places.h5:train --json --quiet > places.json || fail "cannot inspect where rows were dealt"
python3 - <<'PY' || fail "no table of the attack"
import json
trained = {int(label) for label in json.load(open("places.json"))["splits"][0]["classes"]}
rows = [f"0.5,{0 if i in trained else 1}" for i in range(4000)]
open("whole.csv", "w").write("x,y\n" + "\n".join(rows) + "\n")
open("without.csv", "w").write("x,y\n" + "\n".join(rows[1:]) + "\n")
PY
for table in whole without; do
    import $table
    "$holdfast" account --ledger $table.db --data $table.h5 --budget 1 --budget-delta 1e-5 --quiet > /dev/null || fail "no account"
    "$holdfast" train --data $table.h5 --out run-$table --ledger $table.db --set training.kind=noisy --set clip.kind=norm --set 'network.hidden=[]' \
        --set network.classes=2 --set noise.epsilon=1 --set training.batches=1 --set training.epochs=8 --quiet > claim-$table.txt || fail "no training"
    claims claim-$table.txt '^as published (gap: .*row number' || fail "called proved: $(cat claim-$table.txt)"
    "$holdfast" publish --run run-$table --ledger $table.db --out $table-model.h5 --quiet > published.txt || fail "not published"
    claims published.txt 'as published (gap: .*row number' || fail "published as proved: $(cat published.txt)"
    flat "$holdfast" statement --ledger $table.db > said.txt
    grep -q 'as published (gap: .*a hash of its row number decided' said.txt || fail "the statement does not say it"
done
# In the whole table nobody trained on has label 1; in the neighbour many have.
"$holdfast" inspect whole.h5:train --json --quiet > counts.json && python3 - <<'PY' || fail "the attack deals nothing apart"
import json
assert json.load(open("counts.json"))["splits"][0]["classes"].keys() == {"0"}
PY
"$holdfast" inspect without.h5:train --json --quiet | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["splits"][0]["classes"].get("1", 0) < 300)' || fail "the neighbour is dealt alike"

# 2. Given ids deal each on its own: proved. A count that was found is a gap, however it is rounded.
{ echo id,x,y; for ((i = 0; i < 305; ++i)); do echo "$((i + 7)),0.$((i % 9)),$((i % 2))"; done; } > given.csv
import given --id id
train() { # DATA OUT: the claim of every kind of training
    for kind in boxes noisy convex; do
        case $kind in
            boxes) how=() ;;
            noisy) how=(--set clip.kind=norm --set noise.epsilon=1 --ledger "$1.db") ;;
            convex) how=(--set features.norm_limit=1 --set training.l2=0.001 --set training.batches=2 --set training.learning_rate=1) ;;
        esac
        "$holdfast" train --data "$1.h5" --out "$2-$kind" --set training.kind=$kind --set 'network.hidden=[]' --set training.epochs=1 "${how[@]}" --quiet > "$2-$kind.txt" 2> err.txt ||
            fail "$kind does not train: $(cat err.txt)"
    done
}
"$holdfast" account --ledger given.db --data given.h5 --budget 1 --budget-delta 1e-5 --quiet > /dev/null || fail "no account"
train given stated
for kind in boxes noisy convex; do grep -q '^proved' stated-$kind.txt || fail "$kind by given ids: $(cat stated-$kind.txt)"; done
"$holdfast" import given.csv --label y --id id --scale x=0:1 --test-fraction 0.25 --expected-records found --population found --out found.h5 > found.txt || fail "no count found"
grep -q 'found and rounded' found.txt || fail "the count is not said to be found: $(cat found.txt)"
"$holdfast" account --ledger found.db --data found.h5 --budget 1 --budget-delta 1e-5 --quiet > /dev/null || fail "no account"
train found counted
for kind in boxes noisy convex; do claims counted-$kind.txt '^as published (gap: .*number of records was found' || fail "$kind launders a count: $(cat counted-$kind.txt)"; done
# A copy keeps what its source says, and is no way around it.
"$holdfast" import found.h5 --out copy.h5 --json --quiet > copy.json
grep -q '"count_found":true' copy.json || fail "a copy forgets that its count was found"
"$holdfast" import places.h5 --id-from-content --out copy.h5 --json --quiet > copy.json
grep -q '"dealt":"row number"' copy.json || fail "a copy forgets what dealt its splits"

# 3. Answers about people of the table are in no account: refused by names alone, in every way of asking.
"$holdfast" account --ledger answers.db --data given.h5 --budget 100 --budget-delta 1e-3 --quiet > /dev/null || fail "no account"
ask() { "$holdfast" release --run stated-boxes --ledger answers.db --first 2 --quiet "$@"; }
for way in '--epsilon 0.1' '--session s --epsilon 1 --delta 1e-6' '--batch --epsilon 1 --delta 1e-6' '--total-epsilon 1 --total-delta 1e-6'; do
    ask --queries given.h5 $way > out.txt 2> err.txt
    [[ $? == 2 && ! -s out.txt ]] && grep -q 'queries-are-public' err.txt || fail "answered about the table's own people ($way): $(cat out.txt err.txt)"
    ask --queries given.h5 --queries-are-public $way > out.txt 2> err.txt || fail "said public ($way): $(cat err.txt)"
done
flat "$holdfast" statement --ledger answers.db > said.txt
grep -q 'the queries concern nobody whose records are private' said.txt || fail "the statement has no condition on queries"
grep -q 'owner is right that the queries are public' said.txt || fail "the statement does not say that it was said"
grep -q 'nobody times the answers' said.txt || fail "the statement does not say what access assumes"
# The same people under another name of the file.
cp given.h5 moved.h5
ask --queries moved.h5 --epsilon 0.1 > out.txt 2> err.txt
[[ $? == 2 ]] && grep -q "population 'given'" err.txt || fail "the population's own people: $(cat out.txt err.txt)"
# Other people, who happen to be alike (x has nine values): their owner says so.
ask --queries found.h5 --epsilon 0.1 > out.txt 2> err.txt
[[ $? == 2 && ! -s out.txt ]] && grep -q 'features of records.*owner of the ledger alone' err.txt || fail "alike, and not said: $(cat out.txt err.txt)"
ask --queries found.h5 --queries-are-public --epsilon 0.1 > out.txt 2> err.txt || fail "other people's queries: $(cat err.txt)"
# People of the ledger, through every door: their ids name them, whatever is said; without ids, their features.
cut -d, -f2 given.csv > bare.csv
ledger_before=$(sha256sum < answers.db)
for said in '' --queries-are-public; do
    for way in '--epsilon 0.1' '--aggregate certified:0.9 --epsilon 0.1' '--total-epsilon 1 --total-delta 1e-6'; do
        for queries in given.csv given.h5:train found.h5:train bare.csv; do
            [[ $queries == given.h5:train && -z $said ]] && continue  # refused by its name, above
            "$holdfast" release --run stated-boxes --ledger answers.db --quiet --queries $queries $said $way > out.txt 2> err.txt
            [[ $? == 2 && ! -s out.txt ]] && grep -q 'owner of the ledger alone' err.txt || fail "people of the ledger by $queries ($said $way): $(cat out.txt err.txt)"
        done
    done
done
[[ $ledger_before == "$(sha256sum < answers.db)" ]] || fail "a refusal changed the ledger"
# The owner asks which of them are people of the ledger.
"$holdfast" account --ledger answers.db --queries given.h5:train --json --quiet | python3 -c 'import json, sys; found = json.load(sys.stdin); sys.exit(len(found["known"]) != found["queries"])' || fail "people of the ledger are not known"
"$holdfast" account --ledger answers.db --queries whole.h5 > out.txt 2> err.txt
[[ $? == 3 ]] && grep -q 'have no ids' err.txt || fail "row numbers are taken for people: $(cat out.txt err.txt)"

# The owner's tables of routes say what every answer, session and publication by them would rest on.
for run in stated-boxes stated-convex; do
    "$holdfast" evaluate --run $run --data given.h5 --epsilon 1 --budget 1,1e-5 --json --quiet > table.json || fail "no table of $run"
    python3 - > out.txt <<'EOF' || fail "tables of $run leave conditions out: $(cat out.txt)"
import json, sys
table = json.load(open("table.json"))
routes, missing = table["budget"]["routes"], []
def need(row, name, *words):
    missing.extend((name, one) for one in words if one not in json.dumps(row["guarantee"]))
for row in table["private_accuracy"]:
    need(row, row["mechanism"], "the queries concern nobody", "sees labels, cost and exit code")
for row in routes:
    if row["route"] == "published":
        need(row, "published", "ChaCha20", "nobody times the draws", "leaves its owner")
    else:
        need(row, row["route"], "the queries concern nobody", "sees labels, cost and exit code")
    if row["route"] == "session":
        need(row, "session", "threshold of the session")
print(missing)
sys.exit(bool(missing) or not table["private_accuracy"] or not {"session", "batch"} <= {row["route"] for row in routes})
EOF
done

# 4. Public records are held against the ledger by its owner; training looks at no id.
{ echo id,x,y; for ((i = 0; i < 20; ++i)); do echo "$((i + 9000)),0.35,$((i % 2))"; done; } > open.csv
{ cat open.csv; echo 7,0.1,0; } > shared.csv
{ cat open.csv; echo 9999,0.1,0; } > alike.csv
for table in open shared alike; do "$holdfast" import $table.csv --label y --id id --scale x=0:1 --out $table.h5 --quiet > /dev/null || fail "cannot import $table"; done
beside() { "$holdfast" train --data given.h5 --ledger given.db --public "$1.h5" --out "beside-$1" --set training.kind=noisy --set clip.kind=norm --set 'network.hidden=[]' --set noise.epsilon=1 --quiet; }
beside open > out.txt 2> err.txt
[[ $? == 2 ]] && grep -q 'account --ledger given.db --public' err.txt || fail "unchecked public records: $(cat err.txt)"
beside shared > out.txt 2> shared.txt
[[ $? == 2 ]] && diff -q err.txt shared.txt > /dev/null || fail "training tells who is in: $(cat shared.txt)"
"$holdfast" account --ledger given.db --public shared.h5 > out.txt 2> err.txt
[[ $? == 3 ]] && grep -q 'name people of this ledger' err.txt || fail "a shared person passes as public: $(cat err.txt)"
"$holdfast" account --ledger given.db --public open.h5 > out.txt 2> err.txt || fail "public records are refused: $(cat err.txt)"
beside open > out.txt 2> err.txt
[[ $? == 6 ]] || fail "checked public records, and no budget left: $(cat err.txt)"
# What records say is compared whatever names them; whose ids cannot be is told.
check_public() { "$holdfast" account --ledger given.db --public "$@" --quiet > out.txt 2> err.txt; }
printf 'x,y\n0.35,0\n0.1,0\n' > content.csv
"$holdfast" import content.csv --label y --id-from-content --scale x=0:1 --out content.h5 --quiet > /dev/null || fail "cannot import by content"
for table in alike content; do
    check_public $table.h5
    [[ $? == 3 && ! -s out.txt ]] && grep -q '1 of its records have the very features.*--other-people' err.txt || fail "$table: records of the ledger pass as public: $(cat out.txt err.txt)"
done
check_public content.h5 --other-people && grep -q "ids (content) cannot be compared with those of 'given' (given)" out.txt || fail "other people: $(cat out.txt err.txt)"
# Records by row numbers, added since, are unchecked as well.
"$holdfast" account --ledger given.db --data whole.h5 --budget 1 --other-people --quiet > /dev/null || fail "row numbers are not added"
beside open > out.txt 2> err.txt
[[ $? == 2 ]] && grep -q 'account --ledger given.db --public' err.txt || fail "unchecked against what was added: $(cat err.txt)"
check_public open.h5 && grep -q "ids (given) cannot be compared with those of 'whole' (row number)" out.txt || fail "checked again: $(cat out.txt err.txt)"
beside open > out.txt 2> err.txt
[[ $? == 6 ]] || fail "checked again, and no budget left: $(cat err.txt)"

# 5. Digests of what no noise protects are marked as the owner's.
grep -q 'boxes [0-9a-f]\{16\} (for the owner alone)' stated-boxes.txt || fail "the digest of boxes is not marked: $(cat stated-boxes.txt)"

((failures == 0)) && echo "claims are about tables"
