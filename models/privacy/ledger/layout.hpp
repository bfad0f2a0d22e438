#pragma once

#include <string>

namespace holdfast {

class LedgerDatabase;

/// A ledger without accounts under `path`, of mode 0600; nothing happens where a file is there. It appears
/// complete or not at all. Errors as AtomicPath.
void make_ledger_file(const std::string& path);
/// Does the file begin as a ledger does? Nothing else of it is read.
bool is_ledger_file(const std::string& path);

/// Checks that the file is a ledger, and brings one of an earlier layout up to date: in one transaction, so
/// that a crash leaves what was there. Errors (ExitCode::input): another program's file, a newer version's
/// ledger.
///
/// Layout 1 kept an account a dataset, under the digest of its content. Each becomes the account of a
/// population of its own (`migrated_population`), with that dataset as its version, and keeps its budget,
/// charges and answers; their guarantees, which nobody wrote down, then say so.
/// Layout 2 had no payments and no Renyi order, layout 3 no sessions, no answers that a payment covers and no
/// accounts of Gaussian privacy: they are added, and all that was there stays.
/// Layout 4 had no chain, and believed what it had noted as spent: refused (ExitCode::input) where that is
/// not what its charges add up to. The chain begins with what was there then.
/// Layout 5 had no accounts of labels; its chain goes on.
void migrate_layout(const LedgerDatabase& database);

/// The name that the account of `dataset` (a digest) was given when its ledger left layout 1.
std::string migrated_population(const std::string& dataset);

}  // namespace holdfast
