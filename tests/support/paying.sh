# Sourced behind script.sh by tests of what accounts pay for.

# refused CODE WORDS COMMAND…: it ends so, says so, and prints nothing.
refused() {
    local status=0
    "$holdfast" "${@:3}" >out.txt 2>err.txt || status=$?
    [[ $status == "$1" && ! -s out.txt ]] || fail "${*:3}: exit $status, not $1: $(cat out.txt err.txt)"
    grep -q -- "$2" err.txt || fail "${*:3} does not say '$2': $(cat err.txt)"
}
must() { "$holdfast" "$@" --quiet >out.txt 2>err.txt || fail "$*: $(cat err.txt)"; }
json() { python3 -c "import json, sys; o = json.load(open('$1')); print($2)"; }
open_account() { must account --ledger "$1.db" --data "$2" --budget 1 "${@:3}"; } # NAME DATA OPTION…
spent() { "$holdfast" account --ledger "$1.db" --population ward --json --quiet >account.json && json account.json 'o["spent_epsilon"], o["payments"].__len__()'; }
