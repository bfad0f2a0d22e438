#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "models/training/update_rule.hpp"

namespace holdfast {

/// The boxes of a member that took one step from a public point: every level's, however great, is made of
/// levels 0 and 1 (models/mathematics.md, one step). All are [parameters] in parameter units.
class OneStepBoxes {
  public:
    /// The point of level 0, and the box of level 1 around it.
    OneStepBoxes(std::vector<std::int64_t> point, const std::vector<std::int64_t>& lower,
                 const std::vector<std::int64_t>& upper)
        : point_(std::move(point)) {
        for (std::size_t p = 0; p < point_.size(); ++p)
            radii_.push_back(std::max(point_[p] - lower[p], upper[p] - point_[p]));
    }

    /// T^k, bit by bit what a training of the level would leave.
    void at(std::int64_t k, std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper) const {
        lower.resize(point_.size());
        upper.resize(point_.size());
        for (std::size_t p = 0; p < point_.size(); ++p) {
            lower[p] = widened_lower(point_[p], radii_[p], k);
            upper[p] = widened_upper(point_[p], radii_[p], k);
        }
    }

  private:
    std::vector<std::int64_t> point_, radii_;
};

}  // namespace holdfast
