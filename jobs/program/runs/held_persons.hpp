#pragma once

#include <string>

#include "dist/data/dataset.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

/// Persons of a population whom no training has seen, with an account of their own.
struct HeldPersons {
    DatasetIdentity identity;
    std::string population;  ///< that of their account
    Account account;
};

/// Errors: (input) ids that name no persons, repeated ids, splits that were not dealt by ids, no labels;
/// (usage) they have no account in the ledger, or it counts other neighbours than that of the persons who are
/// trained on. `path`: of the ledger.
HeldPersons held_persons(const DatasetReader& reader, const Ledger& ledger, const std::string& path);

}  // namespace holdfast
