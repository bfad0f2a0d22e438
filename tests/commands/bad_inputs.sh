#!/usr/bin/env bash
# bad_inputs.sh HOLDFAST: every bad input ends with its documented exit code and one line on stderr that names the file,
# field or option and what to do, and leaves no file behind. Prints a table "input | exit | message".
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
trap 'umount "$scratch/tiny" 2> /dev/null; rm -rf "$scratch"' EXIT
rows=()
shown() { sed "s|$scratch/||g" <<< "$1"; }

# expect INPUT EXIT WORDS COMMAND…: WORDS is an extended regular expression the one message matches.
expect() {
    local input=$1 code=$2 words=$3 found message before
    shift 3
    before=$(find . -path ./tiny -prune -o -print | sort)
    "$@" > "$scratch.out" 2> "$scratch.err"
    found=$?
    message=$(grep '^holdfast: ' "$scratch.err")
    rows+=("$input | $found | $(shown "${message#holdfast: }")")
    [ "$found" = "$code" ] || fail "$input: exit $found instead of $code: $(cat "$scratch.err")"
    [ "$(grep -c '^holdfast: ' "$scratch.err")" = 1 ] || fail "$input: not one message: $(cat "$scratch.err")"
    # mpirun adds its own words behind ours; without it there is nothing else.
    [ "$1" = both ] || [ "$(wc -l < "$scratch.err")" = 1 ] || fail "$input: more than one line: $(cat "$scratch.err")"
    grep -qE -- "$words" <<< "$message" || fail "$input: '$message' does not say '$words'"
    [[ $message == *"("*")" ]] || fail "$input: '$message' names no remedy"
    [ ! -s "$scratch.out" ] || fail "$input: printed a result: $(cat "$scratch.out")"
    [ "$(find . -path ./tiny -prune -o -print | sort)" = "$before" ] || fail "$input: left something behind: $(diff <(echo "$before") <(find . -path ./tiny -prune -o -print | sort))"
    rm -f "$scratch.out" "$scratch.err"
}
# works INPUT COMMAND…
works() {
    local input=$1
    shift
    if "$@" > /dev/null 2> "$scratch.err"; then rows+=("$input | 0 | works"); else fail "$input: $(cat "$scratch.err")"; fi
    rm -f "$scratch.err"
}

# csv FILE LABEL OPTION…: 61 records of two features by way of CSV, the last with label LABEL.
csv() {
    { echo a,b,y; for ((i = 0; i < 60; ++i)); do echo "0.$((i % 10)),0.$((i % 7)),$((i % 2))"; done; echo "0.5,0.5,$2"; } > table.csv
    "$holdfast" import table.csv --label y --out "$1" --quiet "${@:3}" > /dev/null || fail "cannot import $1"
    rm table.csv
}
# poison FROM TO AXES INDEX NEW: what no importer would write. In the first dataset of AXES axes with 8-byte values, value
# INDEX becomes the bytes NEW (a perl expression) and the chunk's Fletcher-32 sum is made anew.
poison() {
    AXES=$3 INDEX=$4 NEW=$5 perl -0777 -ne '
        sub fletcher {
            my ($one, $two) = (0, 0);
            for (unpack "n*", shift) { $one = ($one + $_) % 65535; $two = ($two + $one) % 65535 }
            return pack "L<", ($two || 65535) << 16 | ($one || 65535);
        }
        my $file = $_;
        while (/TREE\x01\x00/g) {
            my ($size, $mask, @key) = unpack "L<L<Q<6", substr $_, pos() + 18, 56;
            my $chunk = $key[1 + $ENV{AXES}];
            next if $key[$ENV{AXES}] or not $chunk or $ENV{AXES} == 1 && $key[5] != 8;
            $size -= 4;
            die "not a plain chunk\n" if fletcher(substr $file, $chunk, $size) ne substr $file, $chunk + $size, 4;
            substr($file, $chunk + 8 * $ENV{INDEX}, 8) = eval $ENV{NEW};
            substr($file, $chunk + $size, 4) = fletcher(substr $file, $chunk, $size);
            print $file;
            exit;
        }
        die "no such dataset\n"' "$1" > "$2" || fail "$2 could not be made"
}
"$holdfast" synth blobs --records 61 --test 0 --out good.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 1 --test 0 --out one.h5 --quiet > /dev/null
csv table.h5 1
csv label.h5 9 --classes 10
poison good.h5 nan.h5 2 $((60 * 6 + 2)) 'pack("Q<", 0x7ff8000000000000)'
poison good.h5 inf.h5 2 $((60 * 6 + 5)) 'pack("Q<", 0x7ff0000000000000)'
poison good.h5 twice.h5 1 60 'pack("Q<", 1)'
perl -0777 -pe 's/\Q${\pack("Q<Q<", 61, 6)}\E/pack("Q<Q<", 0, 6)/e or die "no shape\n"' good.h5 > empty.h5 || fail "empty.h5 could not be made"
reseal nan.h5 inf.h5 twice.h5 empty.h5
head -c 900 good.h5 > cut.h5
echo "not HDF5" > text.h5
"$holdfast" synth blobs --records 200 --test 20 --out blobs.h5 --quiet > /dev/null
"$holdfast" synth blobs --degree 2 --records 20 --test 20 --out narrow.h5 --quiet > /dev/null

small=(--set "network.hidden=[4]" --set certificate.levels=5 --set training.expected_records=60 --set training.epochs=2)
train() { "$holdfast" train --quiet "${small[@]}" --out new "$@"; }

# 1. Datasets
expect "data file missing" 3 'nowhere\.h5' train --data nowhere.h5
expect "data file is not HDF5" 3 'text\.h5.*HDF5' train --data text.h5
expect "data file truncated" 3 'cut\.h5' train --data cut.h5
expect "data file is a folder" 3 '/' train --data "$scratch"
expect "no such split" 3 "good\.h5.*split 'tset'" train --data good.h5:tset
expect "a feature is NaN" 3 'nan\.h5.*row 60' train --data nan.h5
expect "a feature is infinite" 3 'inf\.h5.*row 60' train --data inf.h5
expect "label beyond network.classes" 3 'label\.h5.*row 60 .*label 9.*network\.classes' train --data label.h5
expect "no records" 3 'empty\.h5.*no rows' train --data empty.h5
expect "an id twice" 3 'twice\.h5.*rows 1 and 60.*id 1' train --data twice.h5
expect "no command" 2 'no command.*holdfast --help' "$holdfast"
expect "an option that is left out" 2 '--data is required.*holdfast train --help' "$holdfast" train --out new
expect "an option that there is not" 2 '--dota.*holdfast train --help' "$holdfast" train --data good.h5 --out new --dota 3
mkdir taken && echo mine > taken/thesis
for command in train fleet; do # before anything is read, so that nothing else is wrong
    expect "$command: --out holds something" 4 '^holdfast: taken: exists already.*choose another --out' "$holdfast" $command --quiet --out taken --data nowhere.h5
done
works "one record" train --data one.h5 --set certificate.levels=1 --set training.expected_records=1
rm -rf new

# 2. Configuration
printf '[training]\nepoch = 3\n' > unknown.toml
printf '[training\nepochs = 3\n' > malformed.toml
printf '[network]\nhidden = 1979-05-27\n' > date.toml
printf '[training]\nlearning_rate = nan\n' > nan.toml
printf '[training]\nepochs = "3"\n' > typed.toml
expect "TOML: unknown key" 2 'unknown\.toml.*training\.epoch.*did you mean training\.epochs' train --data good.h5 --config unknown.toml
expect "TOML: malformed" 2 'malformed\.toml.*line 1' train --data good.h5 --config malformed.toml
expect "TOML: missing" 2 'none\.toml' train --data good.h5 --config none.toml
expect "TOML: a folder" 2 '/' train --data good.h5 --config "$scratch"
expect "TOML: a date for a list" 2 'date\.toml.*network\.hidden' train --data good.h5 --config date.toml
expect "TOML: learning rate NaN" 2 'nan\.toml.*training\.learning_rate' train --data good.h5 --config nan.toml
expect "TOML: text for a number" 2 'typed\.toml.*training\.epochs.*whole number' train --data good.h5 --config typed.toml
expect "--set: unknown key" 2 'clip\.gama.*did you mean clip\.gamma' train --data good.h5 --set clip.gama=0.1
expect "--set: no value" 2 '"training\.epochs" is not section\.key=value' train --data good.h5 --set training.epochs
expect "--set: zero epochs" 2 'training\.epochs is 0, outside 1' train --data good.h5 --set training.epochs=0
expect "--set: no such choice" 2 'certificate\.relation .*add_remove' train --data good.h5 --set certificate.relation=swap
expect "--set: a layer too wide to exist" 2 'network\.hidden' train --data good.h5 --set "network.hidden=[4611686018427387904]"
expect "--set: a grid that does not fit" 2 'run\.grid.*MEMBERSxLEVELSxBLOCKS' train --data good.h5 --set run.grid=3x3x3
expect "--levels: a list" 2 '5,10.*not a level or 0\.\.K' "$holdfast" bench step --levels 5,10
expect "--levels: from another level" 2 '3\.\.9.*not a level or 0\.\.K' "$holdfast" bench step --levels 3..9
expect "--transport: no such choice" 2 'run\.transport .*mpi' train --data good.h5 --transport pigeon
expect "--backend: no such choice" 2 'run\.backend .*cpu' train --data good.h5 --backend abacus
expect "--transport nccl without GPUs" 2 'run\.transport: "nccl" cannot be had.*mpi' train --data good.h5 --backend cpu --transport nccl
expect "more levels than records" 2 'certificate\.levels = 62 exceeds the stated 60 records' train --data good.h5 --set certificate.levels=62
expect "more members than records" 2 'ensemble\.members = 62 exceeds the stated 60 records' train --data good.h5 --set ensemble.members=62
for budget in both per_epoch; do
    expect "$budget for counts as published" 2 'certificate\.budget.*per_batch' train --data good.h5 --set certificate.budget=$budget --set certificate.relation=remove --set training.normalise=actual
done
for relation in add_remove substitute; do
    expect "$relation changes counts" 2 "training\.normalise.*$relation" train --data good.h5 --set certificate.budget=per_batch --set certificate.relation=$relation --set training.normalise=actual
done
expect "a whole gradient's clip for boxes" 2 'clip\.kind' train --data good.h5 --set clip.kind=norm
expect "more products than layers" 2 'certificate\.product' train --data good.h5 --set network.hidden=[3] --set 'certificate.product=["exact","rump","nguyen"]' --set run.backend=reference
expect "a public batch without public records" 2 'public_batch_size' train --data good.h5 --set training.public_batch_size=3

# A library built with -ffast-math flushes subnormals in every thread of who loads it.
echo 'int nothing;' > flush.c
if [ "$(uname -m)" = x86_64 ] && gcc -shared -fPIC -ffast-math flush.c -o flush.so 2> /dev/null; then
    expect "a library that flushes subnormals" 5 'floating point.*flushed to zero.*-ffast-math' env LD_PRELOAD="$scratch/flush.so" "$holdfast" train --quiet "${small[@]}" --out new --data good.h5
fi
rm -f flush.c flush.so

# 3. Output
mkdir occupied && touch occupied/thesis.txt
expect "run folder holds something" 4 'occupied.*--resume' "$holdfast" train --quiet "${small[@]}" --data good.h5 --out occupied
expect "run folder below a file" 4 'good\.h5/run' "$holdfast" train --quiet "${small[@]}" --data good.h5 --out good.h5/run
# The largest file allowed is 1 KiB: boxes cannot be written. Nothing may be left but an empty folder.
limited() { (trap '' XFSZ; ulimit -f 1; "$@"); }
mkdir full
expect "output: no room for the boxes" 4 'full/members/members-00000' limited "$holdfast" train --quiet "${small[@]}" --data good.h5 --out full --set "network.hidden=[64]"
expect "output: no room for a checkpoint" 4 'full/checkpoints' limited "$holdfast" train --quiet "${small[@]}" --data good.h5 --out full --set "network.hidden=[64]" --set run.checkpoint_steps=1
mkdir tiny
if mount -t tmpfs -o size=64k tmpfs tiny 2> /dev/null; then
    expect "output: disk full" 4 'tiny/' "$holdfast" train --quiet "${small[@]}" --data good.h5 --out tiny/run --set "network.hidden=[512]"
    [ -z "$(find tiny -type f)" ] || fail "left on the full disk: $(find tiny)"
    mount -o remount,ro tiny
    expect "output: read-only disk" 4 'tiny/other' "$holdfast" train --quiet "${small[@]}" --data good.h5 --out tiny/other
fi

# 4. Checkpoints: a run stopped by a signal, then resumed in the wrong ways
"$holdfast" train --quiet "${small[@]}" --data blobs.h5 --out whole --set training.epochs=2000 > /dev/null
slow=("$holdfast" train --quiet "${small[@]}" --set training.epochs=2000 --set run.backend=reference --set run.checkpoint_steps=1)
"${slow[@]}" --data blobs.h5 --out stopped > /dev/null 2> stopped.log &
until [ "$(ls stopped/checkpoints/0 2> /dev/null | grep -c '^[0-9]*$')" = 2 ] || ! kill -0 $! 2> /dev/null; do sleep 0.01; done
kill -TERM $!
wait $!
[ $? = 7 ] || fail "a run stopped by SIGTERM does not exit with 7: $(cat stopped.log)"
rows+=("SIGTERM while training | 7 | $(sed 's/^holdfast: //' stopped.log)")
rm stopped.log
expect "query an unfinished run" 3 'stopped.*--resume' "$holdfast" certify --quiet --run stopped --queries blobs.h5
expect "resume with another configuration" 2 'stopped: .*configuration' "${slow[@]}" --data blobs.h5 --out stopped --resume --set training.learning_rate=0.5
expect "resume with other data" 2 'stopped: .*dataset' "${slow[@]}" --out stopped --resume --data good.h5
expect "resume with other public records" 2 'stopped: .*dataset' "${slow[@]}" --out stopped --resume --data blobs.h5 --public good.h5
expect "start again in a stopped run's folder" 4 'stopped.*--resume' "${slow[@]}" --data blobs.h5 --out stopped
newest=stopped/checkpoints/0/$(ls stopped/checkpoints/0 | sort -n | tail -1)
cp -r stopped torn
for file in "torn/${newest#stopped/}"/*; do truncate -s -9 "$file"; done
cp -r torn ruined
works "newest checkpoint truncated: the one before serves" "${slow[@]}" --data blobs.h5 --out torn --resume --set run.backend=auto --set run.checkpoint_steps=0
boxes() { grep -o '^ "digest": "[0-9a-f]*"' "$1/manifest.json"; }
[ -n "$(boxes whole)" ] && [ "$(boxes whole)" = "$(boxes torn)" ] || fail "resumed from the checkpoint before, the boxes differ"
for file in ruined/checkpoints/0/*/*; do truncate -s 40 "$file"; done
expect "every checkpoint truncated" 3 'ruined/checkpoints/0/[0-9]+/.*damaged' "${slow[@]}" --data blobs.h5 --out ruined --resume

# 5. Queries
"$holdfast" train --quiet "${small[@]}" --data table.h5 --out plain > /dev/null
query() { "$holdfast" "$1" --quiet --run whole "${@:2}"; }
expect "no such run" 3 'nowhere' "$holdfast" certify --quiet --run nowhere --queries blobs.h5
expect "queries of another width" 3 'narrow\.h5.*4 features.* 6' query certify --queries narrow.h5
expect "certify: no such bounds" 2 '--bounds.*tight' query certify --queries blobs.h5 --bounds tight
"$holdfast" certify --run whole --queries blobs.h5 --bounds best 2> /dev/null | grep -q 'relaxations prove no more' || fail "certify --bounds best of one hidden layer does not say what it is by"
"$holdfast" train --quiet "${small[@]}" --data blobs.h5 --out deep --set "network.hidden=[4,4]" > /dev/null
"$holdfast" certify --run deep --queries blobs.h5 --bounds best 2> /dev/null | grep -q 'a release counts by intervals' || fail "certify --bounds best does not say what a release counts by"
expect "evaluate: label out of range" 3 'label\.h5.*row 60 has label 9' "$holdfast" evaluate --quiet --run plain --data label.h5:train --epsilon 1
expect "evaluate: no such split" 3 "good\.h5.*split 'test'" query evaluate --data good.h5 --epsilon 1
expect "evaluate: epsilon 0" 2 'epsilon' query evaluate --data blobs.h5 --epsilon 0
expect "evaluate: delta NaN" 2 'delta' query evaluate --data blobs.h5 --epsilon 1 --delta nan
expect "queries with NaN" 3 'nan\.h5.*row 60' query certify --queries nan.h5:train
mkdir damaged && cp whole/* damaged/ 2> /dev/null
truncate -s 2000 damaged/boxes.h5
expect "boxes truncated" 3 'damaged/boxes\.h5' "$holdfast" certify --quiet --run damaged --queries blobs.h5
cp whole/boxes.h5 damaged/ && truncate -s 300 damaged/manifest.json
expect "manifest truncated" 3 'damaged/manifest\.json' "$holdfast" certify --quiet --run damaged --queries blobs.h5
echo '{"configuration": {}, "dataset": {"features": -1, "scaling": 3, "ids": "yes"}}' > damaged/manifest.json
expect "manifest of something else" 3 'damaged/manifest\.json' "$holdfast" certify --quiet --run damaged --queries blobs.h5
sed 's/"certificate.levels": 5/"certificate.levels": 7/' whole/manifest.json > damaged/manifest.json && reseal damaged/manifest.json
expect "manifest and boxes disagree" 3 'damaged/(boxes\.h5|manifest\.json)' "$holdfast" certify --quiet --run damaged --queries blobs.h5

# 6. Accounts and releases
ledger=$scratch/ledger.db
account() { "$holdfast" account --quiet --ledger "$ledger" "$@"; }
release() { "$holdfast" release --queries-are-public --quiet --queries blobs.h5 --ledger "$ledger" "$@"; }
for epsilon in 0 -1 nan inf; do expect "account: budget $epsilon" 2 '--budget' account --data blobs.h5 --budget=$epsilon; done
expect "account: budget delta 1" 2 '--budget-delta' account --data blobs.h5 --budget 10 --budget-delta 1
expect "account: fixed epsilon 0" 2 '--fixed' account --data blobs.h5 --budget 10 --fixed 0
expect "account: no ledger and no budget" 2 'ledger\.db.*--budget' account --data blobs.h5
expect "account: a ledger to look at that is not there" 2 'ledger\.db' account --population synthetic
expect "account: of nobody" 2 '--data.*--population' account
expect "account: a dataset that names no population" 3 'table\.h5.*import … --population' account --data table.h5 --budget 10
expect "account: data file missing" 3 'nowhere\.h5' account --data nowhere.h5 --budget 10
expect "account: no such split" 3 "blobs\.h5.*split 'tset'" account --data blobs.h5:tset --budget 10
expect "account: a feature is NaN" 3 'nan\.h5.*row 60' account --data nan.h5 --budget 10
expect "account: ledger in no folder" 4 'no/such/ledger\.db' "$holdfast" account --quiet --data blobs.h5 --budget 10 --ledger no/such/ledger.db
mountpoint -q tiny && expect "account: ledger on a read-only disk" 4 'tiny/ledger\.db' "$holdfast" account --quiet --data blobs.h5 --budget 10 --ledger tiny/ledger.db
cp text.h5 text.db && chmod 600 text.db
expect "account: ledger is another file" 3 'text\.db' "$holdfast" account --quiet --data blobs.h5 --budget 10 --ledger text.db
expect "release: no ledger yet" 2 'ledger\.db.*holdfast account' release --run whole --epsilon 0.1
account --data blobs.h5 --budget 10 > /dev/null || fail "cannot open an account"
expect "account: another budget" 6 'epsilon 10, .*epsilon 20, ' account --data blobs.h5 --budget 20
expect "account: another relation" 6 'add_remove neighbours.*substitute neighbours' account --data blobs.h5 --budget 10 --relation substitute
expect "account: no such population" 2 "population 'ward'.*--budget" account --population ward
"$holdfast" synth blobs --records 200 --test 20 --population ward --out renamed.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 100 --test 0 --seed 2 --population ward --out disguised.h5 --quiet > /dev/null
expect "account: a dataset under another name" 3 "'synthetic'.*--population 'synthetic'" account --data renamed.h5 --budget 10
expect "account: its people under another name" 3 "100 from 'synthetic'.*--population 'synthetic'" account --data disguised.h5 --budget 10
for epsilon in 0 -0.1 nan inf; do expect "release: epsilon $epsilon" 2 'epsilon' release --run whole --epsilon=$epsilon; done
expect "release: unknown mechanism" 2 'stable_r.*stable_rr' release --run whole --epsilon 0.1 --mechanism stable_r
expect "release: mechanism not private" 2 'paper_sparse' release --run whole --epsilon 0.1 --mechanism paper_sparse
expect "release: ptr without delta" 2 'delta' release --run whole --epsilon 0.1 --mechanism ptr
expect "release: votes of one model" 2 'noisy_argmax.*ensemble' release --run whole --epsilon 0.1 --mechanism noisy_argmax
expect "release: a threshold that nothing asks for" 2 'threshold.*confident_argmax' release --run whole --epsilon 0.1 --threshold 0.5
expect "release: a dataset of no account" 2 'ledger\.db.*holdfast account' "$holdfast" release --queries-are-public --quiet --run plain --queries table.h5:train --ledger "$ledger" --epsilon 0.1
expect "release: more than the budget" 6 'epsilon 10, .*20 more answers do not fit' release --run whole --epsilon 1
"$holdfast" train --quiet "${small[@]}" --data blobs.h5 --out sparse --set "certificate.level_list=[2,5]" > /dev/null
"$holdfast" train --quiet "${small[@]}" --data blobs.h5 --out removal --set certificate.relation=remove --set certificate.budget=per_batch > /dev/null
"$holdfast" train --quiet "${small[@]}" --data blobs.h5 --out rump --set certificate.product=rump > /dev/null
"$holdfast" train --quiet "${small[@]}" --data blobs.h5 --out substituting --set certificate.relation=substitute --set certificate.budget=per_batch > /dev/null
expect "release from a sparse list of levels" 2 'certificate\.level_list.*not differentially private' release --run sparse --epsilon 0.1
expect "release from boxes for removals" 2 'certificate\.relation.*removals' release --run removal --epsilon 0.1
expect "release from midpoint-radius boxes" 2 'certificate\.product.*nest' release --run rump --epsilon 0.1
expect "release under another relation than the account's" 2 'add_remove neighbours.*nothing was charged.*certificate\.relation' release --run substituting --epsilon 0.1
expect "release: ledger in no folder" 2 'no/such/ledger\.db.*holdfast account' "$holdfast" release --queries-are-public --quiet --queries blobs.h5 --run whole --epsilon 0.1 --ledger no/such/ledger.db
expect "release: ledger is another file" 3 'text\.db' "$holdfast" release --queries-are-public --quiet --queries blobs.h5 --run whole --epsilon 0.1 --ledger text.db

# 7. Models that leave, and what is asked of them
paid=$scratch/paid.db
"$holdfast" account --quiet --ledger "$paid" --data blobs.h5 --budget 10 --budget-delta 0.001 > /dev/null || fail "cannot open an account to train on"
student() { "$holdfast" student --quiet --run whole --out student.h5 "$@"; }
expect "student: nothing was released" 3 'no answer to any of these queries.*holdfast release --run whole' student --queries blobs.h5 --ledger "$paid"
expect "student: no such ledger" 2 'no/ledger\.db.*holdfast account' student --queries blobs.h5 --ledger no/ledger.db
expect "student: with boxes of its own noise" 2 'training\.kind' student --queries blobs.h5 --ledger "$paid" --set training.kind=noisy --set clip.kind=norm
expect "student: an unknown setting" 2 'training\.epoch.*training\.epochs' student --queries blobs.h5 --ledger "$paid" --set training.epoch=3
expect "student: queries of other columns" 3 'features, but the model takes' student --ledger "$paid" --queries table.h5:train
noisy=(--set training.kind=noisy --set clip.kind=norm --set "network.hidden=[]" --set training.epochs=2)
"$holdfast" train --quiet --data blobs.h5 --out noisy "${noisy[@]}" --ledger "$paid" > /dev/null || fail "noisy training does not train"
"$holdfast" train --quiet --data blobs.h5 --out bare "${noisy[@]}" --set noise.law=none > /dev/null || fail "training without noise does not train"
publish() { "$holdfast" publish --quiet --ledger "$paid" "$@"; }
publish --run noisy --out model.h5 > /dev/null || fail "cannot publish"
expect "publish: no such run" 3 'nowhere' publish --run nowhere --out new.h5
expect "publish: no ledger" 2 'none\.db.*holdfast account' "$holdfast" publish --quiet --run noisy --ledger none.db --out new.h5
expect "publish: a ledger that did not pay" 6 'ledger\.db.*not charged.*trained with' "$holdfast" publish --quiet --run noisy --ledger "$ledger" --out new.h5
expect "publish: ledger is another file" 3 'text\.db' "$holdfast" publish --quiet --run noisy --ledger text.db --out new.h5
expect "publish: boxes" 2 'training\.kind.*for their owner.*\"noisy\"' publish --run whole --out new.h5
expect "publish: no noise" 2 'noise\.law' publish --run bare --out new.h5
expect "publish: another file is there" 4 'good\.h5.*kept' publish --run noisy --out good.h5
expect "publish: into no folder" 4 'no/such/model\.h5' publish --run noisy --out no/such/model.h5
expect "publish: into a folder" 4 'occupied.*folder' publish --run noisy --out occupied
expect "publish: disk full" 4 'new\.h5' limited "$holdfast" publish --quiet --ledger "$paid" --run noisy --out new.h5
mountpoint -q tiny && expect "publish: on a read-only disk" 4 'tiny/model\.h5' publish --run noisy --out tiny/model.h5
predict() { "$holdfast" predict --quiet "$@"; }
head -c 3000 model.h5 > cutmodel.h5
perl -0777 -pe 's/"version":1\}/"version":9}/ or die "no version\n"' model.h5 > newer.h5 || fail "newer.h5 could not be made"
perl -0777 -pe 's/"epsilon":1\.0/"epsilon":0.1/ or die "no epsilon\n"' model.h5 > cheaper.h5 || fail "cheaper.h5 could not be made"
reseal newer.h5 cheaper.h5
expect "predict: no such model" 3 'nowhere\.h5' predict --model nowhere.h5 --queries blobs.h5
expect "predict: a dataset for a model" 3 'blobs\.h5.*no model.*holdfast publish' predict --model blobs.h5 --queries blobs.h5
expect "predict: model is not HDF5" 3 'text\.h5.*HDF5' predict --model text.h5 --queries blobs.h5
expect "predict: model truncated" 3 'cutmodel\.h5.*cut off' predict --model cutmodel.h5 --queries blobs.h5
expect "predict: a newer model" 3 'newer\.h5.*version 9.*reads \(6\)' predict --model newer.h5 --queries blobs.h5
expect "predict: a model that says it cost less" 3 'cheaper\.h5.*digest' predict --model cheaper.h5 --queries blobs.h5
expect "predict: queries of another width" 3 'narrow\.h5.*4 features.* 6' predict --model model.h5 --queries narrow.h5
expect "predict: queries with NaN" 3 'nan\.h5.*row 60' predict --model model.h5 --queries nan.h5:train
expect "predict: no such split" 3 "good\.h5.*split 'test'" predict --model model.h5 --queries good.h5
expect "predict: no such backend" 2 'backend .*cpu' predict --model model.h5 --queries blobs.h5 --backend abacus
expect "predict: answers into no folder" 4 'no/such/answers' predict --model model.h5 --queries blobs.h5 --out no/such/answers.csv

# 8. The same on two ranks: one message, not two
both() { mpirun -n 2 "$holdfast" "$@"; }
expect "2 ranks: data file missing" 3 'nowhere\.h5' both train --quiet "${small[@]}" --out new --data nowhere.h5
expect "2 ranks: NaN on the second rank only" 3 'nan\.h5.*row 60' both train --quiet "${small[@]}" --out new --data nan.h5
expect "2 ranks: an id twice" 3 'twice\.h5.*id 1' both train --quiet "${small[@]}" --out new --data twice.h5
expect "2 ranks: unknown key" 2 'did you mean clip\.gamma' both train --quiet --out new --data good.h5 --set clip.gama=0.1
expect "2 ranks: --transport nccl without GPUs" 2 'run\.transport: "nccl" cannot be had.*mpi' both train --quiet --out new --data good.h5 --backend cpu --set run.transport=nccl
expect "2 ranks: run folder holds something" 4 'occupied' both train --quiet "${small[@]}" --data good.h5 --out occupied
expect "2 ranks: every checkpoint truncated" 3 'ruined/checkpoints' both train --quiet "${small[@]}" --set training.epochs=2000 --data blobs.h5 --out ruined --resume
expect "2 ranks: queries of another width" 3 'narrow\.h5' both certify --quiet --run whole --queries narrow.h5
expect "2 ranks: release with epsilon 0" 2 'epsilon' both release --queries-are-public --quiet --queries blobs.h5 --ledger "$ledger" --run whole --epsilon 0
expect "2 ranks: a model that is none" 3 'blobs\.h5.*no model' both predict --quiet --model blobs.h5 --queries blobs.h5
expect "2 ranks: a ledger that did not pay" 6 'not charged' both publish --quiet --run noisy --ledger "$ledger" --out new.h5
expect "2 ranks: an account of nobody's data" 3 'table\.h5.*--population' both account --quiet --data table.h5 --budget 10 --ledger "$ledger"

printf 'input | exit | message\n--- | --- | ---\n'
printf '%s\n' "${rows[@]}"
((failures == 0)) && echo "all ${#rows[@]} bad inputs end as documented"
