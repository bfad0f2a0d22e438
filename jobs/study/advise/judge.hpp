#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/study/advise/candidates.hpp"
#include "jobs/study/advise/stand_in.hpp"
#include "models/privacy/routes/answers_route.hpp"

namespace holdfast {

/// What a route is expected to get right on the stand-in at the whole budget.
struct RouteAccuracy {
    std::string route;
    std::vector<std::optional<double>> by_answers;  ///< as asked; unset: this route cannot answer so many
};

/// What a model is worth that is published: whoever has it is told a probability of each class. Of numbers,
/// the part of their variance that it explains, and the mean squared error.
struct ModelScore {
    double accuracy = 0, log_loss = 0;
};
/// Of the run of a noisy candidate's trial, on the stand-in's split test.
ModelScore score_of_model(const std::string& run, const StandIn& stand_in);

/// Of the run of another candidate's trial, every route that it serves, for each number of answers (0: any
/// number), on the stand-in's split test. Mechanisms of one budget are `made` once for all candidates.
std::vector<RouteAccuracy> judged(const Candidate& candidate, const std::string& run, const StandIn& stand_in,
                                  const PublicNumbers& numbers, const std::vector<std::int64_t>& answers,
                                  MadeMechanisms& made);

}  // namespace holdfast
