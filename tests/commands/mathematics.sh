#!/usr/bin/env bash
# models/mathematics.md and models/privacy/mathematics.md stay true of the tree: every lemma and theorem names its code
# and its tests; every file named there exists; every test and every theorem of Coq named after a file is in it, and there
# is no theorem in tests/proofs that is not named there, nor one without an example and a mutant; every name that a
# comment cites ("models/mathematics.md, NAME") is a heading of that document.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
documents=(models/mathematics.md models/privacy/mathematics.md)
failures=0 files=0 tests=0 theorems=0 cited=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# "HEADING<tab>Code, Test or Coq:<tab>WORD" for every `WORD` of those items; "HEADING<tab>heading<tab>" for every heading.
references=$(awk '
    /^#/ { item = ""; heading = $0; gsub(/^#+ ([0-9]+\. )?/, "", heading); print heading "\theading\t"; next }
    /^\* (Code|Test|Coq): / { item = substr($2, 1, 4) }
    /^$/ { item = "" }
    item != "" {
        count = split($0, words, "`")
        for (i = 2; i <= count; i += 2) print heading "\t" item "\t" words[i]
    }' "${documents[@]}")

file=
while IFS=$'\t' read -r heading item word; do
    case $item in
        heading) file= ;;
        *)
            if [[ $word == */* ]]; then
                file=$word files=$((files + 1))
                [ -f "$file" ] || fail "$heading: no file $file"
            elif [[ $item == Coq: ]]; then
                theorems=$((theorems + 1))
                grep -qE "^Theorem $word\b" "$file" || fail "$heading: no theorem $word in $file"
            else
                tests=$((tests + 1))
                grep -qE "^(TYPED_)?TEST(_[FP])?\(${word%.*}, ${word#*.}\)" "$file" || fail "$heading: no test $word in $file"
            fi
            ;;
    esac
done <<< "$references"

while read -r heading; do
    for item in Code Test; do
        grep -qF "$heading"$'\t'"$item"$'\t' <<< "$references" || fail "$heading: no $item"
    done
done < <(grep -hE '^### (Lemma|Theorem|Assumption)' "${documents[@]}" | cut -c5-)

while IFS=' :' read -r file _ theorem; do
    grep -qxF "$theorem" <<< "$(cut -f3 <<< "$references")" || fail "$file: $theorem is the theorem of no heading"
    grep -qE "^Example ${theorem}_example\b" "$file" || fail "$file: $theorem has no example that satisfies its hypotheses"
    grep -qE "^Fact ${theorem}_mutant\b" "$file" || fail "$file: $theorem has no mutant that is refuted"
done < <(grep -oE '^Theorem \w+' tests/proofs/*.v)

# The tables of tests/proofs/README.md have lemmas alone, and that of Coq's files those that name a theorem.
names_in() { cut -d'|' -f3 | sed 's/; /\n/g' | sed 's/^ //; s/ $//; s/ ([^)]*)$//' | grep -vx 'what they share' | sort -u; }
lemmas=$(grep -hE '^### (Lemma|Theorem|Assumption)' "${documents[@]}" | sed 's/^[^:]*: //' | sort -u)
proved=$(grep -P '\tCoq:\t' <<< "$references" | cut -f1 | sed 's/^[^:]*: //' | sort -u)
[[ $(grep -E '^\| `.*\.v`' tests/proofs/README.md | names_in) == "$proved" ]] || fail "the table of Coq's files is not what names a theorem of Coq"
unknown=$(grep -E '^\| (exhaustion|SMT|literature):' tests/proofs/README.md | names_in | comm -13 <(echo "$lemmas") -)
[[ -z $unknown ]] || fail "tests/proofs/README.md names what is no lemma: $unknown"

# A heading is cited without its kind: "core and radius" for "Theorem: core and radius"; by the document that has it.
names_of() { grep -hE '^#' "$@" | sed -E 's/^#+ ([0-9]+\. )?((Definition|Lemma|Theorem|Assumption|Remark): )?//' | tr '[:upper:]' '[:lower:]'; }
for document in "${documents[@]}"; do
    names=$(names_of "$document")
    while IFS=$'\t' read -r place name; do
        cited=$((cited + 1))
        grep -qxF "$name" <<< "$names" || fail "$place cites '$name', which is no heading of $document"
    done < <(grep -rlF "$document" --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' \
        kernels dist models jobs tests tools |
        document=$document xargs perl -0777 -ne 's{\s*\n\s*//+<?\s*}{ }g;
            print "$ARGV\t", lc($1), "\n" while m{\Q$ENV{document}\E, ([^).;:"\n]+)}g')
done

bare=$(grep -rnE '(^|[^/a-z_])mathematics\.md' --include='*.hpp' --include='*.cpp' --include='*.cu' --include='*.cuh' \
    kernels dist models jobs tests tools)
[ -z "$bare" ] || fail "which document, models/mathematics.md or models/privacy/mathematics.md: $bare"
names=$(names_of "${documents[@]}")
[ -z "$(sort <<< "$names" | uniq -d)" ] || fail "two headings of one name: $(sort <<< "$names" | uniq -d)"
((files > 100 && tests > 100 && theorems > 30 && cited > 20)) ||
    fail "only $files files, $tests tests, $theorems theorems and $cited citations were found"
echo "$files files, $tests tests, $theorems theorems, $cited citations"
exit $((failures > 0))
