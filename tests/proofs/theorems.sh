#!/usr/bin/env bash
# theorems.sh HOLDFAST: Coq checks every theorem of tests/proofs/*.v, that none rests on more than the axioms of the real
# numbers, and what program_terms prints of the program. What fails is named. Skipped without coqc and its libraries.
set -uo pipefail
source "$(dirname "$0")/../support/script.sh"
coq="coqc -q -w -ambiguous-paths -Q . Holdfast"
echo 'From Flocq Require Core. From Coquelicot Require Coquelicot. From Interval Require Tactic.' > libraries.v
if ! command -v coqc > /dev/null || ! $coq libraries.v 2> /dev/null; then
    echo "SKIPPED: no coqc with Flocq, Coquelicot and Interval (Debian packages coq libcoq-flocq libcoq-interval)"
    exit 77
fi
rm libraries.*
cp "$support"/../proofs/*.v .
names=$(grep -oE '^(Theorem|Example|Fact) \w+' ./*.v | sed -E 's/^\.\/(.*)\.v:\w+ (.*)/\1.\2/')
theorems=(*.v)
"$(dirname "$holdfast")/tests/program_terms" . || fail "no program_terms beside $holdfast: build it"
files=(*.v)

# Each after those that it needs, as many at once as there are cores.
coqdep -Q . Holdfast "${files[@]}" > depends 2> /dev/null
printf 'all: %s\n%%.vo: %%.v\n\t@%s $< > $*.log 2>&1\ninclude depends\n' "${files[*]/%.v/.vo}" "$coq" > Makefile
make --silent --keep-going --jobs "$(nproc)" 2> make.log
for file in "${files[@]}"; do
    [[ -f ${file%.v}.vo ]] && continue
    line=$(sed -nE 's/^File .*, line ([0-9]+), .*/\1/p' "${file%.v}.log" 2> /dev/null | head -1)
    statement=$(head -"${line:-0}" "$file" | grep -oE '^(Theorem|Lemma|Example|Fact|Definition|Fixpoint) \w+' | tail -1)
    fail "tests/proofs/$file, line ${line:-?}: ${statement:-not begun}"
    tail -5 "${file%.v}.log" 2> /dev/null
done
((failures == 0)) || exit 1

# What all of them rest on, together.
{
    for file in "${theorems[@]}"; do echo "From Holdfast Require ${file%.v}."; done
    echo "Definition all := ($(paste -sd, <<< "$names"))."
    echo 'Print Assumptions all.'
} > assumptions.v
$coq assumptions.v > assumptions.log 2>&1 || fail "assumptions: $(tail -5 assumptions.log)"
allowed='ClassicalDedekindReals.sig_forall_dec|ClassicalDedekindReals.sig_not_dec|Classical_Prop.classic|FunctionalExtensionality.functional_extensionality_dep'
axioms=$(grep -oE '^[A-Za-z][A-Za-z_0-9.]*( |$)' assumptions.log | grep -v '^Axioms' | sort -u)
while read -r axiom; do
    [[ $axiom =~ ^($allowed)$ ]] || fail "a theorem rests on $axiom"
done <<< "$axioms"
echo "$(grep -c . <<< "$names") theorems, examples and refuted mutants of ${#theorems[@]} files, on $(wc -l <<< "$axioms") axioms"
exit $((failures > 0))
