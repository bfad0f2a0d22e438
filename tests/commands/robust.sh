#!/usr/bin/env bash
# robust.sh HOLDFAST: how far queries may move: of a published model, certificates and attacks side by side; of a run with
# boxes, records that change and a query that moves at once; what is refused.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
"$holdfast" synth blobs --quiet --records 400 --test 150 --centre 0.7 --spread 0.5 --seed 1 --population crowd --out blobs.h5 > /dev/null || fail "no records"
learn() { "$holdfast" pretrain --quiet --set training.epochs=30 --set training.learning_rate=1 --set clip.gamma=2 "$@" > /dev/null || fail "pretrain $*"; }
learn --data blobs.h5 --set "network.hidden=[]" --out linear.h5
learn --data blobs.h5 --set "network.hidden=[8, 6]" --set training.precision=single --out deep.h5
learn --data blobs.h5 --set "network.hidden=[]" --set features.map=bins --set "features.edges=[[0.0],[0.0],[0.0],[0.0],[0.0],[0.0]]" --out bins.h5

# 1. Certified <= robust <= clean at every radius, and each falls as the radius grows; any number of ranks says the same.
ask() { "$holdfast" certify --quiet --queries blobs.h5:test "$@"; }
for model in linear deep; do
    for norm in linf l2; do
        words=(--model $model.h5 --norm $norm --input-radius .3,.02,.1 --attack fgsm,ifgsm,mim,pgd,apgd,margin,square --attack-steps 10)
        ask "${words[@]}" --json --out $model$norm.csv > one.json || fail "$model in $norm"
        mpirun -n 2 "$holdfast" certify --quiet --queries blobs.h5:test "${words[@]}" --json --out two.csv > two.json || fail "$model in $norm on 2 ranks"
        cmp -s one.json two.json && cmp -s $model$norm.csv two.csv || fail "two ranks say otherwise of $model in $norm"
        python3 - one.json $model$norm.csv << 'END' || fail "$model in $norm: $(cat one.json)"
import csv, json, sys
said, rows = json.load(open(sys.argv[1])), list(csv.DictReader(open(sys.argv[2])))
before = {"certified": 1, "robust": 1}
assert [row["radius"] for row in said["radii"]] == [.02, .1, .3] and len(rows) == said["queries"] == 150
for row in said["radii"]:
    assert row["certified"] <= row["robust"] <= said["clean"], row
    assert row["robust"] <= min(row["attacks"].values()), row
    assert all(row[name] <= before[name] for name in ("certified", "robust")), row
    assert row["certified"] <= sum(float(r["radius"]) >= row["radius"] for r in rows) / 150
    before = row
assert said["clean"] > .9 and said["radii"][0]["certified"] > .8 and said["radii"][2]["robust"] < said["clean"] - .02, said
assert said["robustness"]["status"] == "proved" and said["privacy"]["status"] == "proved"
END
    done
done
# Of a linear model nothing lies between the bound and the attack that aims at it.
ask --model linear.h5 --norm l2 --input-radius .05,.2,.4,.6 --attack margin --json > one.json || fail "no margins"
python3 -c 'import json; assert all(abs(r["certified"] - r["robust"]) < 1e-9 for r in json.load(open("one.json"))["radii"])' || fail "$(cat one.json)"
# Logits so far apart that the cross-entropy has no gradient: what asks for logits alone finds more, and that is said.
learn --data blobs.h5 --set "network.hidden=[]" --set training.learning_rate=2000 --out steep.h5
for model in steep linear; do
    ask --model $model.h5 --norm l2 --input-radius .5 --attack pgd,square --json > $model.json || fail "$model is not attacked"
    ask --model $model.h5 --norm l2 --input-radius .5 --attack pgd,square > $model.txt
done
grep -q '"masked_gradients": *true' steep.json && grep -q '^masked gradients at 0.5: ' steep.txt || fail "masked gradients are not seen: $(cat steep.json)"
grep -q '"masked_gradients": *false' linear.json && ! grep -q masked linear.txt || fail "gradients that are there are masked: $(cat linear.json)"
ask --model deep.h5 --input-radius .02 > said.txt || fail "no table"
claims said.txt '^robustness at the query: proved: .*largest difference of a feature' && grep -q '^privacy of records: ' said.txt || fail "does not tell its promises apart: $(cat said.txt)"
! grep -q robust$ said.txt || fail "names attacks that were not made"

# 2. Both at once: fewer answers stand than where queries stay, of single models and of the ensemble; none more.
"$holdfast" train --quiet --data blobs.h5 --set "network.hidden=[6]" --set network.classes=2 --set training.epochs=4 --set training.batches=2 --set ensemble.members=3 --set certificate.levels=4 --out run > /dev/null || fail "no run"
for radius in 0 .02 .2; do
    moved=(--input-radius $radius)
    [ $radius = 0 ] && moved=()
    "$holdfast" certify --quiet --run run --queries blobs.h5:test "${moved[@]}" --json > at$radius.json || fail "both at $radius"
done
"$holdfast" certify --quiet --run run --queries blobs.h5:test --input-radius 0.1999999 --json > odd.json || fail "no odd radius"
python3 - << 'END' || fail "$(cat at*.json)"
import json
still, near, far = (json.load(open(f"at{r}.json")) for r in ("0", ".02", ".2"))
assert "input_radius" not in still and near["input_radius"] == .02
rows = lambda said: [row for row in said["certified"] if row["k"] > 0]
for a, b in ((still, near), (near, far)):
    for before, after in zip(rows(a), rows(b)):
        assert after["member"] <= before["member"] and after["ensemble"] <= before["ensemble"], (before, after)
assert rows(still)[0]["member"] > rows(far)[0]["member"] and rows(near)[0]["member"] > 0
assert [row["k"] for row in far["certified"]] == [1, 2, 3, 4], far
assert "every input within 0.02 (the largest difference of a feature) of" in near["guarantee"]["statement"] and "every input" not in still["guarantee"]["statement"]
assert "within 0.1999999 (the" in json.load(open("odd.json"))["guarantee"]["statement"], "a radius is said as it was asked"
END
mpirun -n 2 "$holdfast" certify --quiet --run run --queries blobs.h5:test --input-radius .02 --json > two.json || fail "both on 2 ranks"
cmp -s at.02.json two.json || fail "two ranks say otherwise"
# Of a convex run in the length of all moves; of removals too, but by norms alone.
for relation in add_remove remove; do
    "$holdfast" train --quiet --data blobs.h5 --set "network.hidden=[]" --set training.kind=convex --set features.norm_limit=1 --set training.epochs=30 --set training.batches=1 --set training.l2=.1 --set training.expected_records=400 --set training.learning_rate=.5 --set certificate.levels=30 --set certificate.relation=$relation --set ensemble.members=2 --out $relation > /dev/null || fail "no convex run"
    "$holdfast" certify --quiet --run $relation --queries blobs.h5:test --json > still.json || fail "$relation stays"
    for radius in .01 .2; do
        "$holdfast" certify --quiet --run $relation --queries blobs.h5:test --norm l2 --input-radius $radius --json > at$radius.json || fail "$relation at $radius"
    done
    mpirun -n 2 "$holdfast" certify --quiet --run $relation --queries blobs.h5:test --norm l2 --input-radius .2 --json > two.json || fail "$relation on 2 ranks"
    cmp -s at.2.json two.json || fail "two ranks say otherwise of $relation"
    python3 - << 'END' || fail "$relation: $(cat still.json at.01.json at.2.json)"
import json
still, near, far = ({row["k"]: row for row in json.load(open(f"{name}.json"))["certified"]} for name in ("still", "at.01", "at.2"))
of = lambda said, k, who: said.get(k, {who: 0})[who]
for k in range(1, 31):
    for who in ("member", "ensemble"):
        assert of(still, k, who) >= of(near, k, who) >= of(far, k, who), (k, who)
assert near[1]["member"] > .8 and still[1]["member"] > far[1]["member"] > .5
said = json.load(open("at.2.json"))
assert said["norm"] == "l2" and "every input within 0.2 (the length of the difference) of the query, too" in said["guarantee"]["statement"]
assert said["guarantee"]["status"] == "proved"
END
done

# What a released answer is worth then, at least: less than where queries stay, and less the farther they may move.
for of in "run linf .02 .2" "add_remove l2 .05 .3"; do
    read -r run norm near far <<< "$of"
    for radius in $near $far; do
        "$holdfast" evaluate --quiet --run $run --data blobs.h5:test --epsilon .5,2 --norm $norm --input-radius $radius --json > at$radius.json || fail "no answers of $run at $radius"
    done
    python3 - at$near.json at$far.json << 'END' || fail "answers of $run: $(cat at$near.json at$far.json)"
import json, sys
near, far = (json.load(open(name)) for name in sys.argv[1:])
stated = near
of = lambda rows: {(row["mechanism"], row["delta"], row["setting"]): row["accuracy"] for row in rows}
plain, near, far = of(near["private_accuracy"]), of(near["moved"]["private_accuracy"]), of(far["moved"]["private_accuracy"])
assert any(words.startswith("the input reaches the program as it was moved") for words in stated["moved"]["guarantee"]["conditions"])
assert set(near) == set(far) < set(plain) and "noisy_argmax" not in {name for name, _, _ in near}, near
assert all(a <= b <= c for key in near for a, b, c in zip(far[key], near[key], plain[key]))
assert plain["stable_rr", 0, "ensemble"][1] > near["stable_rr", 0, "ensemble"][1] > far["stable_rr", 0, "ensemble"][1] > 0
END
done
"$holdfast" evaluate --quiet --run run --data blobs.h5:test --epsilon .5 --input-radius .02 | grep -q 'move within 0.02 (the largest difference of a feature), at least' || fail "no table of queries that move"
refused_evaluation() { # WORDS OPTIONS…
    local words=$1
    shift
    "$holdfast" evaluate --quiet --data blobs.h5:test "$@" > out.txt 2> err.txt
    [ $? = 2 ] && grep -qE -e "$words" err.txt || fail "$*: $(cat out.txt err.txt)"
}
refused_evaluation 'move in l2' --run add_remove --epsilon 1 --input-radius .1
refused_evaluation 'what an answer costs' --run run --budget 1 --input-radius .1
refused_evaluation 'one radius' --run run --epsilon 1 --input-radius .1,.2
refused_evaluation 'dpal' --run run --epsilon 1 --attack pgd

# 3. Learnt with noise, one vector a record: the same whatever ranks share the records, and a model that is published as
# any other.
"$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --budget 2 --budget-delta 1e-4 > /dev/null
noisy=(--data blobs.h5 --set training.kind=noisy --set clip.kind=norm --set training.epochs=6 --set training.expected_records=400 --set "network.hidden=[]" --set network.loss=cross_entropy --set robust.attack=worst_case --set robust.input_radius=.1 --quiet)
"$holdfast" train "${noisy[@]}" --set noise.law=none --out alone --json > alone.json || fail "not learnt"
mpirun -n 2 "$holdfast" train "${noisy[@]}" --set noise.law=none --out together --json > together.json || fail "not learnt by 2 ranks"
digest() { grep -o '"digest": *"[0-9a-f]*"' "$1"; }
[ -n "$(digest alone.json)" ] && [ "$(digest alone.json)" = "$(digest together.json)" ] || fail "two ranks learn otherwise"
"$holdfast" train "${noisy[@]}" --set robust.attack=pgd --set robust.noise=.1 --set robust.copies=2 --ledger ledger.db --out private > /dev/null || fail "not learnt with noise"
"$holdfast" publish --quiet --run private --ledger ledger.db --out private.h5 > /dev/null || fail "not published"
ask --model private.h5 --input-radius .05 > said.txt || fail "not certified"
claims said.txt '^privacy of records: proved: .*(1, 1e-05)-differentially private' || fail "does not say how private: $(cat said.txt)"
"$holdfast" account --quiet --ledger ledger.db --public blobs.h5:test > /dev/null || fail "no public records"
spent() { "$holdfast" account --quiet --ledger ledger.db --data blobs.h5 --json | grep -o '"spent_epsilon":[0-9.]*'; }
before=$(spent)
"$holdfast" train "${noisy[@]}" --public blobs.h5:test --ledger ledger.db --out beside > /dev/null 2> err.txt && fail "learns the worst case of public records"
grep -q 'of private records alone' err.txt && [ -n "$before" ] && [ "$(spent)" = "$before" ] && [ ! -e beside ] || fail "what is refused costs: $before $(spent) $(cat err.txt)"
"$holdfast" train --quiet --data blobs.h5 --set robust.attack=pgd --out boxed > /dev/null 2> err.txt && fail "boxes learn copies"
grep -q 'robust.attack belongs to training.kind = "noisy"' err.txt || fail "$(cat err.txt)"

# Hidden layers that are kept short: more is proved in l2 at the same price, and any number of ranks learns the same.
"$holdfast" account --quiet --ledger wide.db --data blobs.h5 --budget 100 --budget-delta 1e-4 > /dev/null
short=(--data blobs.h5 --quiet --set training.kind=noisy --set clip.kind=norm --set training.epochs=60 --set training.learning_rate=2 --set training.expected_records=400 --set "network.hidden=[16, 16]" --set network.loss=cross_entropy)
for limit in 0 1; do
    "$holdfast" train "${short[@]}" --set noise.epsilon=10 --set robust.lipschitz=$limit --ledger wide.db --out short$limit > /dev/null && "$holdfast" publish --quiet --run short$limit --ledger wide.db --out short$limit.h5 > /dev/null || fail "not learnt by $limit"
    ask --model short$limit.h5 --norm l2 --input-radius .5 --attack pgd,margin --json > short$limit.json || fail "not certified by $limit"
done
python3 - << 'END' || fail "$(cat short0.json short1.json)"
import json
free, short = (json.load(open(f"short{limit}.json")) for limit in (0, 1))
assert short["clean"] > .9 and short["radii"][0]["certified"] > max(.5, free["radii"][0]["certified"] + .05)
END
"$holdfast" train "${short[@]}" --set noise.law=none --set robust.lipschitz=1 --out alone1 --json > alone.json && mpirun -n 2 "$holdfast" train "${short[@]}" --set noise.law=none --set robust.lipschitz=1 --out alone2 --json > together.json || fail "not kept short"
[ -n "$(digest alone.json)" ] && [ "$(digest alone.json)" = "$(digest together.json)" ] || fail "two ranks are kept short otherwise"
refused_training() { # WORDS SETTINGS…
    local words=$1
    shift
    "$holdfast" train --quiet --data blobs.h5 --set training.expected_records=400 "$@" --out none > /dev/null 2> err.txt && fail "learns $*"
    grep -q "$words" err.txt && [ ! -e none ] || fail "$*: $(cat err.txt)"
}
refused_training 'robust.lipschitz belongs to training.kind = "noisy"' --set robust.lipschitz=1
refused_training 'there are none' --set training.kind=noisy --set noise.law=none --set clip.kind=norm --set "network.hidden=[]" --set robust.lipschitz=1
refused_training 'there are none' --set training.kind=noisy --set noise.law=none --set clip.kind=norm --set 'network.layers=["dense 4"]' --set robust.lipschitz=1
refused_training 'keep their size' --set training.kind=noisy --set noise.law=none --set clip.kind=norm --set noise.centre=1 --set robust.lipschitz=1

# 4. The class given most often under noise: of any network, in any norm; the same for any number of ranks, and again.
smoothed=(--model deep.h5 --input-radius .1,.3,.6 --smoothing .5 --service-key service.key --draws 2000 --alpha .01)
for norm in l2 l1 linf; do
    ask "${smoothed[@]}" --norm $norm --json --out one.csv > one.json || fail "smoothed in $norm"
    mpirun -n 2 "$holdfast" certify --quiet --queries blobs.h5:test "${smoothed[@]}" --norm $norm --json --out two.csv > two.json || fail "smoothed in $norm on 2 ranks"
    cmp -s one.json two.json && cmp -s one.csv two.csv || fail "two ranks, or a second time, say otherwise in $norm"
    python3 - one.json one.csv << 'END' || fail "smoothed in $norm: $(cat one.json)"
import csv, json, sys
said, rows = json.load(open(sys.argv[1])), list(csv.DictReader(open(sys.argv[2])))
certified = [row["certified"] for row in said["radii"]]
assert said["clean"] > .9 and certified == sorted(certified, reverse=True) and certified[0] > max(.7, certified[2]), said
assert all((int(row["label"]) == -1) == (float(row["radius"]) == 0) for row in rows)
assert said["smoothing"]["abstentions"] == sum(row["label"] == "-1" for row in rows), said["smoothing"]
assert "at least 1 - 0.01" in said["robustness"]["statement"] and "150 queries" in said["robustness"]["statement"]
END
done
for restarts in 1 10; do ask --model deep.h5 --input-radius .2 --attack pgd --attack-steps 2 --attack-restarts $restarts --json > of$restarts.json || fail "$restarts restarts"; done
python3 -c 'import json; one, ten = (json.load(open(f"of{n}.json"))["radii"][0]["attacks"]["pgd"] for n in (1, 10)); assert ten <= one, (one, ten)' || fail "more restarts find less"
ask --model linear.h5 --norm l2 --input-radius .1,.3 --attack pgd,margin --page page.html > /dev/null && grep -q '>certified<' page.html && grep -q '>margin<' page.html && [ "$(stat -c %a page.html)" = 600 ] || fail "no picture"
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 60; ++i) print i % 7 / 7 "," i % 5 / 5 "," (i % 7 > 3) }' > rows.csv
"$holdfast" import rows.csv --quiet --label y --scale '*=0:1' --out rows.h5 > /dev/null && learn --data rows.h5 --out rows-model.h5 || fail "no model of a table"
printf 'a,b\n0.9,0.5\n0.1,0.2\n' > new.csv # without labels
"$holdfast" certify --quiet --model rows-model.h5 --queries new.csv --norm l2 --input-radius .1 --smoothing .5 --service-key service.key --draws 5 --json > few.json && grep -q '"abstentions":2' few.json && grep -q '"clean":0.0' few.json || fail "an abstention is an answer that stands: $(cat few.json)"
[ "$(stat -c %a service.key)" = 600 ] || fail "others may read the key of the noise"
ask "${smoothed[@]/service.key/other.key}" --norm linf --out other.csv > /dev/null && ! cmp -s one.csv other.csv || fail "the key draws nothing"
ask --model bins.h5 --norm l2 --input-radius .1 --smoothing .3 --service-key service.key --draws 500 > said.txt && grep -q 'normal noise, rounded likewise, of deviation 0.3' said.txt || fail "no radius behind bins: $(cat said.txt)"

# 5. What cannot be.
refused() { # CODE WORDS OPTIONS…
    local code=$1 words=$2
    shift 2
    ask "$@" > out.txt 2> err.txt
    [ $? -eq "$code" ] && grep -qE -e "$words" err.txt || fail "$*: $(cat out.txt err.txt)"
}
refused 2 'name a run'
refused 2 'how far a query may move' --model linear.h5
refused 2 'above 0.*--input-radius|--input-radius.*above 0' --model linear.h5 --input-radius .1,0
"$holdfast" synth images --quiet --side 8 --records 60 --test 10 --seed 1 --out images.h5 > /dev/null && learn --data images.h5 --set training.epochs=1 --set 'network.image=[1, 8, 8]' --set 'network.layers=["conv 2 3x3", "max_pool 2x2"]' --out pooled.h5 || fail "no pooling"
"$holdfast" certify --quiet --model pooled.h5 --queries images.h5:test --norm l2 --input-radius .1 > out.txt 2> err.txt
[ $? = 2 ] && grep -q 'through no pooling' err.txt || fail "l2 through pooling: $(cat out.txt err.txt)"
refused 2 'no map of features' --model bins.h5 --input-radius .1
refused 2 'features\.map = "none"' --model bins.h5 --norm l2 --input-radius .1
refused 2 'no such norm: l3' --model linear.h5 --norm l3 --input-radius .1
refused 2 'smoothed model alone' --model linear.h5 --norm l1 --input-radius .1
refused 2 '--service-key' --model linear.h5 --input-radius .1 --smoothing .5
refused 2 'no such noise' --model linear.h5 --input-radius .1 --smoothing 0 --service-key service.key
refused 2 'alpha' --model linear.h5 --input-radius .1 --smoothing .5 --service-key no.key --alpha .7
[ ! -e no.key ] || fail "a key is made for what is refused"
refused 4 'file name' --model linear.h5 --input-radius .1 --smoothing .5 --service-key ""
refused 2 'attack' --model linear.h5 --input-radius .1 --smoothing .5 --service-key service.key --attack pgd
refused 3 'key' --model linear.h5 --input-radius .1 --smoothing .5 --service-key blobs.h5
refused 2 'attack' --model linear.h5 --input-radius .1 --attack guess
refused 2 '--model' --run run --attack pgd
refused 2 '--answer' --model linear.h5 --input-radius .1 --answer vote
refused 2 'no relaxation' --run run --input-radius .1 --bounds best
refused 2 'one radius' --run run --input-radius .1,.2
refused 2 'feature by feature' --run run --input-radius .1 --norm l2
refused 2 'move in l2' --run remove --input-radius .1
refused 2 'queries that stay' --run remove --norm l2 --input-radius .1 --data blobs.h5
refused 2 'requires --input-radius' --run remove --norm l2
exit $((failures > 0))
