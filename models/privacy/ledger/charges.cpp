#include "models/privacy/ledger/charges.hpp"

#include "models/privacy/mechanisms/outcome_law.hpp"

namespace holdfast {
namespace {

// Replaces what is there in its own row, so that the chain follows it.
constexpr const char* record_answer =
    "INSERT INTO answers(account, dataset, query, charge, label) VALUES(?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET charge = excluded.charge, label = excluded.label";

}  // namespace

KnownAnswers::KnownAnswers(const LedgerDatabase& database, std::int64_t account, const std::string& dataset,
                           std::optional<std::int64_t> payment)
    : account_(account),
      dataset_(dataset),
      payment_(payment),
      select_(database,
              "SELECT a.label, c.time, coalesce(p.epsilon, c.epsilon), coalesce(p.delta, c.delta), "
              "c.mechanism, g.text, c.payment, c.id FROM answers a "
              "JOIN charges c ON c.id = a.charge JOIN guarantees g ON g.id = c.guarantee "
              "LEFT JOIN payments p ON p.id = c.payment "
              "WHERE a.account = ? AND a.dataset = ? AND a.query = ?") {}

Known KnownAnswers::of(const Digest& query, const Charge* terms) {
    Known known;
    if (select_.bind(account_).bind(dataset_).bind(query).step()) {
        if (select_.is_null(0)) {
            known.reserved = select_.integer(1);
            known.charge = select_.integer(7);
            known.same_terms = terms != nullptr && select_.is_null(6) &&
                               parse_rational(select_.text(2), "ledger") == terms->epsilon &&
                               parse_rational(select_.text(3), "ledger") == terms->delta &&
                               select_.text(4) == terms->mechanism && select_.text(5) == terms->guarantee;
        } else if (select_.integer(0) != refused || select_.is_null(6) || payment_ == select_.integer(6)) {
            known.answer = LedgerAnswer{static_cast<int>(select_.integer(0)),
                                        true,
                                        parse_rational(select_.text(2), "ledger"),
                                        parse_rational(select_.text(3), "ledger"),
                                        select_.text(4),
                                        select_.text(5),
                                        !select_.is_null(6)};
        }
    }
    select_.reset();
    return known;
}

std::vector<LedgerTerms> find_terms(const LedgerDatabase& database, std::int64_t account) {
    Statement select(database,
                     "SELECT coalesce(p.epsilon, c.epsilon), coalesce(p.delta, c.delta), c.mechanism, "
                     "g.text, count(*), min(c.time), max(c.time), c.payment FROM charges c "
                     "JOIN guarantees g ON g.id = c.guarantee LEFT JOIN payments p ON p.id = c.payment "
                     "WHERE c.account = ? "
                     "GROUP BY c.epsilon, c.delta, c.mechanism, c.guarantee, c.payment ORDER BY min(c.id)");
    select.bind(account);
    std::vector<LedgerTerms> terms;
    while (select.step())
        terms.push_back({parse_rational(select.text(0), "ledger"), parse_rational(select.text(1), "ledger"),
                         select.text(2), select.text(3), select.integer(4), select.integer(5),
                         select.integer(6), !select.is_null(7)});
    return terms;
}

std::int64_t id_of_guarantee(const LedgerDatabase& database, const std::string& text) {
    Statement(database, "INSERT INTO guarantees(text) VALUES(?) ON CONFLICT DO NOTHING").bind(text).step();
    Statement select(database, "SELECT id FROM guarantees WHERE text = ?");
    select.bind(text).step();
    return select.integer(0);
}

std::vector<std::int64_t> record_charges(const LedgerDatabase& database, const ChargeOrigin& origin,
                                         const Charge& charge, std::span<const Digest> queries) {
    const std::string epsilon = charge.epsilon.get_str(), delta = charge.delta.get_str();
    Statement entry(
        database,
        "INSERT INTO charges(account, dataset, query, epsilon, delta, mechanism, guarantee, time) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    Statement reserve(database, record_answer);
    std::vector<std::int64_t> rows;
    for (const Digest& query : queries) {
        entry.bind(origin.account).bind(origin.dataset).bind(query).bind(epsilon).bind(delta);
        entry.bind(charge.mechanism).bind(origin.guarantee).bind(origin.now).step();
        entry.reset();
        rows.push_back(database.last_row());
        reserve.bind(origin.account).bind(origin.dataset).bind(query).bind(rows.back());
        reserve.bind_null().step();
        reserve.reset();
    }
    return rows;
}

// What a payment for other answers too has refused meanwhile is no answer to who was charged for this one.
std::vector<bool> record_labels(const LedgerDatabase& database, std::span<const std::int64_t> charges,
                                std::span<const int> labels) {
    Statement update(
        database,
        "UPDATE answers SET label = ?1, charge = ?2 WHERE (label IS NULL OR (label = ?3 AND "
        "(SELECT payment FROM charges WHERE id = answers.charge) IS NOT NULL)) AND "
        "(account, dataset, query) = (SELECT account, dataset, query FROM charges WHERE id = ?2)");
    std::vector<bool> stored;
    for (std::size_t i = 0; i < charges.size(); ++i) {
        update.bind(std::int64_t{labels[i]}).bind(charges[i]).bind(std::int64_t{refused}).step();
        update.reset();
        stored.push_back(database.changed_rows() > 0);
    }
    return stored;
}

void record_covered_answer(const LedgerDatabase& database, const ChargeOrigin& origin, std::int64_t payment,
                           const std::string& mechanism, const Digest& query, int label) {
    Statement entry(
        database,
        "INSERT INTO charges(account, dataset, query, epsilon, delta, mechanism, guarantee, time, payment) "
        "VALUES(?, ?, ?, '0', '0', ?, ?, ?, ?) RETURNING id");
    entry.bind(origin.account).bind(origin.dataset).bind(query).bind(mechanism);
    entry.bind(origin.guarantee).bind(origin.now).bind(payment);
    entry.step();
    Statement(database, record_answer)
        .bind(origin.account)
        .bind(origin.dataset)
        .bind(query)
        .bind(entry.integer(0))
        .bind(std::int64_t{label})
        .step();
}

}  // namespace holdfast
