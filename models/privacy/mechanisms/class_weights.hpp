#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/mechanisms/probability_table.hpp"

namespace holdfast {

// Classes weighted by their distances, for the mechanisms that choose among them all.

inline constexpr unsigned weight_bits = 112;  ///< the weight of distance 0 is 2^weight_bits

/// Weights proportional to e^(-rate d): weights[d]/weights[d+1] <= e^rate/(1 + 2^-100) exactly, weights[0] =
/// 2^weight_bits. The factor 1 + 2^-100 pays for the 2^-126 by which a 256-bit draw misses a weight's share
/// of the sum, and for the C^2 2^-127 by which a permutation drawn with 128 bits a step misses uniform (C <=
/// 4096).
ProbabilityTable exponential_weights(const Rational& rate, std::int64_t largest);

/// Of every class, under its distance. [classes]
std::vector<Word128> weights_of(const ProbabilityTable& table, const Evidence& evidence);

}  // namespace holdfast
