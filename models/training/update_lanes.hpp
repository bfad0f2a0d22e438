#pragma once

#include <cstddef>
#include <cstdint>

#include "models/training/update_rule.hpp"

namespace holdfast {

/// In place, thresholded(updated()) of the first of so many parameters, within the limit as decay is
/// within 1. Returns how many: whole vectors of a processor with AVX-512; on any other none, nor by a factor
/// of 2^59 or more.
std::size_t update_lanes(const BasicFactor<64>& decay, const BasicFactor<64>& gradient,
                         std::int64_t threshold, std::int64_t* parameters, const std::int64_t* sums,
                         std::size_t count);

}  // namespace holdfast
