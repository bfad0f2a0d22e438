#!/usr/bin/env bash
# poisoned_votes.sh HOLDFAST: how many answers of an ensemble stay right whatever poisoned records say: the members'
# certificates never count for less than the votes alone, and any number of ranks counts the same.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

{ # three classes on a ring
    echo id,a,b,y
    for ((i = 0; i < 330; ++i)); do echo "$i,$((i % 3 == 0 ? 90 : i % 3 == 1 ? 10 : 50)).$((i % 10)),$((i % 3 == 2 ? 90 : 10)).$((i % 7)),$((i % 3))"; done
} > three.csv
"$holdfast" import three.csv --label y --id id --scale '*=0:100' --test-fraction 0.1 --population ring --out three.h5 --quiet > /dev/null || fail "cannot import three.csv"
"$holdfast" synth blobs --records 400 --test 40 --seed 1 --out two.h5 --quiet > /dev/null
# train RUN DATA MEMBERS SETTING…
train() { "$holdfast" train --quiet --data "$2" --out "$1" --set "network.hidden=[]" --set certificate.levels=10 --set "ensemble.members=$3" --set training.expected_records=300 --set clip.gamma=0.3 --set training.epochs=4 "${@:4}" > /dev/null || fail "$1 does not train"; }
train classes three.h5 7 --set network.classes=3
train binary two.h5 5
train alone two.h5 1

# 1. Each rule's certified accuracy falls with the records, and certificates only add to it.
"$holdfast" evaluate --quiet --json --run classes --data three.h5 --poisoning > classes.json || fail "no evaluation of three classes"
python3 - classes.json <<'END' || fail "the rules contradict one another: $(cat classes.json)"
import json, sys
votes = json.load(open(sys.argv[1]))["poisoning"]
by_rule = {row["rule"]: row["certified_accuracy"] for row in votes["rules"]}
assert list(by_rule) == ["partition", "boxes", "run_off", "run_off_boxes"], by_rule
assert votes["counts"][:3] == [0, 1, 2], votes["counts"]
for certified in by_rule.values():
    assert all(a >= b for a, b in zip(certified, certified[1:])), certified
for plain, boxes in (("partition", "boxes"), ("run_off", "run_off_boxes")):
    assert all(b >= p for p, b in zip(by_rule[plain], by_rule[boxes])), by_rule
assert sum(by_rule["boxes"]) > sum(by_rule["partition"]), "the certificates add nothing"
assert by_rule["partition"][0] > 0.9 and by_rule["run_off"][0] > 0.9
END

# 2. Of two classes there is nobody to run off against; ranks count the same.
"$holdfast" evaluate --quiet --run binary --data two.h5 --poisoning > one.txt || fail "no evaluation of two classes"
grep -q '^boxes  ' one.txt && ! grep -q '^run_off' one.txt || fail "of two classes: $(cat one.txt)"
for run in classes:three binary:two; do
    mpirun -n 2 "$holdfast" evaluate --quiet --run "${run%:*}" --data "${run#*:}.h5" --poisoning > two.txt || fail "two ranks"
    "$holdfast" evaluate --quiet --run "${run%:*}" --data "${run#*:}.h5" --poisoning | diff - two.txt || fail "two ranks count otherwise"
done

# 3. One member has nobody to be counted with.
"$holdfast" evaluate --quiet --run alone --data two.h5 --poisoning > /dev/null 2> err.txt
[ $? = 2 ] && grep -q 'one member' err.txt || fail "a single member is counted: $(cat err.txt)"
((failures == 0)) && echo "votes are counted as they should be"
