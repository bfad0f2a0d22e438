#!/usr/bin/env bash
# features.sh HOLDFAST: maps of a table's features from training to answers: every job maps what it reads and nobody else
# has to know; the same bytes on any number of ranks; a query is the same to the ledger whatever a run makes of it; a
# prefix is the model that was meant.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

{ # of two columns neither is of use but by its bins: inside a band, or outside
    echo id,a,b,y
    for ((i = 0; i < 900; ++i)); do
        a=$((i * 37 % 100))
        echo "$i,$a,$((i * 53 % 97)),$((a >= 30 && a < 70))"
    done
} > table.csv
"$holdfast" import table.csv --label y --id id --scale '*=0:100' --test-fraction 0.2 --expected-records 700 --population table --out table.h5 --quiet > /dev/null || fail "cannot import"
bins=(--set features.map=bins --set features.bins=10 --set "features.pairs=[0,1]" --set "network.hidden=[]")

# 1. Boxes: trained, certified, evaluated, released.
boxes=(--data table.h5 --quiet --set certificate.levels=3 --set clip.gamma=0.05 --set training.epochs=30 --set training.learning_rate=40)
"$holdfast" train "${boxes[@]}" "${bins[@]}" --out run > /dev/null || fail "boxes do not train"
"$holdfast" train "${boxes[@]}" --set "network.hidden=[]" --out raw > /dev/null || fail "without bins they do not train"
mpirun -n 3 "$holdfast" train "${boxes[@]}" "${bins[@]}" --out ranks > /dev/null || fail "boxes do not train on 3 ranks"
cmp -s run/boxes.h5 ranks/boxes.h5 || fail "other boxes on 3 ranks"
accuracy() { "$holdfast" evaluate --run "$1" --data table.h5 --epsilon 1 --quiet | sed -n 's/^nominal accuracy  single \([0-9.]*\) .*/\1/p'; }
[[ $(accuracy run) > 0.95 ]] || fail "bins show nothing: $(accuracy run)"
[[ $(accuracy raw) < 0.8 ]] || fail "the table is too easy: $(accuracy raw)"
"$holdfast" certify --run run --queries table.h5 --quiet --json > one.json || fail "no certificates"
mpirun -n 2 "$holdfast" certify --run ranks --queries table.h5 --quiet --json > two.json || fail "no certificates on 2 ranks"
[ -n "$(field one.json digest)" ] && [ "$(field one.json digest)" = "$(field two.json digest)" ] || fail "other certificates on 2 ranks"
"$holdfast" account --quiet --ledger ledger.db --data table.h5 --budget 99 --budget-delta 1e-3 > /dev/null || fail "no account"
release() { "$holdfast" release --queries-are-public --ledger ledger.db --run "$1" --queries table.h5 --first 5 --epsilon 0.2 --quiet; }
release run > first.txt || fail "no release"
spent() { "$holdfast" account --ledger ledger.db --data table.h5 --quiet --json | grep -o '"spent_epsilon":[^,}]*'; }
before=$(spent)
release raw > again.txt || fail "no release of the run without bins"
cmp -s first.txt again.txt && [ "$(spent)" = "$before" ] || fail "the ledger takes a mapped query for another one: $before, $(spent)"

# 2. With noise: trained, published, predicted; who predicts gives the columns of the table.
"$holdfast" train --data table.h5 --ledger ledger.db --quiet --set training.kind=noisy --set clip.kind=norm --set training.epochs=40 --set training.learning_rate=10 --set noise.epsilon=5 "${bins[@]}" --out noisy > /dev/null || fail "noisy training fails"
"$holdfast" publish --run noisy --ledger ledger.db --out model.h5 --quiet > /dev/null || fail "not published"
"$holdfast" predict --model model.h5 --queries table.h5 --accuracy --quiet > accuracy.txt || fail "does not predict"
[ "$(sed -n 1p accuracy.txt | cut -d" " -f2)" = "$(accuracy noisy)" ] || fail "predict finds $(cat accuracy.txt), evaluate $(accuracy noisy)"
[[ $(accuracy noisy) > 0.9 ]] || fail "with noise bins show nothing: $(accuracy noisy)"
"$holdfast" predict --model model.h5 --queries table.h5 --scores --quiet > one.txt
mpirun -n 2 "$holdfast" predict --model model.h5 --queries table.h5 --scores --quiet > two.txt
cmp -s one.txt two.txt || fail "other answers on 2 ranks"

# 3. Public records are mapped too; a complaint speaks of the columns of the table.
"$holdfast" train "${boxes[@]}" "${bins[@]}" --public table.h5:test --out beside > /dev/null || fail "no public records"
[[ $(accuracy beside) > 0.95 ]] || fail "public records spoil the bins"
"$holdfast" synth blobs --records 20 --test 5 --out wide.h5 --quiet > /dev/null
"$holdfast" predict --model model.h5 --queries wide.h5 --quiet 2> err.txt
[ $? = 3 ] && grep -q '6 features, but the model takes 2' err.txt || fail "queries of other columns: $(cat err.txt)"

# 4. What is no map is refused, and nothing is charged or left.
refused() { # DATA WORDS OPTIONS…
    "$holdfast" train --data "$1" --ledger ledger.db --quiet --set training.kind=noisy --set clip.kind=norm --set features.map=bins --out refused "${@:3}" > out.txt 2> err.txt
    [ $? = 2 ] && [ ! -s out.txt ] && grep -q -e "$2" err.txt && [ ! -e refused ] || fail "\"$2\" is not in: $(cat err.txt)"
}
before=$(spent)
refused table.h5 'columns 0 and 2' --set "features.pairs=[0,2]"
refused table.h5 'two columns a pair' --set "features.pairs=[0]"
refused wide.h5 'public range' --set training.expected_records=20
[ "$(spent)" = "$before" ] || fail "a refused map was charged"

# 5. Fourier features: trained with noise, published, predicted, on any number of ranks.
noisy=(--data table.h5 --ledger ledger.db --quiet --set training.kind=noisy --set clip.kind=norm --set training.epochs=40 --set training.learning_rate=10 --set noise.epsilon=5)
fourier=(--set features.map=fourier --set features.frequencies=40 --set features.bandwidth=0.3 --set features.keep=false --set "network.hidden=[]")
published() { # NAME: of a run of that name, whose published model must answer as the run does
    "$holdfast" publish --run "$1" --ledger ledger.db --out "$1.h5" --quiet > /dev/null || fail "$1 is not published"
    "$holdfast" predict --model "$1.h5" --queries table.h5 --accuracy --quiet > accuracy.txt || fail "$1 does not predict"
    [ "$(sed -n 1p accuracy.txt | cut -d" " -f2)" = "$(accuracy "$1")" ] || fail "$1: predict finds $(cat accuracy.txt), evaluate $(accuracy "$1")"
}
"$holdfast" train "${noisy[@]}" "${fourier[@]}" --out waves > /dev/null || fail "Fourier features do not train"
published waves
[[ $(accuracy waves) > 0.9 ]] || fail "Fourier features show nothing: $(accuracy waves)"
"$holdfast" train "${boxes[@]}" "${fourier[@]}" --out few > /dev/null || fail "boxes of Fourier features do not train"
mpirun -n 3 "$holdfast" train "${boxes[@]}" "${fourier[@]}" --out many > /dev/null || fail "not on 3 ranks"
cmp -s few/boxes.h5 many/boxes.h5 || fail "other boxes of Fourier features on 3 ranks"

# 6. The hidden layers of a public model, here of one that was published. The run has its own copy.
"$holdfast" train "${noisy[@]}" --set "network.hidden=[8]" --set features.norm_limit=1 --out clipped > /dev/null || fail "clipped features do not train"
published clipped
"$holdfast" train "${noisy[@]}" --set "network.hidden=[8]" --out hidden > /dev/null || fail "no model of hidden layers"
published hidden
prefix=(--set features.map=prefix --set features.prefix=hidden.h5 --set features.norm_limit=1 --set "network.hidden=[]")
"$holdfast" train "${noisy[@]}" "${prefix[@]}" --out after > /dev/null || fail "behind a prefix nothing trains"
mkdir away
mv hidden.h5 away
published after
(cd away && "$holdfast" evaluate --run ../after --data ../table.h5 --epsilon 1 --quiet > /dev/null) || fail "the run is lost without the file"
"$holdfast" train "${boxes[@]}" "${prefix[@]/hidden.h5/away/hidden.h5}" --out boxed > /dev/null || fail "boxes behind a prefix"
"$holdfast" certify --run boxed --queries table.h5 --quiet --json > one.json || fail "no certificates behind a prefix"
release boxed > again.txt || fail "no release behind a prefix"

[ "$(stat -c %a after/prefix.h5)" = 600 ] || fail "the copy is not its owner's alone"

# Another model in its place is refused, by the run and by who trains.
cp after.h5 boxed/prefix.h5
"$holdfast" certify --run boxed --queries table.h5 --quiet > /dev/null 2> err.txt
[ $? = 3 ] && grep -q 'features.prefix_digest says' err.txt || fail "a changed prefix: $(cat err.txt)"
before=$(spent)
pinned=$(field boxed/manifest.json features.prefix_digest)
[ ${#pinned} = 64 ] || fail "the manifest pins no prefix: $pinned"
"$holdfast" train "${noisy[@]}" "${prefix[@]/hidden.h5/clipped.h5}" --set "features.prefix_digest=$pinned" --out refused > out.txt 2> err.txt
[ $? = 3 ] && [ ! -s out.txt ] && [ ! -e refused ] && grep -q 'features.prefix_digest says' err.txt || fail "another prefix: $(cat err.txt)"
"$holdfast" train "${noisy[@]}" "${prefix[@]/hidden.h5/clipped.h5}" --out refused > out.txt 2> err.txt
[ $? = 2 ] && [ ! -e refused ] && grep -q 'maps features itself' err.txt || fail "a prefix with a map: $(cat err.txt)"
[ "$(spent)" = "$before" ] || fail "a refused prefix was charged"

((failures == 0)) && echo "maps of features serve every job, and the ledger sees none of them"
exit $((failures > 0))
