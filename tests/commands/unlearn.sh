#!/usr/bin/env bash
# unlearn.sh HOLDFAST: a run forgets records: to the bytes of a training that never had them, whenever it is stopped; what it
# says of answers beforehand is so afterwards; its log shows what was asked, and any change to it.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

# Ids are text for half of the people and numbers for the others; the label depends on both columns, not always.
table() { # FIRST LAST: all but the ids in the file "gone"
    echo id,a,b,y
    awk -v first="$1" -v last="$2" 'BEGIN {
        while ((getline line < "gone") > 0) gone[line] = 1
        for (i = first; i <= last; ++i) {
            id = i % 2 ? "person-" i : i
            a = (i * 37 % 101) / 101; b = (i * 53 % 97) / 97
            if (!(id in gone)) print id "," a "," b "," (a + b + (i % 7 == 0 ? 0.4 : 0) > 1)
        }
    }'
}
imported() { # OUT [OPTIONS…]: the people 1 to 400, queries 401 to 480
    table 1 400 > "$1.csv"
    (gone=; : > gone.none; mv gone gone.kept; : > gone; table 401 480 > test.csv; mv gone.kept gone)
    "$holdfast" import "$1.csv" --label y --id id --test test.csv --population people --expected-records 400 "${@:2}" --out "$1.h5" --quiet > /dev/null || fail "cannot import $1"
}
: > gone
imported all
settings=(--set network.hidden=[6] --set training.epochs=6 --set training.batches=2 --set certificate.levels=6 --set ensemble.members=5 --quiet)
train() { "$holdfast" train "${settings[@]}" "$@" > /dev/null 2> err.txt || fail "cannot train $*: $(cat err.txt)"; }
unlearn() { "$holdfast" unlearn --quiet "$@"; }
same() { # WORDS RUN FRESH: the same bytes
    for file in boxes.h5 metrics.jsonl fingerprint; do cmp -s "$2/$file" "$3/$file" || fail "$1: $file is not that of a fresh training"; done
}
refused() { # WORDS EXIT PATTERN COMMAND…
    "${@:4}" > out.txt 2> err.txt
    local status=$?
    [ $status = "$2" ] && grep -qE -- "$3" err.txt || fail "$1: exit $status: $(cat out.txt err.txt)"
}
number() { grep -o "\"$1\":[0-9]*" | head -1 | cut -d: -f2; }
train --data all.h5 --out run

# 1. Only members that held a forgotten record are trained; all bytes are those of a training without the records.
printf 'person-7\n\n42\nperson-7\r\n' > leave
printf 'person-7\n42\n' > gone
imported rest
train --data rest.h5 --out fresh
unlearn --run run --data all.h5 --ids leave --json > plan.json || fail "no plan"
[ "$(ls)" = "$(ls | grep -v '^new')" ] && [ "$(number forgotten < plan.json)" = 2 ] || fail "the plan: $(cat plan.json)"
unlearn --run run --data all.h5 --ids leave --out new --out-data new.h5 > said.txt 2> err.txt || fail "cannot unlearn: $(cat err.txt)"
grep -qE '^2 records forgotten: trained [12] members? of 5 anew$' said.txt || fail "says: $(cat said.txt)"
same "two records" new fresh
train --data new.h5 --out beside
cmp -s new/manifest.json beside/manifest.json || fail "another manifest than training on what is left: $(diff new/manifest.json beside/manifest.json)"
[ "$(ls new)" = "$(printf 'boxes.h5\nfingerprint\nmanifest.json\nmetrics.jsonl\nprovenance.jsonl\nunlearning.jsonl\nunlearning.key')" ] || fail "the new folder holds $(ls new)"
[ -z "$(find new new.h5 -type f -perm /077)" ] || fail "others may read $(find new new.h5 -perm /077)"
grep -qE '"(person-7|42)"|[,:[] *42[],}]' new/unlearning.jsonl
[ $? = 1 ] || fail "the log names the forgotten"
"$holdfast" inspect new.h5 --quiet > /dev/null || fail "what is left cannot be read"
"$holdfast" verify new --data new.h5 --quiet > verified.txt || fail "not verified: $(cat verified.txt)"

train --data all.h5 --validation all.h5:test --out watched
unlearn --run watched --data all.h5 --ids leave --out unwatched --out-data unwatched.h5 > /dev/null || fail "after records held out"
same "members that were looked at" unwatched fresh

# 2. The same request again does nothing; so does one about people who are forgotten already.
before=$(cd new && stat -c '%n %i %Y' -- *)
unlearn --run run --data all.h5 --ids leave --out new --out-data new.h5 > again.txt || fail "the same again"
grep -q '^this was done before: nothing was trained$' again.txt || fail "the same again says $(cat again.txt)"
[ "$(cd new && stat -c '%n %i %Y' -- *)" = "$before" ] || fail "the same again changes the folder"
unlearn --run new --data new.h5 --ids gone --out newer --out-data newer.h5 > again.txt || fail "forgotten before"
grep -q '2 forgotten before' again.txt && [ ! -e newer ] && [ ! -e newer.h5 ] || fail "forgotten before: $(cat again.txt)"

# 3. A second request, on two ranks; the log holds both, and what is said of answers beforehand is so afterwards.
printf '100\nperson-101\nperson-7\n' > leave2
unlearn --run new --data new.h5 --ids leave2 --queries all.h5 > said.txt || fail "no answers"
grep -qE '^[0-9]+ of 80 queries keep their label, provably' said.txt && grep -q '^proved: ' said.txt || fail "of answers: $(cat said.txt)"
cp new/unchanged.csv claimed.csv
mpirun -n 2 "$holdfast" unlearn --quiet --run new --data new.h5 --ids leave2 --out newer --out-data newer.h5 > said.txt 2> err.txt || fail "two ranks: $(cat err.txt)"
grep -q '^2 records forgotten, 1 forgotten before' said.txt || fail "two ranks say $(cat said.txt)"
printf 'person-7\n42\n100\nperson-101\n' > gone
imported rest2
train --data rest2.h5 --out fresh2
same "two requests" newer fresh2
unlearn --run newer --log > log.txt || fail "no log"
[ "$(grep -c 'asked to forget 2 records' log.txt)" = 2 ] && [ "$(grep -c 'done: run' log.txt)" = 2 ] || fail "the log: $(cat log.txt)"
[ "$(head -n 2 newer/unlearning.jsonl)" = "$(cat new/unlearning.jsonl)" ] || fail "the log was written anew"
printf 'person-1\n' > other
unlearn --run newer --data newer.h5 --ids other --queries all.h5 > /dev/null || fail "no answers of the newer run"
paste -d, claimed.csv newer/unchanged.csv | awk -F, 'NR > 1 { if ($3 == 1) { ++stay; if ($2 != $5) exit 1 } } END { exit !(stay > 0) }' ||
    fail "a label that was said to stay did not, or none was"

# 4. What is refused changes nothing.
nothing() { [ ! -e none ] && [ ! -e none.h5 ] || fail "$1 left something"; }
to=(--out none --out-data none.h5)
printf '42\nperson-99999\n' > unknown
refused "an unknown id" 3 'unknown: line 2: no record of this id' unlearn --run run --data all.h5 --ids unknown "${to[@]}"
grep -q 'person-99999' err.txt && fail "the unknown id is shown"
printf '\n\n' > empty
refused "no id" 3 'empty: names no record' unlearn --run run --data all.h5 --ids empty "${to[@]}"
refused "no file" 3 'absent: cannot be opened' unlearn --run run --data all.h5 --ids absent "${to[@]}"
tail -n +2 all.csv | cut -d, -f1 > everybody
refused "everybody" 3 'no record would be left' unlearn --run run --data all.h5 --ids everybody "${to[@]}"
refused "other data" 3 'not the records that the run was trained on' unlearn --run run --data rest.h5 --ids other "${to[@]}"
refused "half an output" 2 '--out and --out-data go together' unlearn --run run --data all.h5 --ids leave --out none
refused "public records that were none" 2 '--public: ' unlearn --run run --data all.h5 --ids leave --public all.h5:test "${to[@]}"
refused "another file" 2 'would replace all.h5, which --data reads' unlearn --run run --data all.h5 --ids leave --out none --out-data all.h5
refused "the run itself" 2 'run of another configuration, dataset or program' unlearn --run run --data all.h5 --ids leave --out run --out-data none.h5
nothing "a refusal"
mkdir damaged && cp run/* damaged/ && printf 'x' | dd of=damaged/boxes.h5 bs=1 seek=9000 conv=notrunc status=none
refused "a damaged run" 3 'damaged/boxes.h5: is damaged' unlearn --run damaged --data all.h5 --ids leave "${to[@]}"
rm -rf none none.h5
cut -d, -f2- all.csv > nobody.csv
"$holdfast" import nobody.csv --label y --population people --expected-records 400 --out nobody.h5 --quiet > /dev/null
train --data nobody.h5 --out nobody
printf '3\n' > third
refused "row numbers" 3 'known by row number' unlearn --run nobody --data nobody.h5 --ids third "${to[@]}"
"$holdfast" account --quiet --ledger ledger.db --data all.h5 --budget 3 --budget-delta 1e-4 > /dev/null
"$holdfast" train --quiet --data all.h5 --ledger ledger.db --set training.kind=noisy --set clip.kind=norm --out noisy > /dev/null || fail "no noisy run"
refused "a published kind" 2 'cannot be taken back' unlearn --run noisy --data all.h5 --ids leave "${to[@]}"
nothing "another refusal"
limited() { (trap '' XFSZ; ulimit -f 1; "$@"); }
refused "a full disk" 4 'full.h5' limited "$holdfast" unlearn --quiet --run run --data all.h5 --ids leave --out full --out-data full.h5
[ ! -e full.h5 ] || fail "half a dataset is left"
unlearn --run run --data all.h5 --ids leave --out full --out-data full.h5 > /dev/null || fail "no way on from a full disk"
same "after a full disk" full fresh

# Members that stay were trained by what the file said of its records then, and by public records in their order then.
"$holdfast" import all.csv --label y --id id --test test.csv --population people --expected-records 400 --scale '*=0:1' --out scaled.h5 --quiet > /dev/null
refused "another public range" 3 'the range of features was .* and is' unlearn --run run --data scaled.h5 --ids leave "${to[@]}"
{ head -n 1 rest.csv && tail -n 20 rest.csv; } > open.csv
{ head -n 1 open.csv && tail -n +2 open.csv | tac; } > backwards.csv
for name in open backwards; do "$holdfast" import $name.csv --label y --population open --out $name.h5 --id id --quiet > /dev/null; done
train --data all.h5 --public open.h5 --set training.public_batch_size=3 --out beside_open
refused "public records in another order" 2 '--public: ' unlearn --run beside_open --data all.h5 --ids leave --public backwards.h5 "${to[@]}"
train --data all.h5 --public backwards.h5 --set training.public_batch_size=3 --out beside_backwards
cmp -s beside_open/boxes.h5 beside_backwards/boxes.h5 && fail "the order of public records decides nothing"
cmp -s beside_open/fingerprint beside_backwards/fingerprint && fail "public records in another order have the same fingerprint"
train --data all.h5 --public open.h5 --out by_id && train --data all.h5 --public backwards.h5 --out by_id_too
cmp -s by_id/fingerprint by_id_too/fingerprint || fail "records that are batched by their ids have an order"
unlearn --run beside_open --data all.h5 --ids leave --public open.h5 --out open_new --out-data open_new.h5 > /dev/null || fail "with batches of public records"
train --data open_new.h5 --public open.h5 --set training.public_batch_size=3 --out open_fresh
same "batches of public records" open_new open_fresh
nothing "a third refusal"

# 5. A log that was touched is not taken for whole.
for change in 's/"asked"/"asket"/' '1s/"entry":1/"entry":7/' '2s/{"/{ "/' '1d' 's/"run_after":"./"run_after":"x/'; do
    rm -rf touched && cp -a newer touched && sed -i "$change" touched/unlearning.jsonl
    refused "a log changed by $change" 3 'unlearning.jsonl: line [0-9]' unlearn --run touched --log
done
size=$(stat -c %s newer/unlearning.jsonl)
for ((cut = 1; cut < size; cut += 397)); do
    cp newer/unlearning.jsonl touched/unlearning.jsonl && truncate -s -$cut touched/unlearning.jsonl
    "$holdfast" verify touched --quiet > /dev/null 2>&1 && fail "verified with a log that lacks $cut bytes"
done

# 6. Killed at any instant, the same command goes on, to the same bytes and one entry each.
slow=(unlearn --quiet --run run --data all.h5 --ids leave --out killed --out-data killed.h5)
kill_ever_later 3000 "$holdfast" "${slow[@]}"
"$holdfast" "${slow[@]}" > /dev/null 2> err.txt || fail "after all kills: $(cat err.txt)"
same "killed" killed fresh
[ "$(wc -l < killed/unlearning.jsonl)" = 2 ] || fail "killed: $(cat killed/unlearning.jsonl)"

# 7. A member that loses all its records; more than K of them; no levels; convex training, also for removals alone.
few=(--set ensemble.members=40 --set certificate.levels=2)
train --data all.h5 --out few "${few[@]}"
many() { # RUN OPTIONS…: forget 30 people, train the others afresh
    tail -n +2 all.csv | cut -d, -f1 | head -n 30 > gone
    imported "$1-rest"
    train --data "$1-rest.h5" --out "$1-fresh" "${@:2}"
    unlearn --run "$1" --data all.h5 --ids gone --queries all.h5 --out "$1-new" --out-data "$1-new.h5" > said.txt 2> err.txt || fail "$1: $(cat err.txt)"
    same "$1" "$1-new" "$1-fresh"
    "$holdfast" verify "$1-new" --data "$1-new.h5" --quiet > verified.txt 2>&1 || fail "$1: $(cat verified.txt)"
}
many few "${few[@]}"
train --data all.h5 --out lost --set ensemble.members=400 --set training.epochs=1
tail -n +2 all.csv | cut -d, -f1 | head -n 3 > gone
imported lost-rest
train --data lost-rest.h5 --out lost-fresh --set ensemble.members=400 --set training.epochs=1
unlearn --run lost --data all.h5 --ids gone --out lost-new --out-data lost-new.h5 > /dev/null || fail "an empty member"
same "an empty member" lost-new lost-fresh
train --data all.h5 --out plain --set certificate.levels=0
many plain --set certificate.levels=0
convex=(--set training.kind=convex --set network.hidden=[] --set features.norm_limit=1 --set training.learning_rate=1 --set certificate.levels=40)
train --data all.h5 --out convex "${convex[@]}"
many convex "${convex[@]}"
train --data all.h5 --out removals "${convex[@]}" --set certificate.relation=remove
many removals "${convex[@]}" --set certificate.relation=remove
# Nobody stated how many records there are: fewer make longer steps, of every member.
: > gone
table 1 400 > counted.csv
"$holdfast" import counted.csv --label y --id id --test test.csv --population people --out counted.h5 --quiet > /dev/null
tail -n +2 all.csv | cut -d, -f1 | head -n 30 > gone
table 1 400 > counted-rest.csv
"$holdfast" import counted-rest.csv --label y --id id --test test.csv --population people --out counted-rest.h5 --quiet > /dev/null
train --data counted.h5 --out counted "${few[@]}" && train --data counted-rest.h5 --out counted-fresh "${few[@]}"
unlearn --run counted --data counted.h5 --ids gone --queries counted.h5 --out counted-new --out-data counted-new.h5 > said.txt 2> err.txt || fail "counted: $(cat err.txt)"
grep -q 'trained 40 members of 40 anew' said.txt && grep -q '^0 of 80 queries keep their label' said.txt || fail "counted: $(cat said.txt)"
same "counted" counted-new counted-fresh
train --data all.h5 --out substitute --set certificate.relation=substitute
unlearn --run substitute --data all.h5 --ids leave --queries all.h5 --json > said.json || fail "substitute"
unlearn --run run --data all.h5 --ids leave --queries all.h5 --json > covered.json || fail "add_remove"
(($(number stay < said.json) <= $(number stay < covered.json))) || fail "distances of another relation count: $(cat said.json)"

((failures == 0)) && echo "unlearned as documented"
exit $((failures > 0))
