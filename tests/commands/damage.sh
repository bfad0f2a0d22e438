#!/usr/bin/env bash
# damage.sh HOLDFAST: no file of this program is believed once it is damaged: bits flipped, bytes overwritten, the end cut
# off, in every kind of file, before a command that reads it: exit 3, the file named, nothing charged.
# Some 80 of them, spread over the files, or HOLDFAST_EFFORT times as many.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

make() { "$holdfast" "$@" --quiet > /dev/null 2> err.txt || fail "$*: $(cat err.txt)"; }
make synth blobs --records 120 --test 20 --seed 1 --out data.h5
make synth blobs --records 10000 --test 20 --seed 9 --out queries.h5
small=(--data data.h5 --set training.expected_records=120 --set training.epochs=3)
boxes=("${small[@]}" --set "network.hidden=[4]" --set certificate.levels=3 --set ensemble.members=3)
make train --out run "${boxes[@]}" --keep-states 2
make certify --run run --queries queries.h5
make evaluate --run run --data queries.h5 --epsilon 1
make train --out slice "${boxes[@]}" --members 0:1
make train --out slice "${boxes[@]}" --members 1:2
linear=(--set "network.hidden=[]" --set features.norm_limit=1)
make train --out convex "${small[@]}" "${linear[@]}" --set training.kind=convex
make account --ledger ledger.db --data data.h5 --budget 100 --budget-delta 0.01
make train --out noisy "${small[@]}" "${linear[@]}" --set training.kind=noisy --set clip.kind=norm --set noise.epsilon=1 --set noise.delta=1e-5 --ledger ledger.db
make publish --run noisy --ledger ledger.db --out model.h5
make fleet --out fleet --data data.h5 --set "network.hidden=[4]" --set training.expected_records=120 --set training.epochs=2
make idp --run fleet --seconds 1
make influence --run fleet --queries queries.h5
make report run --out run.html
printf '3\n' > forget
make unlearn --run run --data data.h5 --ids forget --out less --out-data left.h5

spent() { "$holdfast" account --ledger ledger.db --population synthetic --json --quiet; }
before=$(spent)
python3 - "$holdfast" $((80 * ${HOLDFAST_EFFORT:-1})) << 'END' || fail "damage is believed"
import os, random, shutil, subprocess, sys

holdfast, count = sys.argv[1], int(sys.argv[2])
chance = random.Random(7)
ask, asks = ["--queries", "queries.h5"], ["--ledger", "ledger.db", "--epsilon", "0.1", "--queries-are-public"]
release = ["release", "--run", "run", *ask, *asks]
readers_of_run = [release, ["certify", "--run", "run", *ask], ["evaluate", "--run", "run", "--data", "queries.h5", "--epsilon", "1"], ["verify", "run"]]
resume = ["train", "--out", "slice", "--resume", "--data", "data.h5", "--set", "training.expected_records=120", "--set", "training.epochs=3",
          "--set", "network.hidden=[4]", "--set", "certificate.levels=3", "--set", "ensemble.members=3"]
access = ["access", "--run", "fleet", *ask, *asks]
states = sorted(os.path.join(folder, name) for folder, _, names in os.walk("run/states") for name in names)
kinds = {
    "run/boxes.h5": readers_of_run,
    "run/manifest.json": readers_of_run + [["report", "run"]],
    "run/metrics.jsonl": [["report", "run"], ["verify", "run"]],
    "run/evaluation.json": [["report", "run"]],
    "run/certificates.json": [["verify", "run"]],
    "run/distances.h5": [["verify", "run"]],
    chance.choice(states): [["verify", "run", "--data", "data.h5"]],
    "less/unlearning.jsonl": [["unlearn", "--run", "less", "--log"]],
    "slice/members/" + os.listdir("slice/members")[0]: [resume],
    "convex/boxes.h5": [["certify", "--run", "convex", *ask], ["evaluate", "--run", "convex", "--data", "queries.h5", "--epsilon", "1"]],
    "convex/manifest.json": [["certify", "--run", "convex", *ask]],
    "noisy/boxes.h5": [["publish", "--run", "noisy", "--ledger", "ledger.db", "--out", "again.h5"], ["verify", "noisy"]],
    "noisy/manifest.json": [["publish", "--run", "noisy", "--ledger", "ledger.db", "--out", "again.h5"]],
    "fleet/fleet.h5": [access, ["evaluate", "--run", "fleet", "--data", "queries.h5"], ["idp", "--run", "fleet"], ["verify", "fleet"]],
    "fleet/manifest.json": [access, ["evaluate", "--run", "fleet", "--data", "queries.h5"], ["report", "fleet"], ["verify", "fleet"]],
    "run/fingerprint": [["verify", "run"]],
    "fleet/idp.json": [["report", "fleet"], access + ["--rule", "bound"]],
    "fleet/influence.json": [["report", "fleet"]],
    "fleet/influence_records.csv": [["report", "fleet"]],
    "model.h5": [["predict", "--model", "model.h5", *ask]],
    "data.h5": [["inspect", "data.h5"], ["account", "--ledger", "ledger.db", "--data", "data.h5"], resume, ["verify", "run", "--data", "data.h5"]],
    "queries.h5": [release, ["certify", "--run", "run", *ask], ["predict", "--model", "model.h5", *ask]],
}

def command(words):
    return subprocess.run([holdfast, *words, "--quiet"], capture_output=True, timeout=120)

def damaged(whole):
    how = chance.randrange(4)
    at = chance.randrange(len(whole))
    if how == 0:
        return whole[:at]
    if how == 1 and len(whole) > 1500:  # the end, as a torn write leaves it
        return whole[:-1500] + chance.randbytes(1500)
    if how == 2:
        size = min(chance.randrange(1, 200), len(whole) - at)
        return whole[:at] + chance.randbytes(size) + whole[at + size:]
    return whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1:]

silent = 0
for file, readers in kinds.items():
    with open(file, "rb") as stream:
        whole = stream.read()
    for i in range(-(-count // len(kinds))):
        words = readers[i % len(readers)]
        inputs = {name: damaged(whole) for name in (file,)}
        if file.endswith("manifest.json") and i == 0:  # no UTF-8
            at = whole.index(b"proved") if b"proved" in whole else 100
            inputs[file] = whole[:at] + b"\xff" + whole[at + 1:]
        if file.endswith("fingerprint") and i == 0:
            inputs[file] = whole[:9] + b"\xff" + whole[10:]
        if inputs[file] == whole:
            continue
        with open(file, "wb") as stream:
            stream.write(inputs[file])
        for more in ([], ["--json"]) if i == 0 else ([],):
            ended = command(words + more)
            said = (ended.stdout + ended.stderr).decode(errors="replace")
            if ended.returncode != 3 or os.path.basename(file) not in said and "states" not in file and "split" not in said:
                silent += 1
                kept = f"/tmp/damaged-{os.getpid()}-{silent}"
                shutil.copyfile(file, kept)
                print(f"{file}: {' '.join(words + more)} ends with {ended.returncode} (kept as {kept}): {said[:400]}")
    with open(file, "wb") as stream:
        stream.write(whole)
    for words in readers:  # those that cost nothing and finish nothing
        if words[0] in ("release", "access", "publish", "train", "account"):
            continue
        ended = command(words)
        if ended.returncode != 0:
            silent += 1
            print(f"{file} whole again: {' '.join(words)} ends with {ended.returncode}: {ended.stderr.decode(errors='replace')[:400]}")
print(f"{count} damages, {silent} not refused")
sys.exit(silent > 0)
END
[ "$(spent)" = "$before" ] || fail "damage was charged for: $(spent), before $before"
"$holdfast" release --run run --queries queries.h5 --ledger ledger.db --epsilon 0.1 --queries-are-public --quiet > /dev/null || fail "nothing is released at all"
[ "$(spent)" != "$before" ] || fail "the charge of a release is not seen here"

((failures == 0)) && echo "no damage is believed"
exit $((failures > 0))
