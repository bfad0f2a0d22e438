#!/usr/bin/env bash
# account.sh HOLDFAST: one budget a population, end to end. Whatever a dataset is turned into, its people's answers are
# charged to the one account; nobody is counted in two.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
account() { "$holdfast" account --quiet --ledger ledger.db "$@"; }
# train RUN DATA
train() {
    "$holdfast" train --quiet --data "$2" --out "$1" --set "network.hidden=[8]" --set certificate.levels=10 --set training.epochs=2 --set training.expected_records=400 > "$1.txt" || fail "$1 does not train"
}
# release RUN QUERIES
release() { "$holdfast" release --queries-are-public --quiet --json --ledger ledger.db --run "$1" --queries "$2" --epsilon 0.1; }
# field JSON NAME: one number or text of the object printed.
field() { grep -o "\"$2\":[^,}]*" "$1" | head -1 | cut -d: -f2-; }
# refused INPUT EXIT WORDS COMMAND…
refused() {
    local input=$1 code=$2 words=$3
    shift 3
    "$@" > out.txt 2> err.txt
    [ $? = "$code" ] && [ ! -s out.txt ] && grep -qE -- "$words" err.txt || fail "$input: $(cat out.txt err.txt)"
}

"$holdfast" synth blobs --records 400 --test 40 --seed 1 --population ward --out first.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 401 --test 0 --seed 1 --population ward --out longer.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 400 --test 40 --seed 1 --population clinic --out renamed.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 10000 --test 21 --seed 5 --out queries.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 20000 --test 40 --seed 6 --out others.h5 --quiet > /dev/null
"$holdfast" import first.h5 --scale '*=-10:10' --population ward --out scaled.h5 --quiet > /dev/null
"$holdfast" import renamed.h5 --scale '*=-20:20' --population clinic --out disguised.h5 --quiet > /dev/null
train first first.h5
train longer longer.h5
train scaled scaled.h5

# 1. Nothing is made where nothing can be: an account is opened with a budget, by a dataset that says whose it is.
{ echo a,y; for ((i = 0; i < 20; ++i)); do echo "0.$i,$((i % 2))"; done; } > nameless.csv
"$holdfast" import nameless.csv --label y --out nameless.h5 --quiet > /dev/null
refused "no budget" 2 'ledger\.db: no such ledger.*--budget' account --data first.h5
refused "no population" 3 'nameless\.h5.*import … --population' account --data nameless.h5 --budget 10
[ ! -e ledger.db ] || fail "a refusal made a ledger"

# 2. Opened once, by two ranks as by one; the digest is that of the run.
mpirun -n 2 "$holdfast" account --quiet --ledger ledger.db --data first.h5 --budget 10 --json > opened.json || fail "cannot open"
[ "$(wc -l < opened.json)" = 1 ] || fail "two ranks printed two accounts"
[ "$(stat -c %a ledger.db)" = 600 ] || fail "ledger has mode $(stat -c %a ledger.db)"
[ "$(field opened.json population)/$(field opened.json relation)/$(field opened.json budget_epsilon)/$(field opened.json spent_epsilon)/$(field opened.json ids)" = '"ward"/"add_remove"/10.0/0.0/400' ] || fail "opened: $(cat opened.json)"
digest=$(sed -n '/"dataset": {/,/}/s/.*"digest": "\(.*\)".*/\1/p' first/manifest.json)
[ "$(field opened.json dataset)" = "\"$digest\"" ] || fail "account and run disagree on the digest: $digest, $(cat opened.json)"
account --data first.h5 > again.txt || fail "the same again"
account --data first.h5 --budget 10 > /dev/null || fail "the same with its budget"
refused "another budget" 6 'epsilon 10, delta 0, add_remove.*epsilon 11' account --data first.h5 --budget 11
refused "another relation" 6 'add_remove neighbours.*substitute neighbours' account --data first.h5 --budget 10 --relation substitute
grep -q 'epsilon 10, delta 0' again.txt && grep -q '400 ids by which its records are known' again.txt || fail "the text: $(cat again.txt)"

# 3. Versions share it: what one spends, the others have spent. Unknown ones are sent to be added.
release first first.h5 > first.json || fail "release of the first version"
refused "a version not yet added" 2 'holdfast account --ledger ledger\.db' release scaled scaled.h5
account --data scaled.h5 > /dev/null || fail "another scaling"
account --data longer.h5 --json > added.json || fail "one record more"
[ "$(grep -o '"dataset"' added.json | wc -l)/$(field added.json spent_epsilon)/$(field added.json answers)" = 3/4.0/40 ] || fail "added: $(cat added.json)"
release scaled others.h5 > scaled.json || fail "release of the scaled version"
"$holdfast" release --queries-are-public --quiet --json --ledger ledger.db --run longer --queries queries.h5 --first 20 --epsilon 0.1 > longer.json || fail "release of the longer version"
[ "$(field scaled.json spent_epsilon)/$(field longer.json spent_epsilon)" = 8.0/10.0 ] || fail "versions spend apart: $(cat scaled.json longer.json)"
refused "nothing is left for any version" 6 '1 more answers do not fit.*no answer at this epsilon fits' release longer queries.h5

# 4. The same people under another name: no fresh budget, and no account is left behind.
refused "the same records renamed" 3 "population 'ward'.*--population 'ward'" account --data renamed.h5 --budget 10
refused "the same people, other records" 3 "400 from 'ward'.*--population 'ward'" account --data disguised.h5 --budget 10
refused "no such account" 2 "population 'clinic'" account --population clinic

# 5. Shown without a dataset.
account --population ward --json > shown.json || fail "cannot show"
[ "$(field shown.json spent_epsilon)/$(field shown.json answers)" = 10.0/100 ] || fail "shown: $(cat shown.json)"
refused "a dataset and a name" 2 '--population' account --population ward --data first.h5
refused "neither" 2 '--data' account

# 6. The rule of composition is chosen at opening, and stays. By curves small answers cost less than their sum.
clinic() { "$holdfast" account --quiet --ledger renyi.db --data renamed.h5 --budget 2 --budget-delta 1e-5 "$@"; }
refused "no delta for curves" 2 '--budget-delta' "$holdfast" account --quiet --ledger renyi.db --data renamed.h5 --budget 2 --composition renyi
refused "all of the delta set apart" 2 '--delta-apart' clinic --composition renyi --delta-apart 1e-5
refused "a fixed epsilon and curves" 2 '--composition' clinic --composition renyi --fixed 0.1
refused "an unknown rule" 2 '--composition' clinic --composition advanced
[ ! -e renyi.db ] || fail "a refusal made a ledger"
clinic --composition renyi --delta-apart 1e-6 --json > renyi.json || fail "a Renyi account"
[ "$(field renyi.json composition)/$(field renyi.json delta_apart)/$(field opened.json composition)" = '"renyi"/1e-06/"basic"' ] || fail "renyi: $(cat renyi.json)"
grep -qE '"renyi_order":[0-9]+' renyi.json || fail "no order: $(cat renyi.json)"
refused "another rule" 6 'the Renyi order [0-9]+, delta 1e-06 apart.*it was to be epsilon 2, delta 1e-05, add_remove' clinic
clinic --composition renyi --delta-apart 1e-6 | grep -q 'by a Renyi filter at order [0-9]*, delta 1e-06 set apart' || fail "the text does not name the rule"
train renamed renamed.h5
"$holdfast" release --queries-are-public --quiet --json --ledger renyi.db --run renamed --queries renamed.h5 --epsilon 0.05 > renyi.json || fail "release by curves"
[[ $(field renyi.json spent_epsilon) == 1.* ]] || fail "40 answers at 0.05 by curves, whose sum is 2: $(cat renyi.json)"

# 7. What was paid for as a whole is shown, with the models published under it.
token=$(printf '0123456789abcdef%.0s' 1 2 3 4) model=$(printf 'fedcba9876543210%.0s' 1 2 3 4)
python3 "$support/chain_anew.py" renyi.db "INSERT INTO payments SELECT 1, account, dataset, '$token', '1/2', '1/10000000', 'noisy', '{}', 1, 1700000000000, NULL FROM versions; INSERT INTO publications VALUES(1, 1, '$model', 1700100000000);"
"$holdfast" account --quiet --ledger renyi.db --population clinic > shown.txt || fail "cannot show payments"
grep -q 'on 40 answers and 1 payments' shown.txt && grep -q '^payment  *2023-11-14 noisy, epsilon 0.5, delta 1e-07, token 0123456789abcdef$' shown.txt && grep -q '^published  *2023-11-16 model fedcba9876543210$' shown.txt || fail "payments: $(cat shown.txt)"
"$holdfast" account --quiet --ledger renyi.db --population clinic --json > shown.json || fail "cannot show payments"
[ "$(field shown.json mechanism)/$(field shown.json date)/$(field shown.json digest)" = '"noisy"/"2023-11-14"/"fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"' ] || fail "payments: $(cat shown.json)"

# What a year costs: by month, as the account composes; the last is what is spent.
cp renyi.db months.db
python3 "$support/chain_anew.py" months.db "UPDATE charges SET time = 1702900000000 WHERE id > 10; UPDATE charges SET time = 1699900000000 WHERE id <= 10"
"$holdfast" account --quiet --ledger months.db --population clinic --by-month --json > months.json || fail "months: $(cat months.json)"
python3 -c 'import json
o = json.load(open("months.json"))
m = o["months"]
assert [x["month"] for x in m] == ["2023-11", "2023-12"], m
assert 0 < m[0]["spent_epsilon"] < m[1]["spent_epsilon"] == o["spent_epsilon"], (m, o)' || fail "months: $(cat months.json)"
"$holdfast" account --quiet --ledger months.db --population clinic --by-month | grep -q '^2023-12 .* of ' || fail "no months in words"

# 8. A ledger that another program touched, or that is damaged, is believed by nobody: exit 3, and nothing is charged.
check() { "$holdfast" account --quiet --check --ledger "$@"; }
check ledger.db > checked.txt || fail "a sound ledger: $(cat checked.txt)"
"$holdfast" statement --quiet --ledger ledger.db --json > kept.json || fail "no statement"
head=$(field kept.json chain_head | tr -d '"')
check ledger.db --head "$head" > /dev/null || fail "the head it printed is not known"
refused "a head it never had" 3 'head' check ledger.db --head "${head//[0-7]/8}"
python3 - renyi.db << 'END' || fail "no tampered ledgers"
import os, random, shutil, sqlite3, sys
source = sys.argv[1]
tampers = {
    "charge": "DELETE FROM charges WHERE id = 1", "all": "DELETE FROM charges; DELETE FROM answers",
    "payment": "DELETE FROM payments; DELETE FROM publications", "budget": "UPDATE accounts SET epsilon = '200'",
    "label": "UPDATE answers SET label = 7 WHERE id = 1", "flipped": "UPDATE answers SET label = 1 - label WHERE id = 2",
    "swapped": "UPDATE charges SET query = (SELECT query FROM charges c WHERE c.id = 3 - charges.id) WHERE id < 3",
    "price": "UPDATE charges SET epsilon = '1/2000' WHERE id = 5", "cut": "DELETE FROM chain WHERE id = (SELECT max(id) FROM chain)",
    "person": "DELETE FROM people WHERE hash = (SELECT min(hash) FROM people)", "chainless": "DELETE FROM chain",
    "added": "INSERT INTO guarantees VALUES(99, 'anything')", "cost": "UPDATE payments SET epsilon = '0'",
}
for name, sql in tampers.items():
    shutil.copy(source, f"tampered-{name}.db")
    with sqlite3.connect(f"tampered-{name}.db") as ledger:
        ledger.executescript(sql)
whole = open(source, "rb").read()
open("tampered-half.db", "wb").write(whole[:len(whole) // 2])
open("tampered-page.db", "wb").write(whole[:-4096])
chance = random.Random(3)
for i in range(20):
    bytes_ = bytearray(whole)
    bytes_[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
    open(f"bit-{i}.db", "wb").write(bytes_)
for name in os.listdir("."):
    if name.startswith(("tampered-", "bit-")):
        os.chmod(name, 0o600)
END
for ledger in tampered-*.db; do
    refused "$ledger" 3 "$ledger" check "$ledger"
    before=$(sha256sum < "$ledger")
    refused "$ledger, asked" 3 "$ledger" "$holdfast" release --queries-are-public --quiet --ledger "$ledger" --run renamed --queries renamed.h5 --epsilon 0.001 --first 1
    [ "$before" = "$(sha256sum < "$ledger")" ] || fail "$ledger was written to"
done
for ledger in bit-*.db; do # a bit that SQLite uses for nothing changes nothing that is said
    "$holdfast" account --quiet --ledger "$ledger" --population clinic --json > bit.json 2> err.txt
    code=$?
    [ $code = 3 ] || { [ $code = 0 ] && cmp -s bit.json shown.json; } || fail "$ledger: exit $code, $(cat err.txt bit.json)"
done
: > empty.db && chmod 600 empty.db
emptied() { refused "an emptied ledger, $1" 3 'empty\.db: is empty.*last copy' "$holdfast" "$@" --quiet --ledger empty.db; }
emptied account --check
emptied account --population clinic
emptied account --data renamed.h5 --budget 2
emptied account --public queries.h5:test
emptied statement
emptied release --queries-are-public --run renamed --queries renamed.h5 --epsilon 0.001
[ ! -s empty.db ] || fail "an emptied ledger was written to"
# Nothing but a first budget makes a ledger.
for asked in "account --check" "account --population clinic" "account --data renamed.h5" "account --public queries.h5:test" "account --queries queries.h5" "statement" "release --queries-are-public --run renamed --queries renamed.h5 --epsilon 0.001"; do
    refused "no ledger, $asked" 2 'none\.db: no such ledger' "$holdfast" $asked --quiet --ledger none.db
    [ ! -e none.db ] || fail "made by: $asked"
done

# 9. One table under three names of its records: one account, unless its owner says that these are other people.
{ echo id,other,x,y,label; for ((i = 0; i < 60; ++i)); do echo "$i,P$i,$((i * 7 % 60)).5,$i.25,$((i % 2))"; done; } > three.csv
import() { "$holdfast" import three.csv --label label --scale '*=0:60' --drop id --drop other --expected-records 60 --quiet "$@" > /dev/null 2> err.txt; }
import --id id --population by-id --out given.h5 && import --id-from-content --population by-content --out content.h5 && import --id other --population by-other --out other.h5 || fail "three imports: $(cat err.txt)"
three() { "$holdfast" account --quiet --ledger three.db --budget 1 "$@"; }
three --data given.h5 > /dev/null || fail "the first account"
refused "ids from content" 3 "by-id.*--other-people" three --data content.h5
refused "ids with a P in front" 3 "by-id.*--other-people" three --data other.h5
for name in by-content by-other; do refused "no account is left behind" 2 'no account' "$holdfast" account --quiet --ledger three.db --population $name; done
cp three.db put_back.db
three --data content.h5 --other-people > /dev/null 2> err.txt || fail "other people: $(cat err.txt)"
"$holdfast" statement --quiet --ledger three.db | tr -s '\n ' ' ' | grep -q "cannot be compared" || fail "the statement does not say what is not covered"
three --data other.h5 --other-people > /dev/null 2> err.txt || fail "other people: $(cat err.txt)"
"$holdfast" statement --quiet --ledger three.db --population by-other --json | grep -o '"other_accounts":"[^"]*' > others.txt
grep -q by-content others.txt && ! grep -q by-id others.txt || fail "other accounts are not named by kinds of ids alone: $(cat others.txt)"
head=$("$holdfast" statement --quiet --ledger three.db --json | grep -o '"chain_head":"[^"]*"' | cut -d'"' -f4)
check three.db --head "$head" > /dev/null || fail "its own head"
refused "a ledger that was put back" 3 'never had the head' check put_back.db --head "$head"

((failures == 0)) && echo "accounts as documented"
