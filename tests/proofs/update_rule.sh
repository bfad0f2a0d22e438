#!/usr/bin/env bash
# The lemmas of models/training/update_rule.hpp, for all integers, by an SMT solver (update_rule.smt2); skipped without
# one. Every lemma must be `unsat` negated, every hypothesis marked "needed" must be: `sat` without it.
set -euo pipefail
proofs=$(dirname "$0")/update_rule.smt2
if ! command -v z3 >/dev/null; then
    echo "SKIPPED: no z3 (Debian package z3)"
    exit 77
fi
z3 -T:120 "$proofs" | awk '
    /^(sat|unsat)$/ {
        wanted = claim ~ /^needed: / ? "sat" : "unsat"
        if ($0 != wanted) { print "FAILED: " claim ": " $0; failed = 1 }
        ++answers[wanted]
        claim = ""
        next
    }
    { if (claim != "") { print "FAILED: " claim ": " $0; failed = 1 }; claim = $0; print }
    END {
        printf "%d proved, %d hypotheses needed\n", answers["unsat"], answers["sat"]
        exit failed || claim != "" || answers["unsat"] != 15 || answers["sat"] != 10
    }'
