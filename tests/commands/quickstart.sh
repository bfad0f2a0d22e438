#!/usr/bin/env bash
# quickstart.sh HOLDFAST: tools/quickstart --csv of a small table of patients publishes a model for the budget that was
# asked for, which gets the held-out records right.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"
if [[ ! $root/build/holdfast -ef $holdfast ]]; then
    echo "SKIPPED: tools/quickstart runs build/holdfast, and another one is tested"
    exit 77
fi

# What cmake builds is there already.
mkdir bin
printf '#!/bin/bash\n' >bin/cmake
chmod +x bin/cmake
PATH=$scratch/bin:$PATH

# 30 measurements of 570 patients, in units of their own; most tell the same: how far the illness is.
awk 'BEGIN { srand(7); printf "number"; for (j = 0; j < 30; ++j) printf ",m" j; print ",ill"
    for (i = 0; i < 570; ++i) {
        ill = rand() < 0.4; state = (ill ? 1.2 : -0.8) + normal(); printf "%d", i
        for (j = 0; j < 30; ++j) printf ",%.4f", (j % 7 + 1) * exp(0.3 * state + 0.3 * normal())
        print "," ill } }
    function normal(  sum, k) { for (k = 0; k < 12; ++k) sum += rand(); return sum - 6 }' >patients.csv
"$holdfast" schema patients.csv --label ill --id number --out patients.toml --quiet >/dev/null || fail "no template"
sed -i '/^found/d; s/^range = \[\]/range = [0, 30]/' patients.toml
# Every run has the locale of a user whose decimal mark is a comma; the program writes the same bytes under each.
language=C
for name in tr_TR de_DE; do
    make_locale $name || continue
    language=$name.UTF-8
    [[ $(LC_ALL=$language bash -c 'printf %.1f 1,5') == 1,5 ]] || fail "$language has no decimal comma"
    LC_ALL=$language "$holdfast" schema patients.csv --label ill --id number --from-data --out $name.toml --quiet >/dev/null || fail "no schema under $language"
    "$holdfast" schema patients.csv --label ill --id number --from-data --out plain.toml --quiet >/dev/null
    cmp -s $name.toml plain.toml && rm plain.toml || fail "$language changes a schema: $(diff $name.toml plain.toml)"
done
[[ $(LC_ALL=$language bash -c 'source "$1/tools/lib.sh"; printf "%.2g " 1.5e-06; awk "BEGIN { printf \"%.2g\", 1.5e-06 }"' bash "$root") == '1.5e-06 1.5e-06' ]] ||
    fail "tools/lib.sh leaves numbers to the locale"
quickstart() { LC_ALL=$language "$root/tools/quickstart" --no-install --ranks 1 "$@" >result 2>words; }
quickstart --csv patients.csv --schema patients.toml --out out --expected-records 430 --population patients ||
    fail "quickstart: $(tail -5 words)"
# The noise is drawn anew; who says the greater class, .6.
[[ $(sed -n 's/^accuracy \([0-9.]*\) of .*/\1/p' result) > 0.72 ]] || fail "too few right: $(<result)"
grep -q 'published: .*model.h5, for epsilon 1 and delta 1e-5 in all' result || fail "no model: $(<result)"
grep -q 'ajority class' result || fail "accuracy without guessing beside: $(<result)"
lines=$(cat words result | sed '1,/^== Build/d' | fold -w 100 | wc -l)
((lines <= 25)) || fail "$lines lines on the screen: $(cat words result)"
grep -q '^proved: ' out/log.txt && grep -q '^guarantee: proved$' result || fail "nothing is left out, and it is not proved: $(<result)"
grep -q "^provided:  all that build/holdfast statement --ledger $scratch/patients.ledger names" result || fail "no conditions: $(<result)"
[[ $(tail -n 1 result) == 'Next: '* && $(grep -c '^Next: ' result) == 1 ]] || fail "the last line is no command: $(tail -n 1 result)"
for step in import account advise train publish evaluate report; do
    grep -q "holdfast $step " out/log.txt && grep -q "$step …" words || fail "the log or the screen lacks $step"
done
grep -q 'spent; left: nothing' out/report.html && grep -q 'predict' out/report.html || fail "the report does not say what is left, or what comes next"
[[ -s out/report.html && -s out/advised.toml ]] || fail "no report or no advice"
[[ -z $(find out -type f ! -name model.h5 -perm /077) ]] || fail "others may read $(find out -type f -perm /077)"
spent=$("$holdfast" account --ledger patients.ledger --population patients --json --quiet)
[[ $spent == *'"spent_epsilon":1.0'* ]] || fail "spent: $spent"

# The command that it ends with scores new patients, from a file of their own, by the model alone.
cut -d, -f1-31 patients.csv | head -n 11 >new.csv
command=$(sed -n 's/^Next: //p' result | sed "s|^build/holdfast|$holdfast|; s|NEW.csv|new.csv|; ")
$command >out.txt 2>words || fail "$command: $(<words)"
cp out/answers.csv .
[[ $(head -n 1 answers.csv) == 'number,class,probability of 0,probability of 1' && $(wc -l <answers.csv) == 11 ]] || fail "answers: $(<answers.csv)"

# The same people again: the folder is refused, and in another one nothing is left; no byte and no date of before changes.
state() { find "$1" -printf '%p %y %s %T@\n' | sort && find "$1" -type f -exec sha256sum {} + | sort &&
    "$holdfast" account --ledger "$2.ledger" --population "$2" --json --quiet; }
# keeps FOLDER POPULATION WORDS OPTION…: a second quickstart with these is refused so.
keeps() {
    local before
    before=$(state "$1" "$2")
    quickstart "${@:4}" && fail "a second model: ${*:4}"
    grep -q "$3" words || fail "refused in what words, not '$3': $(tail -3 words)"
    [[ $(state "$1" "$2") == "$before" ]] || fail "${*:4}: changes $(diff <(echo "$before") <(state "$1" "$2"))"
}
again=(--csv patients.csv --schema patients.toml --expected-records 430 --population patients)
keeps out patients 'out holds a published model' "${again[@]}" --out out
keeps out patients 'have no epsilon 1 left' "${again[@]}" --out second
[[ ! -e second/run ]] || fail "trained without a budget"
# One that ends once it is paid for goes on with the same command, and costs the same.
printf '#!/bin/bash\n"${@:3}"\nexit 1\n' >bin/mpirun
chmod +x bin/mpirun
paid=("${again[@]/%patients/paid}" --ledger paid.ledger --out paid)
quickstart "${paid[@]}" && fail "goes on when its training fails"
rm bin/mpirun
spent_of() { "$holdfast" account --ledger "$1" --population "$2" --json --quiet | sed -n 's/.*"spent_epsilon":\([0-9.]*\).*/\1/p'; }
[[ ! -e paid/model.h5 && $(spent_of paid.ledger paid) == 1.0 ]] || fail "the training was not paid for: $(spent_of paid.ledger paid)"
quickstart "${paid[@]}" && [[ -e paid/model.h5 && $(spent_of paid.ledger paid) == 1.0 ]] || fail "does not go on: $(tail -5 words)"
# A table that is not read: its fault alone, and nothing is opened.
quickstart --csv patients.csv --label ill --delimiter ';' --population wrong --out wrong && fail "a wrong delimiter"
grep -q "another character stands between its cells: --delimiter ','" words && grep -q 'nothing was trained or charged' words && ! grep -q ATTENTION words ||
    fail "a wrong delimiter: $(<words)"
quickstart --csv patients.csv --schema <(sed 's/\[0, 30\]/[]/' patients.toml) --out wrong && fail "blanks in a schema"
[[ ! -e wrong.ledger ]] || fail "an account of a table that is not read"
# Another table into its folder.
cp patients.csv others.csv
quickstart --csv others.csv --label ill --out out && fail "another table's folder is taken"
grep -q 'was made of another table' words || fail "whose folder: $(tail -3 words)"

# Nothing stated: it goes on, and says what that costs. Another budget.
quickstart --csv others.csv --label ill --epsilon 0.5 --out other || fail "quickstart without facts: $(tail -5 words)"
for words in 'no column names' 'the count found stands in, rounded' 'no population' 'found in the private'; do
    grep -q "$words" words || fail "does not say: $words"
done
grep -q '^guarantee: as published (gap: .*row number decided.*number of records was found' result || fail "what is found is laundered: $(<result)"
(($(fold -w 100 result | wc -l) <= 25)) || fail "more than 25 lines: $(<result)"
grep -q 'for epsilon 0.5' result || fail "another budget: $(<result)"
command=$(sed -n 's/^Next: //p' result | sed "s|^build/holdfast|$holdfast|; s|NEW.csv|new.csv|; ")
$command >out.txt 2>words || fail "the owner asks: $command: $(<words)"

# Ids alone stated: ranges and the number of records are measured, and nothing is left open.
awk 'BEGIN { srand(8); print "number,age,amount,flag,ill"
    for (i = 0; i < 6000; ++i) { age = 18 + int(70 * rand()); amount = rand() < 0.4 ? "" : sprintf("%.2f", exp(6 + 3 * rand()))
        flag = rand() < 0.3; print 7 * i + 3 "," age "," amount "," flag "," (rand() < (age > 50 ? 0.9 : 0.1)) } }' >ward.csv
quickstart --csv ward.csv --label ill --id number --population ward --out ward || fail "measured: $(tail -5 words)"
grep -q '^guarantee: proved$' result || fail "what is measured is not proved: $(<result)"
grep -q 'measured_constants' <("$holdfast" statement --ledger ward.ledger) || fail "the statement lacks what was measured"
! grep -q ATTENTION words || fail "warned of what is measured: $(grep -A 3 ATTENTION words)"
[[ $(sed -n 's/^accuracy \([0-9.]*\) of .*/\1/p' result) > 0.8 ]] || fail "measured, too few right: $(<result)"
keeps ward ward 'does not fit: nothing was charged' --csv ward.csv --label ill --id number --population ward --out second-ward
grep -q 'what was published before is as it was' words && ! grep -q MPI words || fail "refused in what words: $(<words)"
spent=$(spent_of ward.ledger ward)
[[ $spent > 0.99 && ! $spent > 1.0 ]] || fail "measuring and training cost $spent"
printf 'flag,age,amount,number\n0,70,12.5,1\n1,20,900,2\n' >new.csv
"$holdfast" predict --model ward/model.h5 new.csv --quiet >answers.txt || fail "no answers: $(<answers.txt)"
[[ $(cut -d, -f1-2 answers.txt | tail -n 2 | tr '\n' ' ') == '1,1 2,0 ' ]] || fail "answers: $(<answers.txt)"
# The number of records stated, ranges not.
quickstart --csv ward.csv --label ill --id number --population stated --expected-records 4500 --ledger stated.db --out stated || fail "a stated count: $(tail -5 words)"
grep -q '^guarantee: proved$' result && grep -q -- '--records 4500' stated/log.txt || fail "a stated count: $(<result)"
# A column of text is hashed, and its frequent values are measured like ranges; no name of one is published.
awk -F, 'NR == 1 { print "town," $0; next } { print ($5 ? "Basel" : NR % 3 ? "Chur" : "Sion") "," $0 }' ward.csv >towns.csv
quickstart --csv towns.csv --label ill --id number --population towns --out towns || fail "text: $(tail -5 words)"
grep -q '^guarantee: proved$' result || fail "hashed text is not proved: $(<result)"
[[ $(sed -n 's/^accuracy \([0-9.]*\) of .*/\1/p' result) > 0.95 ]] || fail "the towns say it all: $(<result)"
! strings towns/model.h5 | grep -q Basel || fail "a town's name is published"
# A table as a German bank writes it: its header says its marks, its cells are dates each by itself, and its classes are stated.
awk -F, 'NR == 1 { print "Nummer;Beginn;Betrag;Ort;Ausfall"; next } { amount = sprintf("%.2f", NR * 1.25); sub(/\./, ",", amount)
    printf "%s;%02d.%02d.20%02d;%s;%s;%s\n", $2, 1 + NR % 28, 1 + NR % 12, NR % 20, amount, $1, $6 ? "ja" : "nein" }' towns.csv >bank.csv
bank=(--csv bank.csv --label Ausfall --person Nummer --population bank --out bank)
quickstart "${bank[@]}" && fail "classes that nobody stated"
grep -q -- "--classes 'a|b' names the label's values" words && [[ ! -e bank.ledger ]] || fail "does not say which classes: $(<words)"
quickstart "${bank[@]}" --classes 'nein|ja' || fail "a German table: $(tail -5 words)"
grep -q '^guarantee: proved$' result || fail "a German table: $(cat words result)"
[[ $(sed -n 's/^accuracy \([0-9.]*\) of .*/\1/p' result) > 0.9 ]] || fail "a German table, too few right: $(<result)"
# Few for so many columns: their ranges are drawn for more of the budget. So few that nothing shows: said, and what is left.
quickstart --csv patients.csv --label ill --id number --population some --ledger some.db --out some || fail "30 columns of 430 records: $(tail -5 words)"
grep -q '^guarantee: proved$' result || fail "few records are not proved: $(<result)"
head -n 61 patients.csv >few.csv
quickstart --csv few.csv --label ill --id number --population few --ledger few.db --out few && fail "ranges of 30 columns of 45 records"
grep -q 'nothing but the count was charged' words && grep -q 'Left: --epsilon 0.9' words || fail "does not say that they are too few: $(tail -3 words)"

# Of few records a convex model is more right: trained for nothing, paid for when it is published.
awk 'BEGIN { srand(4); printf "kind"; for (j = 0; j < 13; ++j) printf ",m" j; print ",number"
    for (i = 0; i < 180; ++i) { kind = int(3 * rand()); printf "%s", substr("abc", kind + 1, 1)
        for (j = 0; j < 13; ++j) printf ",%.3f", 4 + 2.4 * ((kind + j) % 3 - 1) + rand() + rand(); print "," 7 * i + 1 } }' >kinds.csv
kinds=(--csv kinds.csv --label kind --classes 'a|b|c' --person number --population kinds --scale '*=0:10' --expected-records 90 --out kinds)
quickstart "${kinds[@]}" || fail "convex: $(tail -5 words)"
grep -q '^kind = "convex"' kinds/advised.toml || fail "another kind is advised: $(grep ^kind kinds/advised.toml)"
grep -q '^guarantee: proved$' result || fail "convex, and not proved: $(<result)"
# One draw of noise may favour one kind; it seldom hides which record is likelier of it.
[[ $(sed -n 's/^AUC \([0-9.]*\);.*/\1/p' result) > 0.6 ]] || fail "convex, kinds are not told apart: $(<result)"
[[ $("$holdfast" predict --model kinds/model.h5 kinds/data.h5:test --accuracy --quiet | head -n 1) == "$(grep '^accuracy' result)" ]] ||
    fail "the screen tells of another model than the published one"
[[ $("$holdfast" account --ledger kinds.ledger --population kinds --json --quiet) == *'"spent_epsilon":1.0'* ]] || fail "convex cost something else"
keeps kinds kinds 'have no epsilon 1 left' "${kinds[@]}" --out second-kinds

# Rows with labels beyond 0 and 1 are no records, unless classes are stated: whoever is alone in the last one would show.
sed '1!{ s/^a/0/; s/^b/1/; s/^c/2/ }' kinds.csv >numbered.csv
numbered=(--csv numbered.csv --label kind --person number --population numbered --scale '*=0:10' --expected-records 135 --out numbered)
quickstart "${numbered[@]}" || fail "a third class that nobody stated: $(tail -5 words)"
grep -q '^ATTENTION: .*numbered.csv: [0-9]* rows were left out, whose label is none of the stated ones (--classes)' words || fail "does not say what is left out: $(<words)"
grep -q '^classes = 3' numbered/advised.toml && fail "a class that nobody stated is counted"
# Stated, they are as many as that, whoever is there.
{ head -n 1 numbered.csv && grep '^[01],' numbered.csv; } >two.csv
quickstart "${numbered[@]/#numbered/two}" --classes '0|1|2' || fail "two of three classes: $(tail -5 words)"
grep -q '^classes = 3' two/advised.toml || fail "the classes found are counted, not those stated"

# Numbers are learnt in a range that is public.
awk 'BEGIN { srand(3); print "number,size,age,price"
    for (i = 0; i < 3000; ++i) { size = rand(); age = rand()
        printf "%d,%.1f,%.1f,%.0f\n", 3 * i, 200 * size, 90 * age, 100000 * (1 + 2 * size - age) + 20000 * (rand() - 0.5) } }' >prices.csv
quickstart --csv prices.csv --label price --regression --person number --out prices && fail "numbers without a range"
grep -q -- '--target-range LOW:HIGH' words || fail "does not ask for the range: $(<words)"
quickstart --csv prices.csv --label price --regression --target-range 0:400000 --person number --population prices --out prices ||
    fail "a regression: $(tail -5 words)"
grep -q '^guarantee: proved$' result || fail "a regression that is not proved: $(<result)"
[[ $(sed -n 's/.*of the variance explained: \([0-9.-]*\).*/\1/p' result) > 0.5 ]] || fail "too little is explained: $(<result)"
printf 'age,number,size\n9,1,180\n81,2,20\n' >new.csv
command=$(sed -n 's/^Next: //p' result | sed "s|^build/holdfast|$holdfast|; s|NEW.csv|new.csv|; ")
$command >out.txt 2>words || fail "$command: $(<words)"
awk -F, 'NR == 2 && $2 > 2e5 { ++right } NR == 3 && $2 < 1e5 { ++right } END { exit right != 2 }' prices/answers.csv || fail "prices: $(<prices/answers.csv)"

((failures == 0)) && echo "quickstart as it should be"
