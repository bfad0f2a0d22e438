#pragma once

#include <cstdint>

#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

struct StoredAccount;

/// Error (ExitCode::usage) unless epsilon is in (0, 1000000] and delta in [0, 1).
void check_amounts(const Rational& epsilon, const Rational& delta);

/// What the account has spent.
Spending spending_of(const LedgerDatabase& database, const StoredAccount& account);

/// Ledger::spending_by_month.
std::vector<MonthSpending> spending_by_month(const LedgerDatabase& database, const StoredAccount& account);

/// Error (ExitCode::budget) unless `more` answers at `charge` fit; says how many would.
void refuse_unless_affordable(const LedgerDatabase& database, const StoredAccount& account,
                              const Charge& charge, std::int64_t more);

/// Error (ExitCode::budget) unless the payment fits; says what is left.
void refuse_unless_affordable(const LedgerDatabase& database, const StoredAccount& account,
                              const Payment& payment);

}  // namespace holdfast
