#pragma once

#include <string>

#include "jobs/program/job.hpp"

namespace holdfast {

// holdfast account, of files that hold other people than its own: for the owner's eyes, as what is printed
// and how it ends tell who is in the ledger. For one rank.

/// Notes that the file may be trained on as public records: no id of it names a person of the ledger, and no
/// record has the features of one there, unless `other_people` says that this is chance. Tells whose ids
/// could not be compared. Errors (input): as of Ledger::record_public; the file has no ids.
void check_public_file(const Context& context, const std::string& ledger, const std::string& name,
                       bool other_people);

/// Tells which of the queries are people of the ledger, by their ids or their features.
void tell_known_queries(const Context& context, const std::string& ledger, const std::string& name);

}  // namespace holdfast
