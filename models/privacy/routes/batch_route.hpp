#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/rational.hpp"
#include "models/privacy/routes/distance_shares.hpp"

namespace holdfast {

/// Expected fraction of `answers` queries that a batch at once answers rightly, each drawn from those of
/// `shares` whatever the others are; all are wrong where it does not pass. Exact but for rounding
/// (models/privacy/mathematics.md, expected batch).
double batch_accuracy(const std::vector<DistanceShare>& shares, const Rational& epsilon,
                      const Rational& delta, std::int64_t answers);

}  // namespace holdfast
