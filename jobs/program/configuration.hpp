#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/program/runs/run_settings.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What a configuration file and --set decide.
struct Configuration {
    Settings settings;  ///< what is computed
    RunSettings run;    ///< how
};

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
