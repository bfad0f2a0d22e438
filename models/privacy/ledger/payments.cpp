#include "models/privacy/ledger/payments.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/ledger/budget.hpp"

namespace holdfast {
namespace {

std::vector<Publication> find_publications(const LedgerDatabase& database, std::int64_t payment) {
    Statement select(database, "SELECT model, time FROM publications WHERE payment = ? ORDER BY time, model");
    select.bind(payment);
    std::vector<Publication> publications;
    while (select.step()) publications.push_back({select.text(0), select.integer(1)});
    return publications;
}

}  // namespace

void check_payment(const Payment& payment) {
    if (payment.token.empty())
        throw Error(ExitCode::usage, "a payment without a token", "name what it buys", "token");
    // What costs no epsilon has a delta: (0, delta)-private is a total variation of delta.
    if (payment.epsilon != 0 || payment.delta == 0) check_amounts(payment.epsilon, payment.delta);
    check_amounts(1, payment.delta);
    ensure(payment.curve.empty() || payment.curve.size() == renyi_orders().size(), "a curve has every order");
    for (const Rational& rho : payment.curve) ensure(rho >= 0, "a Renyi divergence is not negative");
    ensure(payment.mu_squared.value_or(0) >= 0, "mu^2 is not negative");
}

std::optional<std::int64_t> find_payment(const LedgerDatabase& database, const std::string& dataset,
                                         const std::string& token) {
    Statement select(database, "SELECT id FROM payments WHERE dataset = ? AND token = ?");
    if (!select.bind(dataset).bind(token).step()) return std::nullopt;
    return select.integer(0);
}

std::int64_t require_payment(const LedgerDatabase& database, const std::string& dataset,
                             const std::string& token) {
    if (const std::optional<std::int64_t> payment = find_payment(database, dataset, token)) return *payment;
    throw Error(ExitCode::budget, "the model was not paid for in this ledger",
                "name the ledger that its training was charged to", database.path());
}

std::int64_t record_payment(const LedgerDatabase& database, const ChargeOrigin& origin,
                            const Payment& payment) {
    Statement entry(database,
                    "INSERT INTO payments(account, dataset, token, epsilon, delta, mechanism, parameters, "
                    "guarantee, time, mu_squared) "
                    "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    entry.bind(origin.account).bind(origin.dataset).bind(payment.token);
    entry.bind(payment.epsilon.get_str()).bind(payment.delta.get_str());
    entry.bind(payment.mechanism).bind(payment.parameters).bind(origin.guarantee).bind(origin.now);
    payment.mu_squared ? entry.bind(payment.mu_squared->get_str()) : entry.bind_null();
    entry.step();
    const std::int64_t row = entry.integer(0);
    Statement point(database, "INSERT INTO curves(payment, renyi_order, rho) VALUES(?, ?, ?)");
    for (std::size_t i = 0; i < payment.curve.size(); ++i) {
        point.bind(row).bind(renyi_orders()[i]).bind(payment.curve[i].get_str()).step();
        point.reset();
    }
    return row;
}

std::string find_result(const LedgerDatabase& database, std::int64_t payment) {
    Statement select(database, "SELECT digest FROM results WHERE id = ?");
    return select.bind(payment).step() ? select.text(0) : "";
}

void record_bought(const LedgerDatabase& database, std::int64_t payment, const std::string& digest) {
    Statement(database, "INSERT INTO results(id, digest) VALUES(?, ?)").bind(payment).bind(digest).step();
}

void record_model(const LedgerDatabase& database, std::int64_t payment, const Publication& publication) {
    Statement(database,
              "INSERT INTO publications(payment, model, time) VALUES(?, ?, ?) ON CONFLICT DO NOTHING")
        .bind(payment)
        .bind(publication.model_digest)
        .bind(publication.time)
        .step();
}

std::vector<LedgerPayment> find_payments(const LedgerDatabase& database, std::int64_t account) {
    Statement select(
        database,
        "SELECT p.id, p.dataset, p.token, p.epsilon, p.delta, p.mechanism, p.parameters, g.text, "
        "p.time FROM payments p JOIN guarantees g ON g.id = p.guarantee WHERE p.account = ? "
        "ORDER BY p.id");
    select.bind(account);
    std::vector<LedgerPayment> payments;
    while (select.step())
        payments.push_back({select.text(1), select.text(2), parse_rational(select.text(3), "ledger"),
                            parse_rational(select.text(4), "ledger"), select.text(5), select.text(6),
                            select.text(7), select.integer(8), find_result(database, select.integer(0)),
                            find_publications(database, select.integer(0))});
    return payments;
}

}  // namespace holdfast
