#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/privacy/ledger/database.hpp"

namespace holdfast {

// Files that are taken for public, held against the people of a ledger: Ledger::people_among,
// Ledger::record_public and Ledger::public_checked.

std::vector<std::uint64_t> find_people_among(const LedgerDatabase& database,
                                             std::span<const std::uint64_t> ids);
/// Inside a transaction of the caller.
void note_public_file(const LedgerDatabase& database, const std::string& digest,
                      std::span<const std::uint64_t> ids);
bool is_public_file(const LedgerDatabase& database, const std::string& digest);

}  // namespace holdfast
