#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/routes/distance_shares.hpp"
#include "models/privacy/session/session_law.hpp"

namespace holdfast {

/// Expected fraction of `answers` queries that a session answers rightly, each drawn from those of `shares`
/// whatever the others are: refused ones count as wrong, and so does everything behind the last refusal.
/// Exact but for rounding (models/privacy/mathematics.md, expected session).
double session_accuracy(const std::vector<DistanceShare>& shares, const SessionTerms& terms,
                        std::int64_t answers);

/// Expected number of trials, `most` at most, up to and with the c-th success, each of probability p.
double expected_trials(double p, std::int64_t c, std::int64_t most);

}  // namespace holdfast
