#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/training/settings.hpp"

namespace holdfast {

/// What follows every step of convex training, on the integers themselves: the soft threshold of an l1
/// penalty, then the clamp to a box. Lemma: both are non-decreasing and move no two integers apart, entry by
/// entry, so no two parameters in the 2-norm; and neither takes one further from 0
/// (models/mathematics.md, convex step).
class Proximal {
  public:
    /// `biases`: of the parameters, which are not thresholded.
    Proximal(const Settings& settings, std::vector<bool> biases);
    void apply(std::int64_t step, std::span<std::int64_t> parameters) const;  ///< in parameter units

  private:
    TrainingSettings training_;
    double l1_;
    std::int64_t box_;
    std::vector<bool> biases_;
};

}  // namespace holdfast
