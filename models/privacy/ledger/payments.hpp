#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/ledger/charges.hpp"
#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// Payments and the models published under them, as models/privacy/ledger/ledger.hpp promises them; what
// writes, inside a transaction of the caller.

/// Error (ExitCode::usage) where it says nothing or is beyond every budget; ensures that a curve has all
/// orders.
void check_payment(const Payment& payment);

/// The row of a payment, named by its token.
std::optional<std::int64_t> find_payment(const LedgerDatabase& database, const std::string& dataset,
                                         const std::string& token);
/// Error (ExitCode::budget) where there is none.
std::int64_t require_payment(const LedgerDatabase& database, const std::string& dataset,
                             const std::string& token);
/// Its row.
std::int64_t record_payment(const LedgerDatabase& database, const ChargeOrigin& origin,
                            const Payment& payment);

/// The digest of what a payment, by its row, has bought; empty where that is not there.
std::string find_result(const LedgerDatabase& database, std::int64_t payment);
void record_bought(const LedgerDatabase& database, std::int64_t payment, const std::string& digest);

/// Of a payment by its row; nothing where the model is there.
void record_model(const LedgerDatabase& database, std::int64_t payment, const Publication& publication);

/// Ledger::payments.
std::vector<LedgerPayment> find_payments(const LedgerDatabase& database, std::int64_t account);

}  // namespace holdfast
