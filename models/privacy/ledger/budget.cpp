#include "models/privacy/ledger/budget.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/composition.hpp"
#include "models/privacy/ledger/accounts.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

/// What one release costs; where the account adds up something else, that: rho at its Renyi order, where the
/// release has a curve, or mu^2 of Gaussian privacy.
struct Cost {
    Rational epsilon, delta;
    std::optional<Rational> rho;
};

/// Where an order stands in every curve.
std::size_t place_of(std::int64_t order) {
    const auto& orders = renyi_orders();
    const auto place = std::lower_bound(orders.begin(), orders.end(), order);
    ensure(place != orders.end() && *place == order, "an account's order is one that curves have");
    return static_cast<std::size_t>(place - orders.begin());
}

Rational mu_squared_of(const Rational& epsilon, const Rational& delta) {
    const Rational mu = delta == 0 ? gaussian_mu_of_pure(epsilon) : gaussian_mu(epsilon, delta);
    return mu * mu;
}

/// Of a payment: nothing where that is a delta alone.
std::optional<Rational> rho_of_gaussian(const std::optional<Rational>& mu_squared, const Rational& epsilon) {
    if (mu_squared) return mu_squared;
    return epsilon > 0 ? std::optional(mu_squared_of(epsilon, 0)) : std::nullopt;
}

Cost cost_of_answer(const Budget& budget, const Rational& epsilon, const Rational& delta) {
    Cost cost{epsilon, delta, std::nullopt};
    if (budget.renyi_order && delta == 0)
        cost.rho = renyi_curve_of_pure(epsilon)[place_of(*budget.renyi_order)];
    // What has a delta is Gaussian here: all else was refused.
    if (budget.gaussian) cost.rho = mu_squared_of(epsilon, delta);
    return cost;
}

Cost cost_of_payment(const Budget& budget, const Payment& payment) {
    Cost cost{payment.epsilon, payment.delta, std::nullopt};
    if (budget.renyi_order && !payment.curve.empty()) cost.rho = payment.curve[place_of(*budget.renyi_order)];
    if (budget.gaussian) cost.rho = rho_of_gaussian(payment.mu_squared, payment.epsilon);
    return cost;
}

/// The sums that the rule of an account composes.
struct Sums {
    Rational epsilon, delta;      ///< of what has no rho
    std::optional<Rational> rho;  ///< of what has one; unset where nothing has
    std::int64_t answers = 0, payments = 0;

    void add(const Cost& cost, std::int64_t count = 1) {
        const Rational times = as_rational(count);
        if (cost.rho && count > 0) {
            rho = rho.value_or(0) + *cost.rho * times;
        } else {
            epsilon += cost.epsilon * times;
            delta += cost.delta * times;
        }
    }
};

constexpr const char* month_of_time = "strftime('%Y-%m', time / 1000, 'unixepoch')";

/// `month`: up to its end; empty: up to now.
Sums sums_of(const LedgerDatabase& database, const StoredAccount& account, const std::string& month = "") {
    const Budget& budget = account.terms.budget;
    const std::string until = month.empty() ? "" : std::string(" AND ") + month_of_time + " <= ?";
    Sums sums;
    Statement answers(database,
                      "SELECT epsilon, delta, count(*) FROM charges WHERE account = ? AND payment IS NULL" +
                          until + " GROUP BY epsilon, delta");
    answers.bind(account.id);
    if (!month.empty()) answers.bind(month);
    while (answers.step()) {
        const Cost cost = cost_of_answer(budget, parse_rational(answers.text(0), "ledger"),
                                         parse_rational(answers.text(1), "ledger"));
        sums.add(cost, answers.integer(2));
        sums.answers += answers.integer(2);
    }
    // Without an order no curve is at it: NULL equals nothing.
    Statement payments(database,
                       "SELECT p.epsilon, p.delta, c.rho, p.mu_squared FROM payments p LEFT JOIN curves c "
                       "ON c.payment = p.id AND c.renyi_order = ? WHERE p.account = ?" +
                           until);
    budget.renyi_order ? payments.bind(*budget.renyi_order) : payments.bind_null();
    payments.bind(account.id);
    if (!month.empty()) payments.bind(month);
    while (payments.step()) {
        Cost cost{parse_rational(payments.text(0), "ledger"), parse_rational(payments.text(1), "ledger"),
                  std::nullopt};
        if (!payments.is_null(2)) cost.rho = parse_rational(payments.text(2), "ledger");
        if (budget.gaussian)
            cost.rho = rho_of_gaussian(payments.is_null(3)
                                           ? std::nullopt
                                           : std::optional(parse_rational(payments.text(3), "ledger")),
                                       cost.epsilon);
        sums.add(cost);
        ++sums.payments;
    }
    return sums;
}

/// The delta at which a Renyi filter reads its rho, a Gaussian one its mu: fixed at opening. One taken from
/// what the other releases happened to leave would let answers decide how a second delta is spent.
Rational delta_of_rho(const Budget& budget) {
    return budget.delta - budget.delta_apart;
}

/// What answers of a fixed epsilon cost: free of delta while the basic sum fits.
void cost_of_fixed(Spending& spending) {
    const Rational& each = *spending.budget.fixed_epsilon;
    spending.epsilon = basic_composition(each, spending.answers);
    if (spending.epsilon <= spending.budget.epsilon || spending.budget.delta == 0) return;
    spending.epsilon = least_composition(each, spending.answers, spending.budget.delta);
    spending.delta = spending.budget.delta;
}

/// All of its delta, once anything is spent; the epsilon that the sum of mu^2 has there.
void cost_of_gaussian(const Rational& mu_squared, Spending& spending) {
    const Rational delta = delta_of_rho(spending.budget);
    spending.delta += delta;
    spending.epsilon = std::min(spending.budget.epsilon, gaussian_epsilon(sqrt_upper(mu_squared), delta));
}

Spending spending_of(const Budget& budget, const Sums& sums) {
    Spending spending{budget, sums.answers, sums.payments, sums.epsilon, sums.delta};
    if (budget.gaussian) {
        if (sums.rho) cost_of_gaussian(*sums.rho, spending);
        return spending;
    }
    if (budget.fixed_epsilon) cost_of_fixed(spending);
    if (sums.rho) spending.epsilon += epsilon_of_renyi(*budget.renyi_order, *sums.rho, delta_of_rho(budget));
    if (budget.renyi_order && (sums.rho || sums.delta > 0)) spending.delta += delta_of_rho(budget);
    return spending;
}

bool fits(const Budget& budget, Sums sums, const Cost& cost, std::int64_t more) {
    sums.add(cost, more);
    sums.answers += more;  // of a payment it makes no difference: fixed_epsilon takes none
    if (budget.gaussian)
        return sums.rho.value_or(0) <= mu_squared_of(budget.epsilon, delta_of_rho(budget)) &&
               sums.delta <= budget.delta_apart;
    const Spending spending = spending_of(budget, sums);
    return spending.epsilon <= budget.epsilon && spending.delta <= budget.delta;
}

/// The most answers at `cost` that fit, given that `too_many` do not: what is spent grows with their number.
std::int64_t most_affordable(const Budget& budget, const Sums& sums, const Cost& cost,
                             std::int64_t too_many) {
    std::int64_t affordable = 0;
    while (too_many - affordable > 1) {
        const std::int64_t middle = affordable + (too_many - affordable) / 2;
        (fits(budget, sums, cost, middle) ? affordable : too_many) = middle;
    }
    return affordable;
}

/// "the budget of this population is …; … is spent on …"
std::string balance(const Spending& spent) {
    const auto amounts = [](const Rational& epsilon, const Rational& delta) {
        return "epsilon " + decimal_text(epsilon) + ", delta " + decimal_text(delta);
    };
    std::string text = "the budget of this population is " +
                       amounts(spent.budget.epsilon, spent.budget.delta) + "; " +
                       decimal_text(spent.epsilon) + " is spent on ";
    if (spent.answers > 0 || spent.payments == 0) text += std::to_string(spent.answers) + " answers";
    if (spent.payments > 0)
        text += (spent.answers > 0 ? " and " : "") + std::to_string(spent.payments) + " payments";
    return text;
}

/// The greatest decimal of a double that is no more than what is left: it does fit.
std::string left_text(const Rational& left) {
    return left > 0 ? decimal_text(Rational(-left)).substr(1) : "0";
}

/// What a payment may still cost.
std::string left_of(const Budget& budget, const Sums& sums, const Cost& cost) {
    if (budget.gaussian && !cost.rho)
        return "of the delta set apart (account --delta-apart) " +
               left_text(budget.delta_apart - sums.delta) + " is left";
    if (!cost.rho) {
        const Spending spent = spending_of(budget, sums);
        return "epsilon " + left_text(budget.epsilon - spent.epsilon) + ", delta " +
               left_text(budget.delta - spent.delta) + " are left";
    }
    if (budget.gaussian)
        return "it adds " + decimal_text(*cost.rho) + " to mu^2, and " +
               left_text(mu_squared_of(budget.epsilon, delta_of_rho(budget)) - sums.rho.value_or(0)) +
               " is left";
    const std::int64_t order = *budget.renyi_order;
    const Rational most = renyi_budget(order, budget.epsilon - sums.epsilon, delta_of_rho(budget));
    return "at the Renyi order " + std::to_string(order) + " it costs " + decimal_text(*cost.rho) + ", and " +
           left_text(most - sums.rho.value_or(0)) + " is left";
}

Error has_no_mu(const std::string& mechanism, const LedgerDatabase& database) {
    return Error(ExitCode::budget,
                 "this population's budget is of Gaussian privacy, and " + mechanism +
                     " has no mu of it: nothing was charged",
                 "use stable_gauss, a mechanism without delta, or a training in which every step takes all "
                 "records",
                 database.path());
}

/// What protects a label says nothing of the rest of its record; nor does what protects a record let its
/// label be drawn once more.
void require_same_kind(const LedgerDatabase& database, const StoredAccount& account,
                       const std::string& mechanism) {
    const bool of_labels = account.terms.relation == label_relation,
               labels_drawn = mechanism == drawn_labels_mechanism;
    if (of_labels == labels_drawn) return;
    throw Error(ExitCode::budget,
                of_labels ? "this population's budget is for its labels alone, and " + mechanism +
                                " shows the rest of a record: nothing was charged"
                          : "labels are drawn for accounts of labels, and this one counts " +
                                account.terms.relation + " neighbours: nothing was charged",
                of_labels ? "what is learnt from drawn labels costs nothing more: holdfast publish; all else "
                            "needs an account in another ledger"
                          : "its owner opens one in another ledger: holdfast account --relation label",
                database.path());
}

}  // namespace

const char* composition_of(const Budget& budget) {
    return budget.fixed_epsilon ? "fixed" : budget.renyi_order ? "renyi" : budget.gaussian ? "gdp" : "basic";
}

void check_amounts(const Rational& epsilon, const Rational& delta) {
    if (epsilon <= 0 || epsilon > 1000000)
        throw Error(ExitCode::usage, "not in (0, 1000000]", "give a number such as 1", "epsilon");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0 or a value such as 1e-6", "delta");
}

Spending spending_of(const LedgerDatabase& database, const StoredAccount& account) {
    return spending_of(account.terms.budget, sums_of(database, account));
}

std::vector<MonthSpending> spending_by_month(const LedgerDatabase& database, const StoredAccount& account) {
    Statement months(database,
                     std::string("SELECT ") + month_of_time +
                         " AS month FROM charges WHERE account = ?1 AND payment IS NULL UNION SELECT " +
                         month_of_time + " FROM payments WHERE account = ?1 ORDER BY month");
    months.bind(account.id);
    std::vector<MonthSpending> spent;
    while (months.step()) {
        const std::string month = months.text(0);
        spent.push_back({month, spending_of(account.terms.budget, sums_of(database, account, month))});
    }
    return spent;
}

void refuse_unless_affordable(const LedgerDatabase& database, const StoredAccount& account,
                              const Charge& charge, std::int64_t more) {
    require_same_kind(database, account, charge.mechanism);
    const Budget& budget = account.terms.budget;
    if (budget.fixed_epsilon && (charge.epsilon != *budget.fixed_epsilon || charge.delta != 0)) {
        throw Error(ExitCode::budget,
                    "this population's budget is for pure answers at epsilon " +
                        decimal_text(*budget.fixed_epsilon) + " each",
                    "ask at that epsilon, by a mechanism without delta", database.path());
    }
    if (budget.gaussian && charge.delta > 0 && !charge.gaussian) throw has_no_mu(charge.mechanism, database);
    const Sums sums = sums_of(database, account);
    const Cost cost = cost_of_answer(budget, charge.epsilon, charge.delta);
    if (fits(budget, sums, cost, more)) return;
    const std::int64_t affordable = most_affordable(budget, sums, cost, more);
    throw Error(ExitCode::budget,
                balance(spending_of(budget, sums)) + "; " + std::to_string(more) +
                    " more answers do not fit: nothing was drawn",
                affordable > 0 ? "at this epsilon " + std::to_string(affordable) + " more do"
                               : "no answer at this epsilon fits any more",
                database.path());
}

void refuse_unless_affordable(const LedgerDatabase& database, const StoredAccount& account,
                              const Payment& payment) {
    require_same_kind(database, account, payment.mechanism);
    const Budget& budget = account.terms.budget;
    if (budget.fixed_epsilon) {
        throw Error(ExitCode::budget,
                    "this population's budget is for answers at epsilon " +
                        decimal_text(*budget.fixed_epsilon) + " each, and for nothing else",
                    "use a population whose account was opened without --fixed", database.path());
    }
    if (budget.gaussian && payment.delta > 0 && payment.epsilon > 0 && !payment.mu_squared)
        throw has_no_mu(payment.mechanism, database);
    const Sums sums = sums_of(database, account);
    const Cost cost = cost_of_payment(budget, payment);
    if (fits(budget, sums, cost, 1)) return;
    throw Error(ExitCode::budget,
                balance(spending_of(budget, sums)) + "; " + payment.mechanism + " at epsilon " +
                    decimal_text(payment.epsilon) + ", delta " + decimal_text(payment.delta) +
                    " does not fit: nothing was charged",
                left_of(budget, sums, cost), database.path());
}

}  // namespace holdfast
