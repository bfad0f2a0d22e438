#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/program/runs/finished_run.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// What all answers together may cost, and how many there may be.
struct TotalBudget {
    Rational epsilon, delta;
    std::vector<std::int64_t> answers;
};

/// "EPS" or "EPS,DELTA", delta 1e-5 if none is given, and numbers of answers, ascending. Errors (usage),
/// naming the option: not in [1e-6, 1000], in [0, 1), in [1, 10^6].
TotalBudget parse_budget(const std::vector<std::string>& budget, std::vector<std::int64_t> answers);

/// Expected accuracy of so many answers by every route that the run can serve at one budget, each with its
/// best composition, refusals counted as wrong:
///   {epsilon, delta, answers: [Q], routes: [{route, setting: "single" | "ensemble", accuracy: [Q],
///    terms: [Q], guarantee}], best: [{answers, route, setting, accuracy}]}
/// route: a mechanism, "session", "batch", "noisy", the parameters of a noisy run that cost no more than the
/// budget, or "published", those of a convex run with noise (published_accuracy). `queries`: those of the
/// evidence, labelled. terms: what an answer costs, {epsilon, delta} or {mu}, empty where the budget does not
/// reach so far; of a session {refusals}, of all that are tried the one with the best accuracy. A run that
/// may release nothing has no routes, and `refused` says why. For the owner: every figure depends on the
/// records, and so does a choice made by them.
nlohmann::json budget_routes(const FinishedRun& run, const EvidenceTable& single,
                             const EvidenceTable& ensemble, const Records& queries,
                             const TotalBudget& budget);

/// As a table.
std::string budget_text(const nlohmann::json& routes);

}  // namespace holdfast
