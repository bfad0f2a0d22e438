#include "models/privacy/ledger/ledger.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/accounts.hpp"
#include "models/privacy/ledger/budget.hpp"
#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/layout.hpp"

namespace holdfast {
namespace {

std::int64_t now_in_milliseconds() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

/// Equal texts are kept once.
std::int64_t id_of_guarantee(const LedgerDatabase& database, const std::string& text) {
    Statement(database, "INSERT INTO guarantees(text) VALUES(?) ON CONFLICT DO NOTHING").bind(text).step();
    Statement select(database, "SELECT id FROM guarantees WHERE text = ?");
    select.bind(text).step();
    return select.integer(0);
}

/// Charges a query and reserves its draw; the charge's row.
std::int64_t record_charge(const LedgerDatabase& database, std::int64_t account, const std::string& dataset,
                           const Charge& charge, std::int64_t guarantee, const Digest& query,
                           std::int64_t now) {
    const std::string epsilon = charge.epsilon.get_str(), delta = charge.delta.get_str();
    Statement(database,
              "INSERT INTO spent VALUES(?, ?, ?, 1) ON CONFLICT DO UPDATE SET answers = answers + 1")
        .bind(account)
        .bind(epsilon)
        .bind(delta)
        .step();
    Statement entry(
        database,
        "INSERT INTO charges(account, dataset, query, epsilon, delta, mechanism, guarantee, time) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    entry.bind(account)
        .bind(dataset)
        .bind(query)
        .bind(epsilon)
        .bind(delta)
        .bind(charge.mechanism)
        .bind(guarantee)
        .bind(now);
    entry.step();
    const std::int64_t row = entry.integer(0);
    Statement(database, "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, NULL)")
        .bind(account)
        .bind(dataset)
        .bind(query)
        .bind(row)
        .step();
    return row;
}

/// What the ledger holds on a query: nothing, a reservation, or an answer.
struct Known {
    std::optional<LedgerAnswer> answer;
    std::optional<std::int64_t> reserved;  ///< when, if so; in milliseconds
};

/// `select`: made by select_known, used for query after query.
Known known_of(Statement& select, std::int64_t account, const std::string& dataset, const Digest& query) {
    Known known;
    if (select.bind(account).bind(dataset).bind(query).step()) {
        if (select.is_null(0)) {
            known.reserved = select.integer(1);
        } else {
            known.answer = LedgerAnswer{static_cast<int>(select.integer(0)),
                                        true,
                                        parse_rational(select.text(2), "ledger"),
                                        parse_rational(select.text(3), "ledger"),
                                        select.text(4),
                                        select.text(5)};
        }
    }
    select.reset();
    return known;
}

constexpr const char* select_known =
    "SELECT a.label, c.time, c.epsilon, c.delta, c.mechanism, g.text FROM answers a "
    "JOIN charges c ON c.id = a.charge JOIN guarantees g ON g.id = c.guarantee "
    "WHERE a.account = ? AND a.dataset = ? AND a.query = ?";

}  // namespace

Ledger::Ledger(const std::string& path, int patience) : patience_(patience) {
    start_sodium();
    database_ = std::make_unique<LedgerDatabase>(path, patience);
    create_or_migrate_layout(*database_);
}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

void Ledger::open_account(const std::string& population, const Account& terms) {
    Transaction transaction(*database_);
    record_account(*database_, population, terms);
    transaction.commit();
}

void Ledger::add_version(const std::string& population, const std::string& dataset,
                         std::span<const std::uint64_t> ids, const std::optional<Account>& opening) {
    Transaction transaction(*database_);
    record_version(*database_, population, dataset, ids, opening);
    transaction.commit();
}

std::optional<std::string> Ledger::population_of(const std::string& dataset) const {
    return find_population(*database_, dataset);
}

std::optional<Account> Ledger::account(const std::string& population) const {
    const std::optional<StoredAccount> account = find_account(*database_, population);
    if (!account) return std::nullopt;
    return account->terms;
}

std::optional<Spending> Ledger::spending(const std::string& population) const {
    const std::optional<StoredAccount> account = find_account(*database_, population);
    if (!account) return std::nullopt;
    return spending_after(*database_, *account, {}, 0);
}

std::vector<DatasetVersion> Ledger::versions(const std::string& population) const {
    return find_versions(*database_, population);
}

Ledger::Charged Ledger::charge(const std::string& dataset, const Charge& charge,
                               std::span<const Digest> queries) {
    check_amounts(charge.epsilon, charge.delta);
    Charged result;
    result.known.resize(queries.size());
    Transaction transaction(*database_);
    const StoredAccount account = require_account_of(*database_, dataset);
    const std::int64_t now = now_in_milliseconds();
    std::map<Digest, std::size_t> seen;
    Statement select(*database_, select_known);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool first = seen.emplace(queries[i], i).second;
        Known known = known_of(select, account.id, dataset, queries[i]);
        // A reservation from the future is a clock set back: waiting for it could last for ever.
        const std::int64_t age = known.reserved ? now - *known.reserved : 0;
        const bool awaited = known.reserved && age >= 0 && age < patience_;
        if (!known.answer && !awaited && first) result.reserved.push_back({i, 0});
        result.known[i] = std::move(known.answer);
    }
    if (result.reserved.empty()) return result;
    refuse_unless_affordable(*database_, account, charge, static_cast<std::int64_t>(result.reserved.size()));
    const std::int64_t guarantee = id_of_guarantee(*database_, charge.guarantee);
    for (Reservation& one : result.reserved)
        one.charge =
            record_charge(*database_, account.id, dataset, charge, guarantee, queries[one.query], now);
    transaction.commit();
    return result;
}

void Ledger::store(std::span<const Reservation> reserved, std::span<const int> labels) {
    ensure(reserved.size() == labels.size(), "one label a reservation");
    Transaction transaction(*database_);
    Statement update(
        *database_,
        "UPDATE answers SET label = ?1, charge = ?2 WHERE label IS NULL AND (account, dataset, query) "
        "= (SELECT account, dataset, query FROM charges WHERE id = ?2)");
    for (std::size_t i = 0; i < reserved.size(); ++i) {
        update.bind(std::int64_t{labels[i]}).bind(reserved[i].charge);
        update.step();
        update.reset();
    }
    transaction.commit();
}

std::vector<LedgerAnswer> Ledger::answer(const std::string& dataset, const Charge& charge,
                                         std::span<const Digest> queries, const Draw& draw) {
    std::vector<bool> paid(queries.size(), false);
    for (;;) {
        Charged charged = this->charge(dataset, charge, queries);
        std::vector<std::size_t> drawn;
        for (const Reservation& one : charged.reserved) {
            drawn.push_back(one.query);
            paid[one.query] = true;
        }
        if (!drawn.empty()) store(charged.reserved, draw(drawn));
        const auto missing = [](const std::optional<LedgerAnswer>& answer) { return !answer.has_value(); };
        if (drawn.empty() && std::none_of(charged.known.begin(), charged.known.end(), missing)) {
            std::vector<LedgerAnswer> answers;
            for (std::size_t i = 0; i < queries.size(); ++i) {
                answers.push_back(std::move(*charged.known[i]));
                answers.back().remembered = !paid[i];
            }
            return answers;
        }
        if (drawn.empty())
            std::this_thread::sleep_for(std::chrono::milliseconds(20));  // another process is drawing
    }
}

}  // namespace holdfast
