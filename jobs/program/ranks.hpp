#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// The name this machine goes by.
std::string host_name();

// What ranks tell each other. Collective.

/// Every rank's text, [ranks].
std::vector<std::string> gathered_text(const Communicator& world, const std::string& mine);
std::vector<std::string> host_names(const Communicator& world);  ///< [ranks]
/// Rank 0's list, on all ranks.
std::vector<std::size_t> agreed(const Communicator& world, std::span<const std::size_t> chosen);

}  // namespace holdfast
