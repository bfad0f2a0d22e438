#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// Rank 0's list, on all ranks. Collective.
std::vector<std::size_t> agreed(const Communicator& world, std::span<const std::size_t> chosen);

}  // namespace holdfast
