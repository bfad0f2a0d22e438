#!/usr/bin/env bash
# statement.sh HOLDFAST: what was released, said three ways from the ledger alone. Nothing in it tells one dataset from
# its neighbour, and looking makes and changes nothing.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
statement() { "$holdfast" statement --quiet "$@"; }
# refused INPUT EXIT WORDS OPTION…
refused() {
    local input=$1 code=$2 words=$3
    shift 3
    statement "$@" > out.txt 2> err.txt
    [ $? = "$code" ] && [ ! -s out.txt ] && grep -qE -- "$words" err.txt || fail "$input: $(cat out.txt err.txt)"
}
# history NAME RECORDS: a dataset of so many records, an account, answers by two mechanisms, a model published; all on
# one day.
history() {
    mkdir "$1"
    { echo id,a,b,y; for ((i = 1; i <= $2; ++i)); do echo "$i,$((i % 3)).$((i * 37 % 100)),$((i % 2)).$((i * 53 % 90)),$((i % 2))"; done; } > "$1/data.csv"
    "$holdfast" import "$1/data.csv" --label y --id id --scale '*=-5:5' --population ward --expected-records 90 --out "$1/data.h5" --quiet > /dev/null || fail "$1 cannot be imported"
    "$holdfast" train --quiet --data "$1/data.h5" --out "$1/run" --set "network.hidden=[8]" --set certificate.levels=10 --set training.epochs=2 > /dev/null || fail "$1 does not train"
    "$holdfast" account --quiet --ledger "$1/ledger.db" --data "$1/data.h5" --budget 10 --budget-delta 1e-4 > /dev/null || fail "$1 has no account"
    "$holdfast" release --queries-are-public --quiet --ledger "$1/ledger.db" --run "$1/run" --queries queries.h5:train --epsilon 0.1 --first 10 > /dev/null || fail "$1: stable_rr"
    "$holdfast" release --queries-are-public --quiet --ledger "$1/ledger.db" --run "$1/run" --queries queries.h5:train --epsilon 0.3 --first 12 --mechanism cauchy > /dev/null || fail "$1: cauchy"
    "$holdfast" train --quiet --data "$1/data.h5" --ledger "$1/ledger.db" --out "$1/noisy" --set training.kind=noisy --set clip.kind=norm --set "network.hidden=[]" --set training.batches=4 --set noise.multiplier=30 > /dev/null || fail "$1: noisy training"
    "$holdfast" publish --quiet --run "$1/noisy" --ledger "$1/ledger.db" --out "$1/model.h5" > /dev/null || fail "$1: publish"
    python3 "$support/chain_anew.py" "$1/ledger.db" 'UPDATE charges SET time = 1700000000000; UPDATE payments SET time = 1700000000000; UPDATE publications SET time = 1700000000000'
}

# 1. Where there is nothing to say: an error that makes nothing.
refused "no ledger" 2 'ledger\.db: no such ledger.*holdfast account' --ledger ledger.db
[ ! -e ledger.db ] || fail "looking at a ledger made one"
refused "no option" 2 '--ledger' --json

{ echo a,b; for ((i = 10; i < 22; ++i)); do echo "0.5,0.$i"; done; } > queries.csv
"$holdfast" import queries.csv --no-labels --scale "*=-5:5" --out queries.h5 --quiet > /dev/null || fail "cannot import the queries"
history here 90
history there 91
for place in here there; do statement --ledger $place/ledger.db > moved.txt || fail "$place is not migrated"; done
before=$(sha256sum < here/ledger.db)

# 2. JSON: what was released, in numbers that can be taken further.
statement --ledger here/ledger.db --json > here.json || fail "--json"
python3 - here.json << 'END' || fail "the JSON does not say it"
import json, sys
document = json.load(open(sys.argv[1]))
assert document["software"]["name"] == "Holdfast"
(ward,) = document["statements"]
assert ward["population"] == "ward" and ward["status"] == "proved"
assert ward["period"] == {"first_release": "2023-11-14", "last_release": "2023-11-14"}
*answers, model = ward["releases"]
assert [(r["mechanism"], r["answers"], r["epsilon_an_answer"]) for r in answers] == [("stable_rr", 10, 0.1), ("cauchy", 2, 0.3)]
assert model["mechanism"] == "noisy_training" and model["parameters"]["noise_multiplier"] == 30 and len(model["models"]) == 1
assert abs(ward["privacy_loss"]["spent"]["epsilon"] - 1.6 - model["epsilon_on_its_own"]) < 1e-9
assert all(r["guarantee"]["conditions"] for r in ward["releases"])
assert ward["neighbours"]["relation"] == "add_remove" and ward["trust_model"]["model"] == "central"
for section in ("unit_of_privacy", "composition", "threat_model", "data_handling", "assumptions", "not_covered"):
    assert ward[section], section
assert [c["component"] for c in ward["nist_sp_800_226"]["components"]][:3] == ["privacy parameters", "unit of privacy", "algorithms and correctness"]
assert ward["registry_entry"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 10.0, "delta": 1e-04}
END

# 3. Text and page say it too; the page is whole, and anyone may read it.
umask 022
statement --ledger here/ledger.db > here.txt || fail "the text"
grep -qE 'epsilon [0-9.]+ of 10, delta [0-9.e-]+ of 1e-04' here.txt && grep -q 'NIST SP 800-226' here.txt || fail "the text does not say it"
statement --ledger here/ledger.db --population ward --html here.html | grep -q 'here\.html' || fail "--html"
[ "$(stat -c %a here.html)" = 644 ] || fail "the page has mode $(stat -c %a here.html)"
grep -q '^<!doctype html>' here.html && grep -q 'cauchy' here.html || fail "the page does not say it"
grep -qE 'https?:|<script|<link|src=' here.html && fail "the page needs something from elsewhere"
python3 - here.html << 'END' || fail "the page is not well formed"
import html.parser, sys
class Nesting(html.parser.HTMLParser):
    stack = []
    def handle_starttag(self, tag, attributes):
        if tag != "meta": self.stack.append(tag)
    def handle_endtag(self, tag):
        assert self.stack.pop() == tag, tag
page = Nesting()
page.feed(open(sys.argv[1]).read())
assert page.stack == []
END
mpirun -n 2 "$holdfast" statement --quiet --ledger here/ledger.db > ranks.txt && cmp -s here.txt ranks.txt || fail "two ranks say something else"
[ "$before" = "$(sha256sum < here/ledger.db)" ] || fail "looking changed the ledger"

# 4. The neighbour, of one record more, with the same releases: the same bytes, but for the name of the public model and
# the head of the chain, a hash under the ledger's own random key.
model_of() { grep -o '"digest":"[0-9a-f]*"' "$1.json" | cut -d'"' -f4; }
head_of() { grep -o '"chain_head":"[0-9a-f]*"' "$1.json" | cut -d'"' -f4; }
[ "$(head_of here | wc -c)" = 65 ] || fail "no head: $(head_of here)"
plain() { sed "s/$(model_of "$1")/MODEL/; s/$(head_of "$1")/HEAD/" "$1.$2"; }
same() { cmp <(plain here "$1") <(plain there "$1") || fail "$1 differs between neighbours"; }
cmp -s here/ledger.db there/ledger.db && fail "the neighbours are one"
statement --ledger there/ledger.db --json > there.json && [ "$(model_of here)" != "$(model_of there)" ] && same json
statement --ledger there/ledger.db > there.txt && same txt
statement --ledger there/ledger.db --html there.html > /dev/null && same html
for name in here there; do
    digest=$(sed -n '/"dataset": {/,/}/s/.*"digest": "\(.*\)".*/\1/p' $name/run/manifest.json)
    [ ${#digest} -gt 16 ] || fail "no digest in $name"
    grep -qE "${digest:0:12}|data\.h5|\b9[01]\b" here.json here.txt here.html && fail "the statement knows the records of $name"
done

# 5. What cannot be: each its words.
refused "an unknown population" 2 "--population.*'clinic'" --ledger here/ledger.db --population clinic
refused "two forms" 2 '--json' --ledger here/ledger.db --json --html other.html
refused "a page that cannot be written" 4 'none/page\.html' --ledger here/ledger.db --html none/page.html
refused "a file that is no ledger" 3 'data\.csv' --ledger here/data.csv
: > empty.db && chmod 600 empty.db
refused "an emptied ledger" 3 'empty\.db: is empty' --ledger empty.db
cp here/ledger.db bare.db
python3 "$support/chain_anew.py" bare.db "$(printf 'DELETE FROM %s; ' answers charges curves results publications sessions payments people versions accounts)"
refused "a ledger without accounts" 2 'bare\.db.*no account.*holdfast account' --ledger bare.db

((failures == 0)) && echo "statements as documented"
