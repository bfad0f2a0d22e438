#!/usr/bin/env bash
# dpal.sh HOLDFAST: what is published of private training against adversaries is trained and measured, says what it is, and is
# refused wherever something is paid for, given out or proved, with one message and nothing half written.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth images --quiet --records 240 --test 60 --seed 1 --population crowd --out images.h5 > /dev/null || fail "no records"
dpal=(--set training.kind=dpal --set network.loss=cross_entropy --set "network.image=[1,12,12]" --set "network.layers=[\"conv 4 3x3 stride 2\",\"max_pool 2x2\",\"dense 8\"]"
    --set network.input_shift=0.5 --set network.input_scale=2 --set dpal.sensitivity=window --set dpal.steps=2 --set dpal.draws=5)
learn() { "$holdfast" train --quiet --data images.h5 "${dpal[@]}" --set training.batches=4 "$@"; }
gap='as published (gap: not differentially private, radius not proved)'

# 1. It is trained, says what it chose and what it is, and gives the same bytes again.
learn --out run --json > run.json || fail "it is not trained"
grep -qF "$gap" run.json && grep -q '"chosen"' run.json || fail "it does not say what it is: $(cat run.json)"
learn --out again --json > again.json && cmp -s run/boxes.h5 again/boxes.h5 || fail "other bytes from the same seed"
learn --out run2 --set training.seed=1 --json > other.json && ! cmp -s run/boxes.h5 run2/boxes.h5 || fail "noise of no seed"
learn --out text > text.txt && grep -qF "$gap" text.txt && grep -q 'does not state was chosen' text.txt || fail "no words: $(cat text.txt)"
for variant in adlm pixel_dp secure_sgd; do
    clip=()
    [ $variant = secure_sgd ] && clip=(--set clip.kind=norm)
    learn --out $variant --set dpal.variant=$variant "${clip[@]}" > /dev/null || fail "no $variant"
done

# 2. It is measured: attacked and not; more room for attacks leaves no more right.
"$holdfast" evaluate --quiet --run run --data images.h5:test --input-radius .02,.5 --json > said.json || fail "it is not measured"
python3 - said.json "$gap" << 'END' || fail "$(cat said.json)"
import json, sys
said = json.load(open(sys.argv[1]))
assert said["guarantee"]["status"] == sys.argv[2] and said["variant"] == "dpal"
rows = {(row["attack"], row["radius"]): row for row in said["attacks"]}
assert len(rows) == 8
for (attack, radius), row in rows.items():
    assert 0 <= row["certified_attacked"] <= row["conventional"] <= 1 and row["certified_clean"] <= said["accuracy"]["single"]
    assert rows[attack, .5]["conventional"] <= rows[attack, .02]["conventional"] + .1, rows
assert len({row["certified_clean"] for row in said["attacks"] if row["radius"] == .02}) == 1
END
"$holdfast" evaluate --quiet --run secure_sgd --data images.h5:test --input-radius .1 --attack pgd > said.txt && grep -qF "$gap" said.txt && grep -q '^pgd  *0.1 ' said.txt || fail "no table: $(cat said.txt)"
"$holdfast" report run > report.txt 2>&1 || fail "no report: $(cat report.txt)"

# 3. Refused, each with the same words, and nothing is written.
refuses() { # CODE WORDS COMMAND…
    local code=$1 words=$2
    "${@:3}" > out.txt 2> err.txt
    [ $? = "$code" ] && grep -qF -- "$words" err.txt || fail "${*:3}: $(cat out.txt err.txt)"
}
"$holdfast" account --ledger l.db --data images.h5 --budget 10 --budget-delta .001 --quiet > /dev/null || fail "no ledger"
cp l.db before.db
refuses 2 "$gap" learn --out charged --ledger l.db
refuses 2 "$gap" "$holdfast" publish --run run --ledger l.db --out model.h5
refuses 2 "$gap" "$holdfast" release --run run --queries images.h5:test --ledger l.db --epsilon 1 --mechanism stable_rr
refuses 2 "$gap" "$holdfast" certify --run run --queries images.h5:test
refuses 2 "$gap" "$holdfast" certify --run run --queries images.h5:test --input-radius .1
refuses 2 "$gap" "$holdfast" risk --run run --data images.h5
printf '0\n' > ids.txt
refuses 2 "$gap" "$holdfast" unlearn --run run --data images.h5 --ids ids.txt --out without --out-data without.h5
printf '[training]\nkind = "dpal"\nbatches = 4\n[network]\nloss = "cross_entropy"\n' > dpal.toml
refuses 2 'training.kind = "noisy"' "$holdfast" tune --data images.h5 --ledger l.db --out tuned --config dpal.toml --config dpal.toml --epsilon 1
refuses 2 "training.kind" "$holdfast" fleet --data images.h5 --out fleet "${dpal[@]}" --set training.batches=4
cmp -s l.db before.db || fail "the ledger has changed"
[ ! -e charged ] && [ ! -e model.h5 ] && [ ! -e fleet ] && [ ! -e without ] && [ ! -e without.h5 ] || fail "something was written: $(ls)"

# 4. Bad input: what is wrong, and where.
refuses 2 "training.batches" learn --out bad --set training.batches=1
refuses 2 "--attack" "$holdfast" evaluate --run run --data images.h5:test --input-radius .1 --attack square
refuses 2 "--attack" "$holdfast" evaluate --run run --data images.h5:test --attack pgd
refuses 2 "--input-radius" "$holdfast" evaluate --run run --data images.h5:test --input-radius=-1
refuses 2 "--budget" "$holdfast" evaluate --run run --data images.h5:test --budget 1
refuses 2 "training.kind" mpirun -n 2 "$holdfast" train --quiet --data images.h5 --out bad "${dpal[@]}" --set training.batches=4
refuses 2 "dpal" "$holdfast" train --quiet --data images.h5 --out bad --set dpal.psi=3
[ ! -e bad ] || fail "a refused run was begun"
exit $((failures > 0))
