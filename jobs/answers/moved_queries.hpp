#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/program/runs/finished_run.hpp"
#include "models/certify/norm.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {

/// How far queries may move, where records change too: one radius, in units of the features.
struct MovedQueries {
    double radius;
    Norm norm;

    std::string text() const;  ///< "0.01 (the length of the difference)"
    Guarantee claim() const;   ///< of both promises at once
};

/// radii: of --input-radius; none: no query moves. The run's distances are those of queries that do from now
/// on. Errors (usage): not one radius above 0; a regression; an ensemble's published aggregation; what the
/// run's certificate refuses.
std::optional<MovedQueries> move_queries(const FinishedRun& run, const std::vector<double>& radii,
                                         const std::string& norm);

}  // namespace holdfast
