#pragma once

#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// The name this machine goes by.
std::string host_name();
std::vector<std::string> host_names(const Communicator& world);  ///< [ranks]; collective

}  // namespace holdfast
