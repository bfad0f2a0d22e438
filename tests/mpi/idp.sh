#!/usr/bin/env bash
# The bound of a fleet, its evaluation and its influence are those of one rank on 2, 3 and 4: each class is one rank's, each
# network another's.
set -euo pipefail
holdfast=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 60 --test 40 --seed 3 --out blobs.h5 --quiet > /dev/null
"$holdfast" fleet --data blobs.h5 --set network.hidden=[6,4] --set training.epochs=10 --set training.expected_records=60 --quiet --out alone > /dev/null
cp -r alone shared

# Of a search that ends by its gap all but the seconds is the same; the ranks of no class write nothing.
found() { sed 's/"seconds":[^,}]*//g' "$1"; }
"$holdfast" idp --run alone --gap 0.01 --seconds 60 --quiet --json > alone.json
"$holdfast" evaluate --run alone --data blobs.h5 --epsilon 1 --quiet > alone.txt
"$holdfast" influence --run alone --queries blobs.h5 --data blobs.h5 --quiet --json > influence.json
for ranks in 2 3 4; do
    rm -f shared/idp.json
    mpirun -n $ranks "$holdfast" idp --run shared --gap 0.01 --seconds 60 --quiet --json > shared.json
    [ "$(found shared.json)" = "$(found alone.json)" ] || { echo "the bound on $ranks ranks: $(cat shared.json) on one: $(cat alone.json)"; exit 1; }
    mpirun -n $ranks "$holdfast" evaluate --run shared --data blobs.h5 --epsilon 1 --quiet > shared.txt
    [ "$(grep -v '^evaluation\|^Next' shared.txt)" = "$(grep -v '^evaluation\|^Next' alone.txt)" ] || { echo "the evaluation on $ranks ranks: $(cat shared.txt)"; exit 1; }
    mpirun -n $ranks "$holdfast" influence --run shared --queries blobs.h5 --data blobs.h5 --quiet --json | cmp - influence.json || { echo "influence on $ranks ranks"; exit 1; }
    cmp shared/influence_records.csv alone/influence_records.csv
done
