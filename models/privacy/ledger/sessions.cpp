#include "models/privacy/ledger/sessions.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

std::optional<StoredSession> find_session(const LedgerDatabase& database, std::int64_t account,
                                          const std::string& name) {
    Statement select(database,
                     "SELECT s.id, p.dataset, s.run, s.program, s.epsilon_one, s.epsilon_two, s.delta, "
                     "s.width, s.refusals, s.refused, s.threshold, p.parameters FROM sessions s "
                     "JOIN payments p ON p.id = s.id WHERE s.account = ? AND s.name = ?");
    if (!select.bind(account).bind(name).step()) return std::nullopt;
    const SessionTerms terms{parse_rational(select.text(4), "ledger"),
                             parse_rational(select.text(5), "ledger"),
                             parse_rational(select.text(6), "ledger"), select.integer(7), select.integer(8)};
    return StoredSession{
        select.integer(0),
        {select.text(1), select.text(2), select.text(3), select.text(11), terms, select.integer(9)},
        select.integer(10)};
}

StoredSession require_session(const LedgerDatabase& database, std::int64_t account,
                              const std::string& dataset, const SessionOpening& opening,
                              const SessionTerms& terms) {
    const std::optional<StoredSession> session = find_session(database, account, opening.name);
    const auto refuse = [&](const std::string& message) {
        return Error(ExitCode::budget, message, "open another, under a name of its own", database.path());
    };
    if (!session) throw refuse("no session '" + opening.name + "' was opened for these people");
    const auto require = [&](bool same, const std::string& what) {
        if (!same)
            throw refuse("the session '" + opening.name + "' was opened with another " + what +
                         ", and ends with it");
    };
    require(session->state.dataset == dataset, "version of the data");
    require(session->state.run == opening.run, "run");
    require(session->state.program == opening.program, "program");
    // Another process may have opened it meanwhile: it was charged for its own law, and draws by no other.
    if (session->state.terms != terms || session->state.parameters != opening.payment.parameters)
        throw refuse("the session '" + opening.name + "' was opened at other terms meanwhile");
    return *session;
}

void record_session(const LedgerDatabase& database, std::int64_t account, std::int64_t payment,
                    const SessionOpening& opening, const SessionTerms& terms, std::int64_t threshold) {
    Statement insert(database, "INSERT INTO sessions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)");
    insert.bind(payment).bind(account).bind(opening.name).bind(opening.run).bind(opening.program);
    insert.bind(terms.epsilon_one.get_str()).bind(terms.epsilon_two.get_str()).bind(terms.delta.get_str());
    insert.bind(terms.width).bind(terms.refusals).bind(threshold).step();
}

void record_refusals(const LedgerDatabase& database, std::int64_t payment, std::int64_t refused) {
    Statement(database, "UPDATE sessions SET refused = ? WHERE id = ?").bind(refused).bind(payment).step();
}

}  // namespace holdfast
