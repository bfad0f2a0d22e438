#!/usr/bin/env bash
# poisoned_votes.sh HOLDFAST: tools/poisoned_votes prints what evaluate --poisoning counts, for every size of ensemble, with
# members that have boxes and without.
set -uo pipefail
tools=$(realpath "$(dirname "$0")/../../tools")
source "$(dirname "$0")/../support/script.sh"

{ # three classes, one column each
    echo id,a,b,c,y
    for ((i = 0; i < 600; ++i)); do
        noise=$((i * 37 % 50))
        echo "$i,$((i % 3 == 0 ? 90 : noise)),$((i % 3 == 1 ? 90 : noise)),$((i % 3 == 2 ? 90 : noise)),$((i % 3))"
    done
} > table.csv
"$holdfast" import table.csv --label y --id id --scale '*=0:100' --test-fraction 0.2 --expected-records 480 --population table --out table.h5 --quiet > /dev/null || fail "cannot import"
HOLDFAST=$holdfast "$tools/poisoned_votes" table.h5 --members 4,12 > votes.txt 2> err.txt || fail "poisoned_votes: $(cat err.txt)"
[[ $(grep -c '^== table, [412]* members, ' votes.txt) == 4 && $(grep -c '^run_off_boxes ' votes.txt) == 4 ]] || fail "not 4 tables: $(cat votes.txt)"
# Right at 0, 1, … poisoned records: no more at more of them, and certificates take nothing from a count of votes.
awk '$1 == "partition" || $1 == "run_off" { for (i = 2; i <= NF; ++i) { plain[i] = $i; if (i > 2 && $i > $(i - 1)) exit 1 } }
     $1 == "boxes" || $1 == "run_off_boxes" { for (i = 2; i <= NF; ++i) { if ($i < plain[i]) exit 1; more += $i > plain[i] } }
     END { exit more == 0 }' votes.txt || fail "not as votes are: $(cat votes.txt)"
# Of members without boxes a certificate says nothing.
awk '/^== / { none = / no boxes/ } none && ($1 == "partition" || $1 == "boxes") { $1 = ""; rows[n++] = $0 }
     END { exit !(n == 4 && rows[0] == rows[1] && rows[2] == rows[3]) }' votes.txt || fail "certificates without boxes: $(cat votes.txt)"
[[ $(sed -n 's/^nominal .* ensemble //p' votes.txt | sort | head -1) > 0.5 ]] || fail "of three classes they know none: $(cat votes.txt)"
echo damaged > other.h5
HOLDFAST=$holdfast "$tools/poisoned_votes" other.h5 > out.txt 2> err.txt && fail "takes a damaged file"
grep -q 'other.h5' err.txt || fail "does not name the damaged file: $(cat err.txt)"
((failures == 0)) && echo "votes as they should be"
