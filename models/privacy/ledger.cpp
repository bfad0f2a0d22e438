#include "models/privacy/ledger.hpp"

#include <sodium.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <thread>

#include "kernels/base/error.hpp"
#include "models/privacy/composition.hpp"
#include "models/privacy/ledger_database.hpp"

namespace holdfast {
namespace {

std::int64_t now_in_milliseconds() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

void check_amounts(const Rational& epsilon, const Rational& delta) {
    if (epsilon <= 0 || epsilon > 1000000)
        throw Error(ExitCode::usage, "not in (0, 1000000]", "give a number such as 1", "epsilon");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0 or a value such as 1e-6", "delta");
}

std::optional<Budget> read_budget(const LedgerDatabase& database, const std::string& dataset) {
    Statement select(database, "SELECT epsilon, delta, fixed_epsilon FROM budgets WHERE dataset = ?");
    if (!select.bind(dataset).step()) return std::nullopt;
    Budget budget{parse_rational(select.text(0), "ledger"), parse_rational(select.text(1), "ledger"),
                  std::nullopt};
    if (!select.is_null(2)) budget.fixed_epsilon = parse_rational(select.text(2), "ledger");
    return budget;
}

/// What `answers` answers cost under a budget of fixed epsilon: free of delta while the basic sum fits.
void cost_of_fixed(Spending& spending) {
    const Rational& each = *spending.budget.fixed_epsilon;
    spending.epsilon = basic_composition(each, spending.answers);
    if (spending.epsilon <= spending.budget.epsilon || spending.budget.delta == 0) return;
    spending.epsilon = least_composition(each, spending.answers, spending.budget.delta);
    spending.delta = spending.budget.delta;
}

/// The account with `more` further answers at `charge`.
Spending account(const LedgerDatabase& database, const std::string& dataset, const Budget& budget,
                 const Charge& charge, std::int64_t more) {
    Spending spending{budget, more, charge.epsilon * Rational(static_cast<long>(more)),
                      charge.delta * Rational(static_cast<long>(more))};
    Statement select(database, "SELECT epsilon, delta, answers FROM spent WHERE dataset = ?");
    select.bind(dataset);
    while (select.step()) {
        const Rational answers(static_cast<long>(select.integer(2)));
        spending.answers += select.integer(2);
        spending.epsilon += parse_rational(select.text(0), "ledger") * answers;
        spending.delta += parse_rational(select.text(1), "ledger") * answers;
    }
    if (budget.fixed_epsilon) cost_of_fixed(spending);
    return spending;
}

bool fits(const Spending& spending) {
    return spending.epsilon <= spending.budget.epsilon && spending.delta <= spending.budget.delta;
}

/// Rounded up, shortest form: 1e-06, 0.1.
std::string decimal(const Rational& value) {
    char text[64];
    const auto [end, status] = std::to_chars(text, text + sizeof text, round_up(value));
    ensure(status == std::errc(), "a double prints in 64 characters");
    return std::string(text, end);
}

void refuse_unless_affordable(const LedgerDatabase& database, const std::string& dataset,
                              const Budget& budget, const Charge& charge, std::int64_t more) {
    if (budget.fixed_epsilon && (charge.epsilon != *budget.fixed_epsilon || charge.delta != 0)) {
        throw Error(ExitCode::budget,
                    "this dataset's budget is for pure answers at epsilon " + decimal(*budget.fixed_epsilon) +
                        " each",
                    "ask at that epsilon, by a mechanism without delta", database.path());
    }
    if (fits(account(database, dataset, budget, charge, more))) return;
    std::int64_t affordable = 0, too_many = more;  // cost grows with the number of answers
    while (too_many - affordable > 1) {
        const std::int64_t middle = affordable + (too_many - affordable) / 2;
        (fits(account(database, dataset, budget, charge, middle)) ? affordable : too_many) = middle;
    }
    const Spending spent = account(database, dataset, budget, charge, 0);
    throw Error(ExitCode::budget,
                "the budget of this dataset is epsilon " + decimal(budget.epsilon) + ", delta " +
                    decimal(budget.delta) + "; " + decimal(spent.epsilon) + " is spent on " +
                    std::to_string(spent.answers) + " answers and " + std::to_string(more) +
                    " more do not fit: nothing was drawn",
                affordable > 0 ? "at this epsilon " + std::to_string(affordable) + " more do"
                               : "no answer at this epsilon fits any more",
                database.path());
}

void record_charge(const LedgerDatabase& database, const std::string& dataset, const Charge& charge,
                   const Digest& query, const Claim& claim, std::int64_t now) {
    const std::string epsilon = charge.epsilon.get_str(), delta = charge.delta.get_str();
    Statement spent(database,
                    "INSERT INTO spent VALUES(?, ?, ?, 1) ON CONFLICT DO UPDATE SET answers = answers + 1");
    spent.bind(dataset).bind(epsilon).bind(delta).step();
    Statement entry(
        database,
        "INSERT INTO charges(dataset, query, epsilon, delta, mechanism, time) VALUES(?, ?, ?, ?, ?, ?)");
    entry.bind(dataset).bind(query).bind(epsilon).bind(delta).bind(charge.mechanism).bind(now).step();
    Statement answer(database, "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, NULL)");
    answer.bind(dataset).bind(query).bind(claim.token).bind(now).step();
}

}  // namespace

Ledger::Ledger(const std::string& path, int patience) : patience_(patience) {
    start_sodium();
    database_ = std::make_unique<LedgerDatabase>(path, patience);
}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

void Ledger::set_budget(const std::string& dataset, const Budget& budget) {
    check_amounts(budget.epsilon, budget.delta);
    if (budget.fixed_epsilon) check_amounts(*budget.fixed_epsilon, 0);
    Transaction transaction(*database_);
    if (const std::optional<Budget> earlier = read_budget(*database_, dataset)) {
        if (earlier->epsilon == budget.epsilon && earlier->delta == budget.delta &&
            earlier->fixed_epsilon == budget.fixed_epsilon)
            return;
        throw Error(ExitCode::budget,
                    "this dataset's budget was set to epsilon " + decimal(earlier->epsilon) + ", delta " +
                        decimal(earlier->delta) +
                        (earlier->fixed_epsilon ? ", " + decimal(*earlier->fixed_epsilon) + " an answer"
                                                : std::string()) +
                        " and stays so",
                    "leave the budget out, or give the same", database_->path());
    }
    Statement insert(*database_, "INSERT INTO budgets VALUES(?, ?, ?, ?)");
    insert.bind(dataset).bind(budget.epsilon.get_str()).bind(budget.delta.get_str());
    if (budget.fixed_epsilon) insert.bind(budget.fixed_epsilon->get_str());
    insert.step();
    transaction.commit();
}

std::optional<Spending> Ledger::spending(const std::string& dataset) const {
    const std::optional<Budget> budget = read_budget(*database_, dataset);
    if (!budget) return std::nullopt;
    return account(*database_, dataset, *budget, Charge{0, 0, ""}, 0);
}

Ledger::Charged Ledger::charge(const std::string& dataset, const Charge& charge,
                               std::span<const Digest> queries) {
    check_amounts(charge.epsilon, charge.delta);
    Charged result;
    result.known.resize(queries.size());
    Transaction transaction(*database_);
    const std::optional<Budget> budget = read_budget(*database_, dataset);
    if (!budget) {
        throw Error(ExitCode::budget, "no budget was set for this dataset: nothing was drawn",
                    "give its total epsilon and delta first", database_->path());
    }
    const std::int64_t now = now_in_milliseconds();
    std::map<Digest, std::size_t> seen;
    Statement select(*database_, "SELECT label, claimed FROM answers WHERE dataset = ? AND query = ?");
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool first = seen.emplace(queries[i], i).second;
        select.bind(dataset).bind(queries[i]);
        const bool present = select.step();
        const bool answered = present && !select.is_null(0);
        // A claim from the future is a clock set back: waiting for it could last for ever.
        const std::int64_t age = present ? now - select.integer(1) : 0;
        const bool awaited = present && !answered && age >= 0 && age < patience_;
        if (answered) result.known[i] = LedgerAnswer{static_cast<int>(select.integer(0)), true};
        if (!answered && !awaited && first) result.claims.push_back({i, {}});
        select.reset();
    }
    if (result.claims.empty()) return result;
    refuse_unless_affordable(*database_, dataset, *budget, charge,
                             static_cast<std::int64_t>(result.claims.size()));
    for (Claim& claim : result.claims) {
        randombytes_buf(claim.token.data(), claim.token.size());
        record_charge(*database_, dataset, charge, queries[claim.query], claim, now);
    }
    transaction.commit();
    return result;
}

void Ledger::store(const std::string& dataset, std::span<const Digest> queries, std::span<const Claim> claims,
                   std::span<const int> labels) {
    ensure(claims.size() == labels.size(), "one label a claim");
    if (claims.empty()) return;
    Transaction transaction(*database_);
    Statement update(
        *database_,
        "UPDATE answers SET label = ? WHERE dataset = ? AND query = ? AND token = ? AND label IS NULL");
    for (std::size_t c = 0; c < claims.size(); ++c) {
        update.bind(std::int64_t{labels[c]})
            .bind(dataset)
            .bind(queries[claims[c].query])
            .bind(claims[c].token);
        update.step();
        update.reset();
    }
    transaction.commit();
}

std::vector<LedgerAnswer> Ledger::answer(const std::string& dataset, const Charge& charge,
                                         std::span<const Digest> queries,
                                         const std::function<int(std::size_t)>& draw) {
    std::vector<bool> paid(queries.size(), false);
    for (;;) {
        const Charged charged = this->charge(dataset, charge, queries);
        std::vector<int> labels;
        for (const Claim& claim : charged.claims) {
            labels.push_back(draw(claim.query));
            paid[claim.query] = true;
        }
        store(dataset, queries, charged.claims, labels);
        const auto missing = [](const std::optional<LedgerAnswer>& answer) { return !answer.has_value(); };
        if (charged.claims.empty() && std::none_of(charged.known.begin(), charged.known.end(), missing)) {
            std::vector<LedgerAnswer> answers;
            for (std::size_t i = 0; i < queries.size(); ++i)
                answers.push_back({charged.known[i]->label, !paid[i]});
            return answers;
        }
        if (charged.claims.empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // another process is drawing
    }
}

}  // namespace holdfast
