#include "models/privacy/ledger/ledger.hpp"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "kernels/base/error.hpp"
#include "models/privacy/ledger/accounts.hpp"
#include "models/privacy/ledger/budget.hpp"
#include "models/privacy/ledger/charges.hpp"
#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/layout.hpp"
#include "models/privacy/ledger/payments.hpp"
#include "models/privacy/ledger/public_files.hpp"
#include "models/privacy/ledger/sessions.hpp"
#include "models/privacy/mechanisms/outcome_law.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {
namespace {

std::int64_t now_in_milliseconds() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

Ledger::Ledger(const std::string& path, int patience) : patience_(patience) {
    start_sodium();
    leave_no_core_file();
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) make_ledger_file(path);
    database_ = std::make_unique<LedgerDatabase>(path, patience);
    migrate_layout(*database_);
    verify_ledger(*database_);
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
                         std::span<const std::uint64_t> ids, const std::optional<Account>& opening,
                         const RecordMarks& marks) {
    Transaction transaction(*database_);
    record_version(*database_, population, dataset, ids, opening, marks);
    transaction.commit();
}

KnownRecords Ledger::known_records(std::span<const std::uint64_t> ids, const RecordMarks& marks) const {
    return find_known_records(*database_, ids, marks);
}

KnownRecords Ledger::record_public(const std::string& digest, std::span<const std::uint64_t> ids,
                                   const RecordMarks& marks) {
    Transaction transaction(*database_);
    KnownRecords known = note_public_file(*database_, digest, ids, marks);
    transaction.commit();
    return known;
}

bool Ledger::public_checked(const std::string& digest) const {
    return is_public_file(*database_, digest);
}

std::vector<std::string> Ledger::uncompared(const std::string& population) const {
    return find_uncompared(*database_, population, "", false);
}

ChainState Ledger::chain() const {
    return chain_state(*database_);
}

bool Ledger::had_head(const std::string& head) const {
    return chain_had(*database_, head);
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
    return spending_of(*database_, *account);
}

std::vector<MonthSpending> Ledger::spending_by_month(const std::string& population) const {
    const std::optional<StoredAccount> account = find_account(*database_, population);
    return account ? holdfast::spending_by_month(*database_, *account) : std::vector<MonthSpending>();
}

std::vector<DatasetVersion> Ledger::versions(const std::string& population) const {
    return find_versions(*database_, population);
}

std::vector<std::string> Ledger::populations() const {
    return find_populations(*database_);
}

std::vector<LedgerTerms> Ledger::terms(const std::string& population) const {
    const std::optional<StoredAccount> account = find_account(*database_, population);
    return account ? find_terms(*database_, account->id) : std::vector<LedgerTerms>();
}

std::vector<LedgerPayment> Ledger::payments(const std::string& population) const {
    const std::optional<StoredAccount> account = find_account(*database_, population);
    return account ? find_payments(*database_, account->id) : std::vector<LedgerPayment>();
}

std::vector<std::optional<LedgerAnswer>> Ledger::remembered(const std::string& dataset,
                                                            std::span<const Digest> queries) const {
    KnownAnswers answers(*database_, require_account_of(*database_, dataset).id, dataset);
    std::vector<std::optional<LedgerAnswer>> result;
    for (const Digest& query : queries) result.push_back(answers.of(query).answer);
    return result;
}

bool Ledger::pay(const std::string& dataset, const Payment& payment) {
    check_payment(payment);
    Transaction transaction(*database_);
    const StoredAccount account = require_account_of(*database_, dataset);
    if (find_payment(*database_, dataset, payment.token)) return false;
    refuse_unless_affordable(*database_, account, payment);
    record_payment(
        *database_,
        {account.id, dataset, id_of_guarantee(*database_, payment.guarantee), now_in_milliseconds()},
        payment);
    transaction.commit();
    return true;
}

bool Ledger::paid(const std::string& dataset, const std::string& token) const {
    return find_payment(*database_, dataset, token).has_value();
}

BoughtText Ledger::buy(const std::string& dataset, const Payment& payment,
                       const std::function<std::string()>& draw) {
    const bool charged = pay(dataset, payment);
    const std::int64_t row = require_payment(*database_, dataset, payment.token);
    if (find_result(*database_, row).empty()) {
        const std::string drawn = draw();
        ensure(!drawn.empty(), "what was bought says something");
        Transaction transaction(*database_);
        if (find_result(*database_, row).empty()) record_bought(*database_, row, drawn);
        transaction.commit();
    }
    return {find_result(*database_, row), charged};
}

std::string Ledger::token_of(const std::string& text) const {
    const std::vector<std::byte> key = people_key(*database_);
    unsigned char digest[crypto_generichash_BYTES];
    crypto_generichash(digest, sizeof digest, reinterpret_cast<const unsigned char*>(text.data()),
                       text.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
    char hex[2 * sizeof digest + 1];
    return sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
}

void Ledger::record_result(const std::string& dataset, const std::string& token, const std::string& digest) {
    Transaction transaction(*database_);
    const std::int64_t payment = require_payment(*database_, dataset, token);
    const std::string bought = find_result(*database_, payment);
    if (bought == digest) return;
    if (!bought.empty())
        throw Error(ExitCode::budget, "what was paid for is another result, and there is one for a payment",
                    "train into a new folder, which is charged anew", database_->path());
    record_bought(*database_, payment, digest);
    transaction.commit();
}

void Ledger::record_publication(const std::string& dataset, const std::string& token,
                                const std::string& model_digest) {
    Transaction transaction(*database_);
    const std::int64_t payment = require_payment(*database_, dataset, token);
    record_model(*database_, payment, {model_digest, now_in_milliseconds()});
    transaction.commit();
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
    KnownAnswers answers(*database_, account.id, dataset);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const bool first = seen.emplace(queries[i], i).second;
        Known known = answers.of(queries[i], &charge);
        // A reservation from the future is a clock set back: waiting for it could last for ever.
        const std::int64_t age = known.reserved ? now - *known.reserved : 0;
        const bool awaited = known.reserved && age >= 0 && age < patience_;
        // A charge without an answer was lost in a crash: nobody saw its draw, and it covers another one.
        if (!known.answer && !awaited && first)
            result.reserved.push_back({i, known.same_terms ? known.charge : 0});
        result.known[i] = std::move(known.answer);
    }
    std::vector<Reservation*> unpaid;
    for (Reservation& one : result.reserved) {
        one.charged = one.charge == 0;
        if (one.charged) unpaid.push_back(&one);
    }
    if (unpaid.empty()) return result;
    refuse_unless_affordable(*database_, account, charge, static_cast<std::int64_t>(unpaid.size()));
    const ChargeOrigin origin{account.id, dataset, id_of_guarantee(*database_, charge.guarantee), now};
    std::vector<Digest> charged;
    for (const Reservation* one : unpaid) charged.push_back(queries[one->query]);
    const std::vector<std::int64_t> rows = record_charges(*database_, origin, charge, charged);
    for (std::size_t i = 0; i < rows.size(); ++i) unpaid[i]->charge = rows[i];
    transaction.commit();
    return result;
}

void Ledger::store(const Charge& charge, std::span<const int> labels, Charged& charged) {
    ensure(charged.reserved.size() == labels.size(), "one label a reservation");
    std::vector<std::int64_t> rows;
    for (const Reservation& one : charged.reserved) rows.push_back(one.charge);
    Transaction transaction(*database_);
    const std::vector<bool> stored = record_labels(*database_, rows, labels);
    transaction.commit();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (stored[i])
            charged.known[charged.reserved[i].query] = LedgerAnswer{
                labels[i], false, charge.epsilon, charge.delta, charge.mechanism, charge.guarantee};
    }
}

std::vector<LedgerAnswer> Ledger::answer(const std::string& dataset, const Charge& charge,
                                         std::span<const Digest> queries, const Draw& draw) {
    std::vector<bool> paid(queries.size(), false);
    for (;;) {
        Charged charged = this->charge(dataset, charge, queries);
        std::vector<std::size_t> drawn;
        for (const Reservation& one : charged.reserved) {
            drawn.push_back(one.query);
            paid[one.query] = paid[one.query] || one.charged;
        }
        if (!drawn.empty()) store(charge, draw(drawn), charged);
        const auto missing = [](const std::optional<LedgerAnswer>& answer) { return !answer.has_value(); };
        if (std::none_of(charged.known.begin(), charged.known.end(), missing)) {
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

namespace {

/// Which queries have no answer, each of equal ones once, in their order.
std::vector<std::size_t> find_unanswered(KnownAnswers& answers, std::span<const Digest> queries) {
    std::vector<std::size_t> missing;
    std::set<Digest> seen;
    for (std::size_t i = 0; i < queries.size(); ++i)
        if (seen.insert(queries[i]).second && !answers.of(queries[i]).answer) missing.push_back(i);
    return missing;
}

/// What is known of each query now; those equal to one of `drawn` are new.
std::vector<std::optional<LedgerAnswer>> find_answers(KnownAnswers& answers, std::span<const Digest> queries,
                                                      std::span<const std::size_t> drawn) {
    std::set<Digest> fresh;
    for (const std::size_t i : drawn) fresh.insert(queries[i]);
    std::vector<std::optional<LedgerAnswer>> found;
    for (const Digest& query : queries) {
        found.push_back(answers.of(query).answer);
        if (found.back()) found.back()->remembered = !fresh.contains(query);
    }
    return found;
}

/// What became of the draw that a payment covers: noted once, and nothing is drawn under it again.
constexpr const char* answers_drawn = "answers";

}  // namespace

std::int64_t Ledger::unanswered(const std::string& dataset, std::span<const Digest> queries) const {
    KnownAnswers answers(*database_, require_account_of(*database_, dataset).id, dataset);
    return static_cast<std::int64_t>(find_unanswered(answers, queries).size());
}

AnsweredTogether Ledger::answer_together(const std::string& dataset, const Payment& payment,
                                         std::span<const Digest> queries, const Draw& draw) {
    check_payment(payment);
    const StoredAccount account = require_account_of(*database_, dataset);
    const auto covered = [&] { return find_payment(*database_, dataset, payment.token); };
    std::vector<std::size_t> missing;
    bool drawn = false, charged = false;
    {
        Transaction transaction(*database_);
        KnownAnswers answers(*database_, account.id, dataset, covered());
        missing = find_unanswered(answers, queries);
        drawn = covered() && !find_result(*database_, *covered()).empty();
        charged = !missing.empty() && !covered();
        if (charged) {
            refuse_unless_affordable(*database_, account, payment);
            record_payment(
                *database_,
                {account.id, dataset, id_of_guarantee(*database_, payment.guarantee), now_in_milliseconds()},
                payment);
        }
        transaction.commit();
    }
    if (!missing.empty() && !drawn)
        store_together(account.id, dataset, payment, queries, missing, draw(missing));
    KnownAnswers answers(*database_, account.id, dataset, covered());
    if (drawn) missing.clear();  // refused with all the others, and asked otherwise since
    AnsweredTogether result{{}, charged};
    for (std::optional<LedgerAnswer>& answer : find_answers(answers, queries, missing))
        result.answers.push_back(answer.value_or(LedgerAnswer{refused, true, payment.epsilon, payment.delta,
                                                              payment.mechanism, payment.guarantee, true}));
    return result;
}

void Ledger::store_together(std::int64_t account, const std::string& dataset, const Payment& payment,
                            std::span<const Digest> queries, std::span<const std::size_t> drawn,
                            std::span<const int> labels) {
    ensure(drawn.size() == labels.size(), "one label a query");
    Transaction transaction(*database_);
    const std::int64_t row = require_payment(*database_, dataset, payment.token);
    if (!find_result(*database_, row).empty()) return;  // another process was first
    KnownAnswers answers(*database_, account, dataset, row);
    const ChargeOrigin origin{account, dataset, id_of_guarantee(*database_, payment.guarantee),
                              now_in_milliseconds()};
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const Digest& query = queries[drawn[i]];
        if (!answers.of(query).answer)
            record_covered_answer(*database_, origin, row, payment.mechanism, query, labels[i]);
    }
    record_bought(*database_, row, answers_drawn);
    transaction.commit();
}

std::optional<SessionState> Ledger::session(const std::string& dataset, const std::string& name) const {
    const StoredAccount account = require_account_of(*database_, dataset);
    const std::optional<StoredSession> session = find_session(*database_, account.id, name);
    if (!session) return std::nullopt;
    return session->state;
}

OpenedSession Ledger::open_session(const std::string& dataset, const SessionOpening& opening,
                                   const SessionLaw& law, RandomBits& bits) {
    Payment payment = opening.payment;
    payment.token = "session " + opening.name;
    ensure(payment.epsilon == law.terms().epsilon() && payment.delta == law.terms().delta,
           "a session is paid for by its terms");
    check_payment(payment);
    Transaction transaction(*database_);
    const StoredAccount account = require_account_of(*database_, dataset);
    if (const auto there = find_session(*database_, account.id, opening.name)) return {there->state, false};
    if (find_payment(*database_, dataset, payment.token))
        throw Error(ExitCode::budget,
                    "the threshold of the session '" + opening.name + "' is lost: it has ended",
                    "open another, under a name of its own", database_->path());
    refuse_unless_affordable(*database_, account, payment);
    const std::int64_t row = record_payment(
        *database_,
        {account.id, dataset, id_of_guarantee(*database_, payment.guarantee), now_in_milliseconds()},
        payment);
    record_session(*database_, account.id, row, opening, law.terms(), law.draw_threshold(bits));
    transaction.commit();
    return {find_session(*database_, account.id, opening.name)->state, true};
}

std::vector<std::optional<LedgerAnswer>> Ledger::answer_in_session(
    const std::string& dataset, const SessionOpening& opening, std::span<const Digest> queries,
    const SessionLaw& law, const Distances& distances, RandomBits& bits) {
    const StoredAccount account = require_account_of(*database_, dataset);
    const StoredSession before = require_session(*database_, account.id, dataset, opening, law.terms());
    KnownAnswers answers(*database_, account.id, dataset, before.payment);
    const std::vector<std::size_t> missing =
        before.state.ended() ? std::vector<std::size_t>() : find_unanswered(answers, queries);
    if (missing.empty()) return find_answers(answers, queries, {});
    const std::vector<Evidence> evidence = distances(missing);
    ensure(evidence.size() == missing.size(), "one distance a query");

    // Drawn and stored in one transaction: until it is committed nobody has seen what came of a draw, and
    // what a crash undoes may be drawn again. The threshold and the refusals are read anew: others ask too.
    Transaction transaction(*database_);
    StoredSession session = require_session(*database_, account.id, dataset, opening, law.terms());
    const ChargeOrigin origin{account.id, dataset, id_of_guarantee(*database_, opening.payment.guarantee),
                              now_in_milliseconds()};
    std::vector<std::size_t> drawn;
    for (std::size_t i = 0; i < missing.size() && !session.state.ended(); ++i) {
        const Digest& query = queries[missing[i]];
        if (answers.of(query).answer) continue;
        const bool refuse = law.draw_refusal(evidence[i].distance, session.threshold, bits);
        session.state.refused += refuse ? 1 : 0;
        record_covered_answer(*database_, origin, session.payment, opening.payment.mechanism, query,
                              refuse ? refused : evidence[i].label);
        drawn.push_back(missing[i]);
    }
    record_refusals(*database_, session.payment, session.state.refused);
    transaction.commit();
    return find_answers(answers, queries, drawn);
}

}  // namespace holdfast
