#pragma once

#include <cstdint>
#include <vector>

#include "models/nets/network.hpp"

namespace holdfast {

/// What a step multiplies the outputs of each hidden layer by, [hidden layers][output_rows]: 0 for the part
/// that it leaves out, 1 / (1 - part) for the rest; empty where a layer stays whole, and [] where all do.
/// Public: a function of seed, member and step, the same for all records, levels and ranks.
std::vector<std::vector<double>> dropout_factors(const Network& network, std::uint64_t seed,
                                                 std::uint64_t member, std::uint64_t step);

}  // namespace holdfast
