#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/privacy/ledger/database.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

// The accounts of a ledger, their versions and their people, as models/privacy/ledger/ledger.hpp promises
// them.

struct StoredAccount {
    std::int64_t id = 0;  ///< names it in every other table
    Account terms;
};

std::optional<StoredAccount> find_account(const LedgerDatabase& database, const std::string& population);
/// Error (ExitCode::budget) where there is none.
StoredAccount require_account(const LedgerDatabase& database, const std::string& population);

/// The account that pays for answers of a dataset. Error (ExitCode::budget) where no population has it.
StoredAccount require_account_of(const LedgerDatabase& database, const std::string& dataset);

/// Of all accounts, by name.
std::vector<std::string> find_populations(const LedgerDatabase& database);
std::optional<std::string> find_population(const LedgerDatabase& database, const std::string& dataset);
std::vector<DatasetVersion> find_versions(const LedgerDatabase& database, const std::string& population);

/// What people are known by: the ledger's key, and the hashes of ids under it, ascending and each once.
std::vector<std::byte> people_key(const LedgerDatabase& database);
std::vector<std::int64_t> hashes_of(std::span<const std::uint64_t> ids, std::span<const std::byte> key);

/// Ledger::uncompared; where `dataset` is not empty, with this version alone. by_features: records with the
/// very features of some there count, too.
std::vector<std::string> find_uncompared(const LedgerDatabase& database, const std::string& population,
                                         const std::string& dataset, bool by_features);

/// Ledger::open_account and Ledger::add_version, inside a transaction of the caller.
void record_account(const LedgerDatabase& database, const std::string& population, const Account& terms);
void record_version(const LedgerDatabase& database, const std::string& population, const std::string& dataset,
                    std::span<const std::uint64_t> ids, const std::optional<Account>& opening,
                    const RecordMarks& marks);

}  // namespace holdfast
