#!/usr/bin/env bash
# verify.sh HOLDFAST: a sound run passes, on whatever it was trained; a run with anything changed does not, and the check that
# failed is named.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"

"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 300 --test 40 --seed 5 --out blobs.h5 --quiet > /dev/null || fail "no blobs"
"$holdfast" synth blobs --centre 0.6 --spread 0.7 --records 300 --test 40 --seed 6 --out other.h5 --quiet > /dev/null
settings=(--data blobs.h5 --set network.hidden=[32] --set certificate.levels=4 --set training.batches=3 --set training.epochs=4 --set ensemble.members=2 --quiet)
train() { "$holdfast" train "${settings[@]}" "$@" > /dev/null 2> err.txt || fail "cannot train $*: $(cat err.txt)"; }
verify() { "$holdfast" verify --quiet "$@"; }
sound() { # WORDS LINES OPTIONS…: all hold, and so many steps were taken again
    verify "${@:3}" > out.txt 2> err.txt || fail "$1: $(cat out.txt err.txt)"
    [ "$(grep -c 'comes to' out.txt)" = "$2" ] || fail "$1: not $2 steps: $(cat out.txt)"
    tail -n 1 out.txt | grep -q '^verified: ' || fail "$1: $(cat out.txt)"
}
unsound() { # WORDS CHECK OPTIONS…: this check fails
    verify "${@:3}" > out.txt 2> err.txt
    local status=$?
    [ $status = 3 ] && grep -q "^FAILED  $2: " out.txt && tail -n 1 out.txt | grep -q '^NOT verified: ' || fail "$1: exit $status: $(cat out.txt err.txt)"
}
train --out run --keep-states 3
sound "without its data" 0 run
# Two members of three steps each, and one more that lies between two states that were kept.
sound "with its data" 7 run --data blobs.h5
sound "some steps" 2 run --data blobs.h5 --steps 2
sound "by another backend" 7 run --data blobs.h5 --backend cpu
[ -z "$(find run -type f -perm /077)" ] || fail "others may read $(find run -type f -perm /077)"
unsound "another run's data" data run --data other.h5

# States change no result, on any ranks; and each rank's part counts.
train --out plain
for file in boxes.h5 metrics.jsonl manifest.json; do cmp -s run/$file plain/$file || fail "keeping states changes $file"; done
sound "nothing was kept" 0 plain --data blobs.h5
unsound "steps where none were kept" steps plain --data blobs.h5 --steps 1
mpirun -n 2 "$holdfast" train "${settings[@]}" --out levels --keep-states 3 --set run.grid=1x2x1 > /dev/null 2> err.txt || fail "two ranks: $(cat err.txt)"
sound "trained on two ranks" 7 levels --data blobs.h5
train --out every --keep-states 1000
sound "every step" 24 every --data blobs.h5
train --out momentum --keep-states 2 --set training.momentum=0.5 --set certificate.budget=per_epoch
sound "with momentum" 4 momentum --data blobs.h5
train --out substitute --keep-states 2 --set certificate.relation=substitute --set certificate.budget=per_batch
sound "substitutions" 4 substitute --data blobs.h5
train --out beside --keep-states 1 --public other.h5:test
sound "public records beside" 2 beside --data blobs.h5 --public other.h5:test
unsound "public records left out" "records of the kept steps" beside --data blobs.h5
train --out batched --keep-states 1 --public other.h5:test --set training.public_batch_size=3
sound "batches of public records" 2 batched --data blobs.h5 --public other.h5:test
{ echo id,a,t; for ((i = 0; i < 60; ++i)); do echo "$i,0.$((i % 10)),$((i * 100000))"; done; } > far.csv # many beyond 2^20
"$holdfast" import far.csv --label t --id id --regression --expected-records 60 --out far.h5 --quiet > /dev/null
"$holdfast" train --data far.h5 --out far --keep-states 2 --set network.classes=1 --set network.hidden=[] --set clip.gamma=1000000 --set training.learning_rate=1e-8 --quiet > /dev/null || fail "no regression"
sound "a regression with targets beyond their range" 3 far --data far.h5
convex=(--set training.kind=convex --set network.hidden=[] --set features.norm_limit=1)
train --out convex --keep-states 2 --set training.learning_rate=1 "${convex[@]}"
sound "a convex run" 4 convex --data blobs.h5
train --out removals "${convex[@]}" --set training.learning_rate=1 --set certificate.relation=remove
sound "a run for removals" 0 removals --data blobs.h5
"$holdfast" train "${settings[@]}" "${convex[@]}" --set certificate.relation=remove --keep-states 1 --out none > /dev/null 2> err.txt
[ $? = 2 ] && grep -q -- '--keep-states' err.txt || fail "states of removals are kept: $(cat err.txt)"

# Whatever is changed is found by the check of that file.
changed() { rm -rf torn && cp -a run torn; }
flip() { # FILE OFFSET
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %x $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
size=$(stat -c %s run/boxes.h5) found=0
for ((at = size - 10; at > size / 2; at -= size / 25)); do
    changed && flip torn/boxes.h5 $at
    cmp -s run/boxes.h5 torn/boxes.h5 && fail "no byte was changed"
    verify torn > out.txt 2> err.txt
    case $? in
        3) grep -qE '^FAILED  (boxes.h5|manifest.json): ' out.txt && ((++found)) ;;
        *) fail "byte $at: $(cat out.txt err.txt)" ;;
    esac
done
((found >= 12)) || fail "of 13 changed bytes only $found were found"
changed && sed -i 's/"proved"/"prove\xff"/' torn/manifest.json && unsound "a manifest that is no text" manifest.json torn
changed && truncate -s -1000 torn/boxes.h5 && unsound "truncated boxes" manifest.json torn
changed && rm torn/boxes.h5 && unsound "no boxes" manifest.json torn
changed && rm torn/manifest.json && unsound "no manifest" manifest.json torn
changed && sed -i 's/"digest": "\(.\)/"digest": "x\1/' torn/manifest.json && reseal torn/manifest.json && unsound "another digest" manifest.json torn
changed && sed -i 's/"steps": 12/"steps": 13/' torn/manifest.json && reseal torn/manifest.json && unsound "other steps" settings torn
changed && sed -i 's/"normaliser": [0-9.]*/"normaliser": 7/' torn/manifest.json && reseal torn/manifest.json && unsound "another normaliser" settings torn
changed && sed -i 's/"training.learning_rate": [0-9.]*/"training.learning_rate": 0.125/' torn/manifest.json && reseal torn/manifest.json && unsound "another learning rate" fingerprint torn
changed && sed -i 's/"relation": "add_remove"/"relation": "remove"/' torn/manifest.json && reseal torn/manifest.json && unsound "another relation" settings torn
changed && sed -i 's/"status": "proved"/"status": "proven"/; s/no setting, no seed/some setting, no seed/' torn/manifest.json && reseal torn/manifest.json && unsound "other conditions" guarantee torn
changed && sed -i '5s/"records":/"record":/' torn/metrics.jsonl && sed -i '7d' torn/metrics.jsonl && unsound "a step's metrics are gone" metrics.jsonl torn
changed && rm torn/fingerprint && unsound "no fingerprint" fingerprint torn
"$holdfast" certify --run run --queries blobs.h5 --quiet > /dev/null || fail "no certificates"
changed && sound "with certificates" 0 torn
sed -i 's/"digest": "\(.\)/"digest": "x\1/' torn/certificates.json && reseal torn/certificates.json && unsound "other certificates" distances.h5 torn
changed && truncate -s -100 torn/distances.h5 && unsound "truncated distances" distances.h5 torn
rm -f run/distances.h5 run/certificates.json

# A step that was computed otherwise: a state of another training in its place, a damaged one.
last=$(ls run/states/1 | sort -n | tail -n 1)
changed && flip torn/states/1/$last/1/part-0 300 && unsound "a damaged state" "member 1, step $last" torn --data blobs.h5
first=$(ls run/states/0 | sort -n | head -n 1)
changed && cp torn/states/0/$last/1/part-0 torn/states/0/$first/1/part-0 && unsound "a state of another step" "member 0, step $first" torn --data blobs.h5
changed && rm -r torn/states/1/$last/1 && unsound "an empty state" "member 1, step $last" torn --data blobs.h5
train --out faster --keep-states 3 --set training.learning_rate=0.5
changed && rm -r torn/states && cp -a faster/states torn/ && unsound "states of another training" "member 0, step $first" torn --data blobs.h5
# Boxes that are sound in themselves, under a manifest that names them, but not what the last step comes to.
digest() { grep -o '^ "digest": "[0-9a-f]*"' "$1/manifest.json"; }
changed && cp faster/boxes.h5 torn/ && sed -i "s/^$(digest run)/$(digest faster)/" torn/manifest.json && reseal torn/manifest.json && unsound "boxes of another run" "member 0, step $last" torn --data blobs.h5
grep -q '^ok      boxes.h5' out.txt || fail "the forgery is not what it should be: $(cat out.txt)"

# Where the networks without one of several people coincide, an audit of a deletion names them all.
{ echo id,a,b,y; for ((i = 0; i < 40; ++i)); do echo "$i,$((i >= 5 && i < 8 ? 70 : i * 37 % 100)),$((i >= 5 && i < 8 ? 30 : i * 53 % 100)),$((i >= 5 && i < 8 ? 1 : i % 2))"; done; } > twins.csv
"$holdfast" import twins.csv --label y --id id --scale '*=0:100' --expected-records 40 --out twins.h5 --quiet > /dev/null || fail "no twins"
twins=(--data twins.h5 --quiet --set "network.hidden=[4]" --set training.epochs=2 --set certificate.levels=2)
"$holdfast" fleet "${twins[@]}" --out fleet > /dev/null 2> err.txt || fail "no fleet: $(cat err.txt)"
"$holdfast" train "${twins[@]}" --out twin > /dev/null && echo 6 > gone &&
    "$holdfast" unlearn --run twin --data twins.h5 --ids gone --out untwin --out-data untwin.h5 --quiet > /dev/null 2> err.txt || fail "no deletion: $(cat err.txt)"
verify fleet --unlearned untwin > out.txt 2> err.txt || fail "an audit: $(cat out.txt err.txt)"
grep -q 'any one of 3 records, which coincide: [567], [567], [567]; which of them it does without cannot be told' out.txt || fail "one of three twins is named: $(cat out.txt)"
rm untwin/metrics.jsonl && unsound "a folder that fails its own checks" untwin fleet --unlearned untwin
! grep -q 'parameters are those of' out.txt || fail "a failing folder is called a proof: $(cat out.txt)"

((failures == 0)) && echo "verified as documented"
exit $((failures > 0))
