#!/usr/bin/env bash
# batch_study.sh HOLDFAST: tools/batch_study makes the batch smaller until too few predictions stay, goes on where it stopped, and
# writes a job whose runs it reads.
set -uo pipefail
tools=$(realpath "$(dirname "$0")/../../tools")
source "$(dirname "$0")/../support/script.sh"
export HOLDFAST=$holdfast

small=(--records 4000 --k 2 --depths 1 --batches 1,2,4,8,16)
"$tools/batch_study" study "${small[@]}" > first.txt 2> err.txt || fail "batch_study: $(cat err.txt)"
# Of each budget: half the batch each time, the last with fewer than 95 of 100 stable or 16 batches.
awk '/smallest/ { exit } $1 == 1 { if ($2 == last && $3 * 2 != batch) exit 1; if ($2 == last && stable < .95) exit 1; last = $2; batch = $3; stable = $4; n[$2]++ }
     END { exit !(n["per_epoch"] > 1 && n["per_batch"] > 1) }' first.txt || fail "not halved: $(cat first.txt)"
# A budget for the epoch keeps what one for every batch keeps, at least.
awk '/smallest/ { exit } $2 == "per_batch" { b[$3] = $4 } $2 == "per_epoch" { e[$3] = $4 }
     END { for (size in b) if (size in e && e[size] < b[size]) exit 1 }' first.txt || fail "per_epoch keeps less: $(cat first.txt)"
rm study/table.h5
touch study/table.h5 # what is measured is not measured again, so nobody reads it
"$tools/batch_study" study "${small[@]}" > second.txt 2> err.txt || fail "a second time: $(cat err.txt)"
cmp -s first.txt second.txt || fail "another table the second time: $(diff first.txt second.txt)"

"$tools/batch_study" jobs --job job.toml --records 600 --k 2 --batches 1,2 || fail "no job"
mkdir -p jobs
eval "$(sed -n "s|^#   holdfast synth|'$holdfast' synth|p" job.toml) --quiet" > /dev/null || fail "the table is not made as the job says"
"$tools/../slurm/submit" job.toml --dry-run > dry.txt 2> err.txt || fail "no job of slurm/submit: $(cat err.txt)"
"$tools/batch_study" jobs --read job.toml > out.txt 2> err.txt && fail "reads runs that are not there"
grep -q 'job.toml' err.txt || fail "does not say of which job: $(cat err.txt)"
"$holdfast" synth tabular --records 600 --test 50 --features 3 --out table.h5 --quiet > /dev/null
run=jobs/runs/any
mkdir -p jobs/runs
"$holdfast" train --data table.h5 --out $run --quiet --set network.hidden=[128,128] --set training.epochs=1 --set training.batches=2 \
    --set training.expected_records=600 --set certificate.level_list=[2] > /dev/null || fail "cannot train"
"$holdfast" certify --run $run --queries table.h5 --quiet > /dev/null && "$holdfast" evaluate --run $run --data table.h5 --epsilon 1 --quiet > /dev/null
"$tools/batch_study" jobs --read job.toml --k 2 > out.txt 2> err.txt || fail "cannot read runs: $(cat err.txt)"
grep -Eq '^ +2 per_epoch +300 ' out.txt || fail "not the run that is there: $(cat out.txt)"
((failures == 0)) && echo "a study of batch sizes"
