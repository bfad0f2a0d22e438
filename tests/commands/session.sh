#!/usr/bin/env bash
# session.sh HOLDFAST: many answers for one payment, end to end: sessions, batches, files for a total, accounts of
# Gaussian privacy. Charged once, remembered, refused clearly; nothing but labels leaves.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
# account LEDGER OPTION…
account() { "$holdfast" account --quiet --ledger "$1.db" --data two.h5 "${@:2}" > /dev/null || fail "account $*"; }
# release LEDGER QUERIES OPTION…
release() { "$holdfast" release --queries-are-public --ledger "$1.db" --run ${run:-run} --queries "$2" "${@:3}"; }
# refused WHAT CODE WORDS COMMAND…
refused() {
    "${@:4}" > out.txt 2> err.txt
    local code=$?
    [ $code = "$2" ] && [ ! -s out.txt ] && grep -q -- "$3" err.txt || fail "$1: exit $code, $(cat err.txt)"
}
# says JSON EXPRESSION: of the object d, true.
says() { python3 -c "import json, sys; d = json.load(open(sys.argv[1])); assert $2, d['cost']" "$1" || fail "$1: not $2"; }

"$holdfast" synth blobs --records 400 --test 40 --seed 1 --out two.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 10000 --test 60 --seed 9 --out more.h5 --quiet > /dev/null
"$holdfast" synth blobs --records 10000 --test 300 --seed 10 --out many.h5 --quiet > /dev/null
train() { "$holdfast" train --quiet --data two.h5 --out $1 --set "network.hidden=[]" --set training.expected_records=400 --set training.epochs=2 --set certificate.levels=$2 --set clip.gamma=0.01 > /dev/null || fail "$1 does not train"; }
train run 60
train other 50
train wide 400

# 1. A session: charged at opening, free afterwards, remembered; refusals and answers are what was drawn.
account ward --budget 3 --budget-delta 0.001
refused "a session nobody opened" 2 "--session: no session 'june' is open" release ward two.h5 --session june
release ward two.h5 --session june --epsilon 2 --delta 0.0001 --refusals 4 --json > first.json 2> log.txt || fail "opening: $(cat log.txt)"
says first.json 'd["cost"]["charged"] and d["cost"]["spent_epsilon"] == 2 and d["cost"]["spent_delta"] == 0.0001 and len(d["labels"]) == 40'
says first.json 'd["session"]["refusals"] == 4 and d["session"]["refused"] <= 4 and d["session"]["name"] == "june"'
says first.json 'd["labels"].count(None) == d["session"]["refused"] + d["session"]["unanswered"]'
says first.json 'all(t["together"] and t["mechanism"] == "session" and t["guarantee"]["status"].startswith("proved") for t in d["terms"])'
grep -qiE 'threshold[^a-z]*[0-9]|distance[^a-z]*[0-9]|votes' log.txt first.json && fail "it tells what is private: $(cat log.txt)"
release ward two.h5 --session june --json --quiet > again.json || fail "the same queries again"
says again.json 'not d["cost"]["charged"] and d["cost"]["new_answers"] == 0 and d["cost"]["spent_epsilon"] == 2'
cmp <(grep -o '"labels":\[[^]]*\]' first.json) <(grep -o '"labels":\[[^]]*\]' again.json) || fail "a session answers twice"
release ward more.h5 --session june --quiet > more.txt || fail "more queries"
[ "$(wc -l < more.txt)" = 60 ] && ! grep -qvE '^([01]|refused|unanswered)$' more.txt || fail "labels: $(sort -u more.txt)"
refused "other terms" 2 'is open at epsilon 2, delta 1e-04, 4 refusals' release ward more.h5 --session june --epsilon 1 --delta 0.0001
# What was said of its queries is fixed at its opening, either way.
unsaid() { "$holdfast" release --ledger ward.db --run run --queries "$@"; }
"$holdfast" synth blobs --records 10000 --test 30 --seed 12 --population strangers --out strangers.h5 --quiet > /dev/null
refused "opened as public, and not said now" 2 "opened with --queries-are-public.*give it again, or open another" unsaid strangers.h5 --session june
unsaid strangers.h5 --session may --epsilon 0.1 --delta 0.0001 --quiet > /dev/null 2> err.txt || fail "a session of strangers: $(cat err.txt)"
refused "said of a session that was opened without" 2 "opened without --queries-are-public.*leave it out, or open another" release ward strangers.h5 --session may
refused "the population's own, not said" 2 '--queries: the queries lie in' unsaid two.h5 --session may
unsaid strangers.h5 --session may --json --quiet > unsaid.json || fail "the session of strangers goes on"
says unsaid.json 'not d["cost"]["charged"] and d["cost"]["spent_epsilon"] == 2.1'
run=other refused "another run" 6 'opened with another run' release ward more.h5 --session june
refused "a session that does not fit" 6 'nothing was charged' release ward more.h5 --session july --epsilon 2 --delta 0.0001
refused "a session without delta" 2 'delta' release ward more.h5 --session july --epsilon 0.5
refused "a session by a mechanism" 2 'excludes' release ward more.h5 --session july --mechanism stable_rr

# 2. It ends at its refusals: what follows is not answered, and costs nothing.
account short --budget 3 --budget-delta 0.001
"$holdfast" synth blobs --records 10000 --test 400 --seed 11 --out crowd.h5 --quiet > /dev/null
train narrow 1
run=narrow release short crowd.h5 --session s --epsilon 1 --delta 0.0001 --refusals 2 --json --quiet > ended.json || fail "a session that ends"
says ended.json 'd["session"]["ended"] and d["session"]["refused"] == 2 and d["session"]["unanswered"] == 398 - sum(l is not None for l in d["labels"])'
run=narrow release short two.h5 --session s --quiet > after.txt || fail "after its end"
[ "$(sort -u after.txt)" = unanswered ] || fail "an ended session answers: $(sort -u after.txt)"
run=narrow release short crowd.h5 --epsilon 0.001 --first 2 --quiet > single.txt || fail "answers beside a session: $(cat err.txt)"
grep -qvE '^[01]$' single.txt && fail "a session's refusals bar other answers: $(cat single.txt)"

# 3. A batch: all or none, paid for once.
account batch --budget 3 --budget-delta 0.01
release batch two.h5 --batch --epsilon 1 --delta 0.001 --json --quiet > batch.json || fail "a batch"
says batch.json 'd["labels"].count(None) in (0, 40) and d["cost"]["spent_epsilon"] == 1 and d["cost"]["charged"]'
release batch two.h5 --batch --epsilon 1 --delta 0.001 --json --quiet > again.json || fail "a batch again"
cmp <(grep -o '"labels":\[[^]]*\]' batch.json) <(grep -o '"labels":\[[^]]*\]' again.json) || fail "a batch is drawn twice"
says again.json 'd["cost"]["spent_epsilon"] == 1 and not d["cost"]["charged"]'
run=narrow release batch crowd.h5 --batch --epsilon 1 --delta 0.001 --json --quiet > none.json || fail "a batch that is refused"
says none.json 'd["labels"] == [None] * 400 and d["cost"]["spent_epsilon"] == 2'
refused "a batch without delta" 2 'delta' release batch more.h5 --batch --epsilon 1

# 4. A file for a total: the route follows from public numbers; charged as the total, for any number of queries.
account total --budget 5 --budget-delta 0.01
release total two.h5 --first 3 --total-epsilon 1 --total-delta 0.00001 --json --quiet > few.json || fail "a total for three"
says few.json 'd["cost"]["route"] == "stable_rr" and d["cost"]["spent_epsilon"] == 1 and None not in d["labels"]'
run=wide release total many.h5 --total-epsilon 1 --total-delta 0.00001 --json > many.json 2> log.txt || fail "a total for 300: $(cat log.txt)"
says many.json 'd["cost"]["route"] == "stable_gauss" and d["cost"]["spent_epsilon"] == 2 and d["cost"]["new_answers"] == 300'
says many.json 'd["terms"][0]["together"] and "300 answers" in d["terms"][0]["guarantee"]["statement"]'
grep -q 'holdfast publish' log.txt || fail "it does not say what serves better: $(cat log.txt)"
run=wide release total many.h5 --total-epsilon 1 --total-delta 0.00001 --json --quiet > again.json || fail "the file again"
says again.json 'd["cost"]["spent_epsilon"] == 2 and d["cost"]["remembered_answers"] == 300'
cmp <(grep -o '"labels":\[[^]]*\]' many.json) <(grep -o '"labels":\[[^]]*\]' again.json) || fail "a file is drawn twice"
release total more.h5 --total-epsilon 1 --json --quiet > pure.json || fail "a total without delta"
says pure.json 'd["cost"]["route"] == "stable_rr" and d["cost"]["spent_epsilon"] == 3'
release total crowd.h5 --total-epsilon 1 --total-delta 0.001 --by batch --json --quiet > by.json || fail "a total by a batch"
says by.json 'd["cost"]["route"] == "batch" and d["cost"]["spent_epsilon"] == 4'
release total crowd.h5 --total-epsilon 1 --total-delta 0.001 --by session --session s --json --quiet > by.json || fail "a total by a session"
says by.json 'd["cost"]["route"] == "session" and d["cost"]["spent_epsilon"] == 5'
refused "a total by what is none" 2 '--by' release total two.h5 --total-epsilon 1 --by cauchy
refused "a total by two ways" 2 'give --by batch' release total two.h5 --total-epsilon 1 --batch
refused "a total by two ways" 2 'give --by session' release total two.h5 --total-epsilon 1 --session s
refused "a total beside an amount" 2 'excludes' release total two.h5 --total-epsilon 1 --epsilon 1
refused "no amount" 2 'what may an answer cost' release total two.h5
refused "a session without a name" 2 'has a name' release total crowd.h5 --total-epsilon 1 --total-delta 0.001 --by session

# 5. An account of Gaussian privacy: stable_gauss adds mu^2, a file may take all of it, what has no mu is refused.
refused "Gaussian privacy without delta" 2 'budget-delta' "$holdfast" account --ledger none.db --data two.h5 --budget 1 --composition gdp
account gdp --budget 1 --budget-delta 0.00001 --composition gdp
"$holdfast" account --quiet --ledger gdp.db --population synthetic --json | grep -q '"composition":"gdp"' || fail "account does not say gdp"
refused "ptr" 6 'has no mu' release gdp two.h5 --epsilon 0.01 --delta 0.0000001 --mechanism ptr
refused "a session" 6 'has no mu' release gdp two.h5 --session s --epsilon 0.5 --delta 0.000001
run=wide release gdp many.h5 --first 5 --total-epsilon 1 --total-delta 0.00001 --json --quiet > gdp.json || fail "a total of all there is"
says gdp.json 'd["cost"]["route"] == "stable_gauss" and d["cost"]["spent_epsilon"] <= 1 and d["cost"]["spent_epsilon"] > 0.999'
refused "one more" 6 'no answer at this epsilon fits' release gdp two.h5 --epsilon 0.01 --first 1
account each --budget 1 --budget-delta 0.00001 --composition gdp
run=wide release each many.h5 --epsilon 0.05 --delta 0.0000001 --mechanism stable_gauss --first 60 --json --quiet > each.json || fail "60 answers at .05 in 1"
says each.json 'd["cost"]["charged_answers"] == 60 and d["cost"]["spent_epsilon"] < 1'

# 6. Runs and files are told apart by what is public. Two trainings that came to the same parameters (here all batches
# are beyond their limit) are two runs, or whether they did could be asked for nothing.
still() { "$holdfast" train --quiet --data two.h5 --out $1 --set training.kind=convex --set "network.hidden=[]" --set features.norm_limit=1 --set training.expected_records=400 --set convex.most_records=1 --set training.learning_rate=$2 > /dev/null || fail "$1 does not train"; }
still slow 0.1
still fast 0.2
digest() { grep -o '"digest": "[0-9a-f]*"' "$1/manifest.json" | tail -1; }
[ "$(digest slow)" = "$(digest fast)" ] || fail "what was to come to the same did not"
account same --budget 5 --budget-delta 0.01
run=slow release same two.h5 --session s --epsilon 1 --delta 0.0001 --quiet > /dev/null || fail "a session of one"
run=fast refused "a run that came to the same" 6 'opened with another run' release same two.h5 --session s
run=slow release same more.h5 --batch --epsilon 1 --delta 0.001 --json --quiet > /dev/null || fail "a batch of one"
run=fast release same more.h5 --batch --epsilon 1 --delta 0.001 --json --quiet > other.json || fail "a batch of another"
says other.json 'd["cost"]["charged"] and d["cost"]["spent_epsilon"] == 3'
# A process killed behind its charge for 20 answers; one answer is missing later, which is drawn at all of the total.
account cut --budget 5 --budget-delta 0.01 --composition gdp
total=(--first 20 --total-epsilon 1 --total-delta 0.000001 --by stable_rr --json --quiet)
release cut two.h5 "${total[@]}" > /dev/null || fail "a total of 20"
python3 "$support/chain_anew.py" cut.db "DELETE FROM answers; DELETE FROM charges; DELETE FROM results"
release cut two.h5 "${total[@]}" > cut.json || fail "a total of 20 after a crash"
says cut.json 'not d["cost"]["charged"] and d["cost"]["new_answers"] == 20'
python3 "$support/chain_anew.py" cut.db "DELETE FROM answers; DELETE FROM charges; DELETE FROM results"
release cut two.h5 --first 19 --epsilon 0.01 --quiet > /dev/null || fail "19 answers"
release cut two.h5 "${total[@]}" > cut.json || fail "the one that is left"
says cut.json 'd["cost"]["charged"] and d["cost"]["new_answers"] == 1'

# 7. Two ranks give the same, and the statement tells all of it.
mpirun -n 2 "$holdfast" release --queries-are-public --quiet --ledger ward.db --run run --queries two.h5 --session june > ranks.txt || fail "two ranks"
cmp <(sed -n 1,40p ranks.txt) <(release ward two.h5 --session june --quiet) || fail "two ranks answer otherwise"
account both --budget 3 --budget-delta 0.001
mpirun -n 2 "$holdfast" release --queries-are-public --quiet --ledger both.db --run run --queries two.h5 --session june --epsilon 1 --delta 0.0001 > ranks.txt || fail "two ranks open a session"
[ "$(wc -l < ranks.txt)" = 40 ] || fail "two ranks print $(wc -l < ranks.txt) labels"
for ledger in ward total gdp; do "$holdfast" statement --quiet --ledger $ledger.db > $ledger.txt || fail "the statement of $ledger"; done
grep -q 'mechanism: session' ward.txt && grep -q 'epsilon together: 2' ward.txt || fail "the statement does not tell the session: $(cat ward.txt)"
grep -q 'stable_gauss' total.txt && grep -q 'rule: gdp' gdp.txt || fail "the statement does not tell the route"

((failures == 0)) && echo "many answers for one payment as documented"
