#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/runs/run_folder.hpp"
#include "jobs/program/context.hpp"

namespace holdfast {

/// Writes evaluation.json with the digest of all but `result["data"]`, where the queries lie; says so in a
/// line.
std::string kept_evaluation(const Context& context, const RunFolder& run, nlohmann::json& result);

/// What holdfast evaluate is asked of a fleet.
struct FleetQuestion {
    std::string run, data;
    std::vector<double> epsilons;  ///< none: what is answered without noise alone
};

/// For the owner of a fleet, of queries with their true labels: how many are answered alike by every network
/// (`vote`), how many of them the bound of holdfast idp is sure of (`bound`, where it was computed), and the
/// exact expected accuracy of label-only access by either. Collective; writes evaluation.json.
/// Errors (usage): a regression; an epsilon out of range; (input): as FinishedFleet::open() and
/// read_queries(); no labels.
void evaluate_fleet(const Context& context, const FleetQuestion& question);

}  // namespace holdfast
