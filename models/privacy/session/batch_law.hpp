#pragma once

#include <cstdint>

#include "models/privacy/rational.hpp"

namespace holdfast {

/// The probability that `ptr` lets a batch of queries pass, all of its labels at once, where the least of
/// their distances is h (models/privacy/mathematics.md, batch): P(h + Lap(1/eps) > ln(1/(2 delta))/eps), in
/// double precision.
double batch_passes(const Rational& epsilon, const Rational& delta, std::int64_t least_distance);

}  // namespace holdfast
