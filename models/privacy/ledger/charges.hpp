#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// Charges and the answers drawn under them, as models/privacy/ledger/ledger.hpp promises them; each inside a
// transaction of the caller.

/// What the ledger holds on a query: nothing, a reservation, or an answer.
struct Known {
    std::optional<LedgerAnswer> answer;
    std::optional<std::int64_t> reserved;  ///< when, if so; in milliseconds
    std::int64_t charge = 0;               ///< the row that paid for the reservation
    bool same_terms = false;               ///< the reservation was paid for at the terms asked about
};

/// Looks up one query after the other, about one version of an account's data. A refusal that a payment
/// bought is known to that `payment`, by its row, and to nobody else.
class KnownAnswers {
  public:
    KnownAnswers(const LedgerDatabase& database, std::int64_t account, const std::string& dataset,
                 std::optional<std::int64_t> payment = std::nullopt);
    /// `terms`: those that a reservation is compared with.
    Known of(const Digest& query, const Charge* terms = nullptr);

  private:
    std::int64_t account_;
    std::string dataset_;
    std::optional<std::int64_t> payment_;
    Statement select_;
};

/// Ledger::terms.
std::vector<LedgerTerms> find_terms(const LedgerDatabase& database, std::int64_t account);

/// Equal texts are kept once.
std::int64_t id_of_guarantee(const LedgerDatabase& database, const std::string& text);

/// Who asks what, when: the same for every query of a request, and of a payment.
struct ChargeOrigin {
    std::int64_t account;
    std::string dataset;
    std::int64_t guarantee;  ///< by id_of_guarantee
    std::int64_t now;        ///< in milliseconds
};
/// Charges queries and reserves their draws; the rows of the charges.
std::vector<std::int64_t> record_charges(const LedgerDatabase& database, const ChargeOrigin& origin,
                                         const Charge& charge, std::span<const Digest> queries);

/// Stores labels[i] as the answer to the query that row charges[i] charged, under the terms of that charge.
/// Which of them it stored: one is dropped where a label stands.
std::vector<bool> record_labels(const LedgerDatabase& database, std::span<const std::int64_t> charges,
                                std::span<const int> labels);

/// An answer that a payment, by its row, covers: it costs nothing more. Replaces what is known of the query.
void record_covered_answer(const LedgerDatabase& database, const ChargeOrigin& origin, std::int64_t payment,
                           const std::string& mechanism, const Digest& query, int label);

}  // namespace holdfast
