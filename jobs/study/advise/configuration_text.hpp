#pragma once

#include <string>

#include "models/training/settings.hpp"

namespace holdfast {

/// A configuration file of these settings: every key that is not its default, each under its section, with
/// what it is as a comment; `head` before all, as comments too. read_configuration of it gives the settings.
std::string configuration_text(const Settings& settings, const std::string& head);

}  // namespace holdfast
