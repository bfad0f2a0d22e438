#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/program/context.hpp"
#include "jobs/program/runs/finished_run.hpp"

namespace holdfast {

/// For the owner of an ensemble: how many of its answers are right on every dataset so many records away
/// (added, removed, replaced or poisoned, as the run's relation has it), by several ways of counting votes:
///   "partition"       a poisoned record turns the member it falls to (deep partition aggregation)
///   "boxes"           a member stands for as many records as its own certificate says; never below
///   "run_off", "run_off_boxes"  the same by an election of two rounds; of three classes or more
/// {counts: [k], rules: [{rule, accuracy, certified_accuracy: [k]}], guarantee}. `queries`: labelled.
/// Of two members or more. Collective.
nlohmann::json poisoned_votes(const Context& context, const FinishedRun& run,
                              const std::vector<Certificates>& members, const Records& queries);

/// As a table.
std::string poisoned_votes_text(const nlohmann::json& votes);

}  // namespace holdfast
