#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// Records of no account, held against those that have one: Ledger::known_records, Ledger::record_public and
// Ledger::public_checked.

KnownRecords find_known_records(const LedgerDatabase& database, std::span<const std::uint64_t> ids,
                                const RecordMarks& marks);
/// Inside a transaction of the caller.
KnownRecords note_public_file(const LedgerDatabase& database, const std::string& digest,
                              std::span<const std::uint64_t> ids, const RecordMarks& marks);
bool is_public_file(const LedgerDatabase& database, const std::string& digest);

}  // namespace holdfast
