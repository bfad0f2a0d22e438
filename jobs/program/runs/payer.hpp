#pragma once

#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/settings/relation.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// Whom a charge is for, as a ledger must know them.
struct Payee {
    std::string dataset, path;  ///< digest of the records, and where they are
    PublicRecords beside;
    std::string relation;       ///< whose neighbours the charge counts
    std::string ledger;         ///< its path
    std::string measured = "";  ///< the constants drawn from the records (PublicFacts::measured)
    /// Digests of the records that the public models of the settings were trained on.
    std::vector<std::string> pretrained = {};
};

/// Model::cost of a model of public records: epsilon and delta are 0, and parameters.records lists the
/// digests of the records that it was trained and stopped on.
inline constexpr const char* pretrained_mechanism = "public_records";

/// Queries that are claimed to be public.
struct PublicQueries {
    const Records& records;
    bool given_ids;    ///< the ids name persons
    std::string name;  ///< as the option gives them
    bool said;         ///< --queries-are-public
};

/// Reads the model files that the settings name. Errors: as read_model.
std::vector<std::string> pretraining_records(const Settings& settings);

/// Error (usage): the ledger knows a dataset by one of these digests of pretraining records.
void refuse_private_models(const Ledger& ledger, const std::vector<std::string>& records,
                           const std::string& path);

/// Compares queries with all people of the ledger, before any payment. Errors (usage), for the owner alone:
/// an id names one of them; or a query has the features of one, and nobody said that the queries are public;
/// or most have, and their ids cannot be compared.
void refuse_known_people(const Ledger& ledger, const PublicQueries& queries);

/// The account of those of a population who are held out: other persons than those of its own.
std::string held_population(const std::string& population);

/// The neighbours that an account counts: add_remove or substitute.
Relation counted_by(const Account& account);

/// Nobody but its owner makes a ledger. data: what it is to pay for. Error (usage).
void require_ledger(const std::string& path, const std::string& data = "FILE");

/// Can the population of the data pay? Error (usage): it belongs to none in this ledger, its account counts
/// other neighbours, the public records were not checked (holdfast account --public), the constants that
/// were drawn from the records were paid for elsewhere, or a public model was trained on records of the
/// ledger; nothing was charged.
void check_payer(const Ledger& ledger, const Payee& payee);

/// What the account of a population has left for a delta alone.
Rational delta_left(const Ledger& ledger, const std::string& population);

}  // namespace holdfast
