#pragma once

#include <optional>

#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/publication.hpp"

namespace holdfast {

/// For the owner: what parameters that `holdfast publish` gives noise for these terms would get right of
/// labelled queries, the mean over `noises_tried` noises of keys that everybody knows, so that it is the same
/// every time; nothing, where no noise serves. `sensitivity`: as of noisy_parameters. Errors: as
/// parameters_of.
std::optional<double> published_accuracy(const FinishedRun& run, const Rational& sensitivity,
                                         const PublicationTerms& terms, const Records& queries);

inline constexpr int noises_tried = 20;

}  // namespace holdfast
