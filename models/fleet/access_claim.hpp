#pragma once

#include "models/certify/claims.hpp"

namespace holdfast {

/// What labels may be released on, of a fleet of all records of its data: neighbours whose networks are
/// unanimous at a query give it one label (models/mathematics.md, exact vote), with every condition and gap
/// of the settings. relation: whose neighbours are counted, `add_remove` or `substitute`; a fleet serves
/// either. Error (usage) where no release may rest on it: a regression; under `add_remove` a step divided by
/// a number that follows from the count of records.
RecordClaim access_claim(const Settings& settings, const DataFacts& facts, Relation relation);

}  // namespace holdfast
