#include "models/privacy/ledger/budget.hpp"

#include "kernels/base/error.hpp"
#include "models/privacy/composition.hpp"
#include "models/privacy/ledger/accounts.hpp"

namespace holdfast {
namespace {

/// What `answers` answers cost under a budget of fixed epsilon: free of delta while the basic sum fits.
void cost_of_fixed(Spending& spending) {
    const Rational& each = *spending.budget.fixed_epsilon;
    spending.epsilon = basic_composition(each, spending.answers);
    if (spending.epsilon <= spending.budget.epsilon || spending.budget.delta == 0) return;
    spending.epsilon = least_composition(each, spending.answers, spending.budget.delta);
    spending.delta = spending.budget.delta;
}

bool fits(const Spending& spending) {
    return spending.epsilon <= spending.budget.epsilon && spending.delta <= spending.budget.delta;
}

/// The most answers at `charge` that fit, given that `too_many` do not: the cost grows with their number.
std::int64_t most_affordable(const LedgerDatabase& database, const StoredAccount& account,
                             const Charge& charge, std::int64_t too_many) {
    std::int64_t affordable = 0;
    while (too_many - affordable > 1) {
        const std::int64_t middle = affordable + (too_many - affordable) / 2;
        (fits(spending_after(database, account, charge, middle)) ? affordable : too_many) = middle;
    }
    return affordable;
}

}  // namespace

void check_amounts(const Rational& epsilon, const Rational& delta) {
    if (epsilon <= 0 || epsilon > 1000000)
        throw Error(ExitCode::usage, "not in (0, 1000000]", "give a number such as 1", "epsilon");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0 or a value such as 1e-6", "delta");
}

Spending spending_after(const LedgerDatabase& database, const StoredAccount& account, const Charge& charge,
                        std::int64_t more) {
    Spending spending{account.terms.budget, more, charge.epsilon * Rational(static_cast<long>(more)),
                      charge.delta * Rational(static_cast<long>(more))};
    Statement select(database, "SELECT epsilon, delta, answers FROM spent WHERE account = ?");
    select.bind(account.id);
    while (select.step()) {
        const Rational answers(static_cast<long>(select.integer(2)));
        spending.answers += select.integer(2);
        spending.epsilon += parse_rational(select.text(0), "ledger") * answers;
        spending.delta += parse_rational(select.text(1), "ledger") * answers;
    }
    if (spending.budget.fixed_epsilon) cost_of_fixed(spending);
    return spending;
}

void refuse_unless_affordable(const LedgerDatabase& database, const StoredAccount& account,
                              const Charge& charge, std::int64_t more) {
    const Budget& budget = account.terms.budget;
    if (budget.fixed_epsilon && (charge.epsilon != *budget.fixed_epsilon || charge.delta != 0)) {
        throw Error(ExitCode::budget,
                    "this population's budget is for pure answers at epsilon " +
                        decimal_text(*budget.fixed_epsilon) + " each",
                    "ask at that epsilon, by a mechanism without delta", database.path());
    }
    if (fits(spending_after(database, account, charge, more))) return;
    const std::int64_t affordable = most_affordable(database, account, charge, more);
    const Spending spent = spending_after(database, account, charge, 0);
    throw Error(ExitCode::budget,
                "the budget of this population is epsilon " + decimal_text(budget.epsilon) + ", delta " +
                    decimal_text(budget.delta) + "; " + decimal_text(spent.epsilon) + " is spent on " +
                    std::to_string(spent.answers) + " answers and " + std::to_string(more) +
                    " more do not fit: nothing was drawn",
                affordable > 0 ? "at this epsilon " + std::to_string(affordable) + " more do"
                               : "no answer at this epsilon fits any more",
                database.path());
}

}  // namespace holdfast
