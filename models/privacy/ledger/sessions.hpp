#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// Sessions, as models/privacy/ledger/ledger.hpp promises them; what writes, inside a transaction of the
// caller.

struct StoredSession {
    std::int64_t payment = 0;  ///< the row that paid for it, which names it
    SessionState state;
    std::int64_t threshold = 0;  ///< secret
};

std::optional<StoredSession> find_session(const LedgerDatabase& database, std::int64_t account,
                                          const std::string& name);
/// Errors (ExitCode::budget): none of that name, or one of other data, run, program, terms or parameters.
StoredSession require_session(const LedgerDatabase& database, std::int64_t account,
                              const std::string& dataset, const SessionOpening& opening,
                              const SessionTerms& terms);
void record_session(const LedgerDatabase& database, std::int64_t account, std::int64_t payment,
                    const SessionOpening& opening, const SessionTerms& terms, std::int64_t threshold);
void record_refusals(const LedgerDatabase& database, std::int64_t payment, std::int64_t refused);

}  // namespace holdfast
