#pragma once

#include <vector>

#include "jobs/program/configuration.hpp"
#include "models/settings/option.hpp"

namespace holdfast {

/// A row of the joined table, its key "section.name" as in TOML and --set.
struct Option : BasicOption<Configuration> {
    bool decides;                         ///< a result depends on it: all but section "run"
    std::vector<std::string> kinds = {};  ///< of training, to which it means something; empty: to all
};

/// The options of every section, each section's beside the code that reads it.
const std::vector<Option>& option_table();

}  // namespace holdfast
