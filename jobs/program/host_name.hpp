#pragma once

#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"

namespace holdfast {

/// The name this machine goes by.
std::string host_name();
/// Every rank's text, [ranks]. Collective.
std::vector<std::string> gathered_text(const Communicator& world, const std::string& mine);
std::vector<std::string> host_names(const Communicator& world);  ///< [ranks]; collective

}  // namespace holdfast
