#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/training/settings.hpp"

namespace holdfast {

/// One row of the option table: parsing, ranges, --help and the manifest all come from it.
struct Option {
    std::string key;   ///< "section.name", as in TOML and --set
    std::string help;  ///< with its range
    bool decides;      ///< a result depends on it (false: only how the run is carried out)
    std::function<nlohmann::json(const Settings&)> get;
    /// Throws std::string with what is wrong.
    std::function<void(Settings&, const nlohmann::json&)> set;
};

const std::vector<Option>& option_table();

/// Defaults, then the TOML file (may be empty), then each "key=value" of `overrides`.
/// Errors (usage): unknown key (with the nearest known one), wrong type, out of range, settings that
/// contradict.
Settings read_settings(const std::string& toml_path, const std::vector<std::string>& overrides);

/// {"section.key": value, …} of every option, and back.
nlohmann::json settings_to_json(const Settings& settings);
Settings settings_from_json(const nlohmann::json& values);

/// The part of it that decides results, as canonical text: equal text, equal results.
std::string deciding_settings(const Settings& settings);

/// A help text of all options with their defaults.
std::string settings_help();

}  // namespace holdfast
