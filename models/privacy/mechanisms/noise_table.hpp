#pragma once

#include <cstdint>

#include "models/privacy/mechanisms/probability_table.hpp"

namespace holdfast {

/// Two-sided geometric noise on a count in [0, members] whose sum is clamped to [-range, members + range]:
/// the discrete Laplace of scale 1/rate. Noise of magnitude m = members + range stands for the whole tail
/// beyond.
struct NoiseTable {
    std::int64_t range;      ///< public
    ProbabilityTable tails;  ///< [m + 1]: tails[k] = weight of one side's magnitudes >= k, tails[0] unused
    Word128 total;           ///< weight of 0, plus 2 tails[1]
};

/// For counts one apart, each clamped sum's weights differ by a factor of at most e^rate/(1 + 2^-100).
NoiseTable noise_table(const Rational& rate, std::int64_t members);

}  // namespace holdfast
