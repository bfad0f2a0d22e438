#pragma once

#include <vector>

#include "models/privacy/rational.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

/// The curve of Renyi differential privacy of one step of GaussianSteps, rounded up; the same preconditions.
/// [renyi_orders().size()] (models/privacy/mathematics.md, sampled moments)
std::vector<Rational> sampled_gaussian_curve(const Rational& sampling_rate, double noise_multiplier,
                                             Relation relation);

}  // namespace holdfast
