#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/idp/plain_network.hpp"

namespace holdfast {

/// What the program answers at one input, bit by bit (models/mathematics.md, label).
struct ProgramAnswer {
    std::size_t label;
    double confidence;  ///< in that label: the least of its computed margins over the other classes
};

/// In plain loops; seen: [inputs], what the network sees, in the precision of the program.
ProgramAnswer program_answer(const PlainNetwork& network, std::size_t classes, Precision precision,
                             std::span<const double> seen);

}  // namespace holdfast
