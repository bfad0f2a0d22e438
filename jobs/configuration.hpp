#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/run_settings.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What a configuration file and --set decide.
struct Configuration {
    Settings settings;  ///< what is computed
    RunSettings run;    ///< how
};

/// A row of the joined table, its key "section.name" as in TOML and --set.
struct Option : BasicOption<Configuration> {
    bool decides;                         ///< a result depends on it: all but section "run"
    std::vector<std::string> kinds = {};  ///< of training, to which it means something; empty: to all
};

/// The options of every section, each section's beside the code that reads it.
const std::vector<Option>& option_table();

/// Defaults, then the TOML file (may be empty), then each "key=value" of `overrides`.
/// Errors (usage): unknown key (with the nearest known one), wrong type, out of range, settings that
/// contradict, one that is given and means nothing to the kind of training.
Configuration read_configuration(const std::string& toml_path, const std::vector<std::string>& overrides);

/// {"section.key": value, …} of every option, and back.
nlohmann::json to_json(const Configuration& configuration);
Configuration configuration_from_json(const nlohmann::json& values);

/// The part of it that decides results, as canonical text: equal text, equal results.
std::string deciding_settings(const Settings& settings);

/// A help text of all options with their defaults.
std::string options_help();

}  // namespace holdfast
