#pragma once

#include <string>

#include "dist/runs/manifest.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

/// Whom a charge is for, as a ledger must know them.
struct Payee {
    std::string dataset, path;  ///< digest of the records, and where they are
    PublicRecords beside;
    std::string relation;       ///< whose neighbours the charge counts
    std::string ledger;         ///< its path
    std::string measured = "";  ///< the constants drawn from the records (PublicFacts::measured)
};

/// The account of those of a population who are held out: other persons than those of its own.
std::string held_population(const std::string& population);

/// The neighbours that an account counts: add_remove or substitute.
Relation counted_by(const Account& account);

/// Nobody but its owner makes a ledger. data: what it is to pay for. Error (usage).
void require_ledger(const std::string& path, const std::string& data = "FILE");

/// Can the population of the data pay? Error (usage): it belongs to none in this ledger, its account counts
/// other neighbours, the public records were not checked (holdfast account --public), or the constants that
/// were drawn from the records were paid for elsewhere; nothing was charged.
void check_payer(const Ledger& ledger, const Payee& payee);

/// What the account of a population has left for a delta alone.
Rational delta_left(const Ledger& ledger, const std::string& population);

}  // namespace holdfast
