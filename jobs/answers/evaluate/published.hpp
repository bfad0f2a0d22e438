#pragma once

#include <string>
#include <vector>

#include "jobs/program/context.hpp"
#include "jobs/program/runs/finished_run.hpp"

namespace holdfast {

/// What holdfast evaluate is asked of a run of training.kind = "dpal".
struct PublishedQuestion {
    std::string data;
    std::vector<std::string> attacks;  ///< none: all of them
    std::vector<double> radii;         ///< none: no attack
};

/// For the owner, as it is published and unproved, of queries with their true labels: how many are right as
/// they are and under each attack of l-infinity, and how many of these, and of those that are not attacked,
/// have a robust size of the radius. Writes evaluation.json. Errors (usage): no such attack; a radius that is
/// not above 0.
void evaluate_published(const Context& context, const FinishedRun& run, const PublishedQuestion& question);

}  // namespace holdfast
