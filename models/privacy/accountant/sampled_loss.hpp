#pragma once

#include <vector>

#include "models/privacy/accountant/loss_distribution.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

/// The losses of one step of GaussianSteps with 0 < sampling_rate < 1, each dominated by a distribution on
/// the grid: of a removal and of an addition, or of a substitution. At most `cut` is moved to infinity.
/// (models/privacy/mathematics.md, sampled pairs; models/privacy/mathematics.md, dominating losses)
std::vector<TwoGridLoss> sampled_losses(const Rational& sampling_rate, double noise_multiplier,
                                        Relation relation, const LossGrid& grid, const Rational& cut,
                                        unsigned apart);
/// The same on one grid.
std::vector<LossDistribution> sampled_losses(const Rational& sampling_rate, double noise_multiplier,
                                             Relation relation, const LossGrid& grid, const Rational& cut);

}  // namespace holdfast
