#!/usr/bin/env bash
# outputs.sh HOLDFAST: what commands write. No output replaces an input, a ledger, a file of a run or a file of another
# kind; stdout that cannot be written is exit 4; names from files of others neither steer a terminal nor run in a
# spreadsheet; commands that only look need no right to write; results are compared as they are printed.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
umask 077

{ echo id,a,b,y; for ((i = 1; i <= 60; ++i)); do echo "$i,$((i % 3)).$((i * 37 % 100)),$((i % 2)).$((i * 53 % 90)),$((i % 2))"; done; } > p.csv
echo '' > empty.toml
made() { "$holdfast" "$@" --quiet > made.txt 2>&1 || fail "$*: $(cat made.txt)"; }
made import p.csv --label y --id id --scale '*=-5:5' --population ward --expected-records 60 --out d.h5
made import p.csv --label y --id id --population ward --expected-records 60 --out raw.h5
made train --data d.h5 --out run --set "network.hidden=[4]" --set certificate.levels=3 --set training.epochs=1
made account --ledger l.db --data d.h5 --budget 10 --budget-delta 1e-4
made train --data d.h5 --ledger l.db --out noisy --set training.kind=noisy --set clip.kind=norm --set "network.hidden=[]" --set training.batches=4 --set noise.multiplier=30
made publish --run noisy --ledger l.db --out m.h5
made schema p.csv --label y --id id --from-data --out p.toml
made explain --model m.h5 --out page.html
echo "1" > ids.txt
echo "own notes" > notes.txt
{ echo id,a,b; for ((i = 1; i <= 6; ++i)); do echo "$((i + 1000)),1.0$i,0.$((i * 11))"; done; } > strangers.csv
ln p.csv hard.csv && ln -s p.csv soft.csv
mkdir sub

# 1. Outputs. OUTPUT WORDS COMMAND…: refused, exit 2, naming both; OUTPUT as it was.
count=0
kept() {
    local file=$1 words=$2 before
    shift 2
    before=$(sha256sum < "$file")
    "$holdfast" "$@" --quiet > out.txt 2> err.txt
    local code=$?
    ((++count))
    [ $code = 2 ] && grep -qF -- "$words" err.txt && grep -qF "$file" err.txt || fail "$*: exit $code: $(cat out.txt err.txt)"
    [ "$(sha256sum < "$file")" = "$before" ] || fail "$* destroyed $file"
}
import=(import p.csv --label y --id id)
kept p.csv 'which file reads' "${import[@]}" --out p.csv
kept hard.csv 'p.csv, which file reads' "${import[@]}" --out hard.csv
kept soft.csv 'p.csv, which file reads' "${import[@]}" --out soft.csv
kept p.csv 'which file reads' "${import[@]}" --out ./sub/../p.csv
kept p.csv 'which file reads' "${import[@]}" --out p.csv --force
kept p.toml 'which --schema reads' import p.csv --schema p.toml --out p.toml
kept notes.txt 'another kind' "${import[@]}" --out notes.txt
kept m.h5 'another kind' "${import[@]}" --out m.h5
kept l.db 'a privacy ledger' "${import[@]}" --out l.db --force
kept run/boxes.h5 'a file of the run' "${import[@]}" --out run/boxes.h5 --force
kept run/fingerprint 'a file of the run' synth blobs --out run/fingerprint --force
kept p.csv 'another kind' synth blobs --out p.csv
kept p.csv 'which file reads' schema p.csv --label y --out p.csv
kept p.toml 'another kind' schema p.csv --label y --out p.toml
kept p.toml 'another kind' advise --records 60 --features 2 --epsilon 1 --out p.toml
kept l.db 'which --ledger reads' advise --records 60 --features 2 --epsilon 1 --ledger l.db --out l.db
kept d.h5 'which --data reads' measure --data d.h5:train --ledger l.db --out d.h5 --epsilon 1
kept l.db 'which --ledger reads' measure --data raw.h5 --ledger l.db --out l.db --epsilon 1
kept l.db 'which --ledger reads' statement --ledger l.db --html l.db
kept p.csv 'another kind' statement --ledger l.db --html p.csv
kept l.db 'which --ledger reads' report run --ledger l.db --out l.db
kept run/manifest.json 'a file of the run' report run --out run/manifest.json
kept p.csv 'another kind' report run --out p.csv
kept m.h5 'which --model reads' predict --model m.h5 p.csv --out m.h5
kept p.csv 'which --queries reads' predict --model m.h5 p.csv --out p.csv
kept ids.txt 'another kind' predict --model m.h5 d.h5:train --out ids.txt
kept m.h5 'which --model reads' explain --model m.h5 --out m.h5
kept notes.txt 'another kind' explain --model m.h5 --out notes.txt
kept d.h5 'which --queries reads' certify --model m.h5 --queries d.h5:train --input-radius .1 --page d.h5
kept m.h5 'which --model reads' certify --model m.h5 --queries d.h5:train --input-radius .1 --out m.h5
kept l.db 'which --ledger reads' publish --run noisy --ledger l.db --out l.db
kept d.h5 'which --data reads' pretrain --data d.h5 --out d.h5
kept d.h5 'which --queries reads' student --run run --queries d.h5 --ledger l.db --out d.h5
kept d.h5 'which --data reads' unlearn --run run --data d.h5 --ids ids.txt --out without --out-data d.h5
"$holdfast" certify --model m.h5 --queries d.h5:train --input-radius .1 --out two --page ./two --quiet > out.txt 2> err.txt
[ $? = 2 ] && [ ! -e two ] && grep -q 'what --out writes' err.txt || fail "two outputs in one file: $(cat err.txt)"
mkfifo pipe
"$holdfast" predict --model m.h5 p.csv --out pipe --quiet > out.txt 2> err.txt
[ $? = 2 ] && [ -p pipe ] || fail "a pipe, and so a device, is replaced: $(cat err.txt)"
# Outputs of the same kind are replaced, empty files too; others with --force.
for twice in 1 2; do
    made "${import[@]}" --scale '*=-5:5' --out again.h5
    made predict --model m.h5 p.csv --out answers.csv
    made explain --model m.h5 --out page.html
    made report run
    made report run --out run/report.html
done
: > nothing.h5 && made "${import[@]}" --out nothing.h5
made predict --model m.h5 p.csv --out notes.txt --force


# 2. stdout on a full disk: exit 4, and the same command again costs nothing.
spent() { "$holdfast" account --ledger l.db --population ward --json --quiet | grep -o '"spent_epsilon":[0-9.e-]*'; }
full() {
    "$holdfast" "$@" > /dev/full 2> err.txt
    local code=$?
    [ $code = 4 ] && grep -q 'stdout: cannot be written: No space left on device' err.txt || fail "$* > /dev/full: exit $code: $(cat err.txt)"
}
for command in --version --help "train --help" man "completion bash" doctor "inspect d.h5" "synth blobs --out s.h5" "account --ledger l.db --population ward" \
    "certify --run run --queries d.h5:train" "evaluate --run run --data d.h5:train --epsilon 1" "report run" "statement --ledger l.db" "explain --model m.h5" \
    "verify run" "watch run --once" "advise --records 60 --features 2 --epsilon 1" "predict --model m.h5 p.csv" "predict --model m.h5 p.csv --json"; do
    full $command
done
"$holdfast" predict --model m.h5 p.csv 2> err.txt >&-
[ $? = 4 ] || fail "a closed stdout: $(cat err.txt)"
release=(release --run run --queries strangers.csv --ledger l.db --epsilon 0.1 --first 5 --queries-are-public --quiet)
full "${release[@]}"
grep -q 'costs nothing more' err.txt || fail "a release does not say that asking again is free: $(cat err.txt)"
before=$(spent)
"$holdfast" "${release[@]}" > labels.txt 2> err.txt && [ "$(wc -l < labels.txt)" = 5 ] && [ "$(spent)" = "$before" ] || fail "asking again: $(spent), before $before: $(cat err.txt)"

# 3. Names from elsewhere: shown on a terminal, in JSON and in a spreadsheet, and obeyed by none of them.
escape=$'\e[31m' c1=$'\xc2\x9b'
{ echo "id,a$escape,b$c1,y"; for ((i = 1; i <= 60; ++i)); do echo "$i,0.$((i * 37 % 100)),0.$((i * 53 % 90)),$( ((i % 2)) && echo '=1+1' || echo "-x$escape")"; done; } > names.csv
made import names.csv --label y --id id --classes "=1+1|-x$escape" --scale '*=0:1' --population names --expected-records 60 --out names.h5
made account --ledger n.db --data names.h5 --budget 1000 --budget-delta 1e-4
made train --data names.h5 --ledger n.db --out names --set training.kind=noisy --set clip.kind=norm --set "network.hidden=[]" --set training.batches=4 --set noise.multiplier=30
made publish --run names --ledger n.db --out names-model.h5
made predict --model names-model.h5 names.csv --out names-answers.csv
steered=$'\x1b|\xc2[\x80-\x9f]|\x7f'
for command in "predict --model names-model.h5 names.csv" "explain --model names-model.h5" "explain --model names-model.h5 --json" "inspect names.h5" "inspect names.h5 --json" \
    "evaluate --run names --data names.h5:train" "import names.csv --label absent$escape --out none.h5" "inspect none$escape.h5" "train --data names.h5 --out x --set a$escape=1"; do
    "$holdfast" $command > out.txt 2> err.txt
    ! LC_ALL=C grep -qE "$steered" out.txt err.txt || fail "$command steers the terminal: $(cat -v out.txt err.txt)"
done
grep -q '^[0-9]*,'"'"'=1+1,' names-answers.csv || grep -q '^[0-9]*,'"'"'-x' names-answers.csv || fail "a class that a spreadsheet runs: $(head -3 names-answers.csv | cat -v)"
! grep -qE '(^|,)"?[=+@-][^0-9.]' names-answers.csv || fail "cells that a spreadsheet runs: $(head -3 names-answers.csv | cat -v)"
for page in page.html run/report.html; do
    grep -q "Content-Security-Policy\" content=\"default-src 'none'" $page || fail "$page may load from elsewhere"
done

# 4. Commands that look, where nothing may be written. As root a mode holds nobody back: a mount does.
readonly_in() { # FOLDER COMMAND…
    local folder=$1 code
    shift
    if [ "$(id -u)" = 0 ]; then
        unshare -m bash -c 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"' "$folder" "$@"
    else
        chmod -R a-w "$folder" && "$@"
        code=$?
        chmod -R u+w "$folder"
        return $code
    fi
}
mkdir ro && cp -r run ro/run && cp l.db ro/l.db && rm -f ro/run/{certificates.json,distances.h5,evaluation.json}
if readonly_in ro true 2> err.txt; then
    before=$(find ro -type f -exec sha256sum {} + | sort)
    for command in "certify --run ro/run --queries d.h5:train" "evaluate --run ro/run --data d.h5:train --epsilon 1" "account --ledger ro/l.db --population ward" \
        "statement --ledger ro/l.db" "report ro/run --out ro.html --ledger ro/l.db" "verify ro/run" "watch ro/run --once"; do
        readonly_in ro "$holdfast" $command > out.txt 2> err.txt || fail "$command where nothing may be written: $(cat out.txt err.txt)"
    done
    readonly_in ro "$holdfast" certify --run ro/run --queries d.h5:train 2> err.txt | grep -q 'not stored, the run folder is read-only' || fail "certify does not say that it stores nothing"
    grep -q 'Read-only file system\|Permission denied' err.txt || fail "certify warns of nothing: $(cat err.txt)"
    readonly_in ro "$holdfast" release --run run --queries strangers.csv --ledger ro/l.db --epsilon 0.1 --first 6 --queries-are-public --quiet > out.txt 2> err.txt
    [ $? = 4 ] && [ ! -s out.txt ] && grep -q 'ro/l.db' err.txt || fail "labels of a ledger that cannot be charged: $(cat out.txt err.txt)"
    [ "$(find ro -type f -exec sha256sum {} + | sort)" = "$before" ] || fail "looking changed files"
else
    echo "skipped: nothing can be mounted read-only here: $(cat err.txt)"
fi

((failures == 0)) && echo "$count outputs refused, none destroyed"
exit $((failures > 0))
