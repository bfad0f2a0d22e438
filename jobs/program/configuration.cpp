#include "jobs/program/option_table.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/number_of.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

/// The rows of one section, under its name.
template <typename Section>
void join(std::vector<Option>& table, const std::string& name, const std::vector<BasicOption<Section>>& rows,
          Section& (*section)(Configuration&), const std::vector<std::string>& kinds = {},
          bool decides = true) {
    for (const BasicOption<Section>& row : rows) {
        table.push_back({{name + "." + row.key, row.help,
                          [get = row.get, section](const Configuration& whole) {
                              return get(section(const_cast<Configuration&>(whole)));
                          },
                          [set = row.set, section](Configuration& whole, const json& value) {
                              set(section(whole), value);
                          }},
                         decides,
                         kinds});
    }
}

std::vector<Option> make_table() {
    using C = Configuration;
    std::vector<Option> table;
    join<NetworkSettings>(
        table, "network", network_options(), [](C & c) -> auto& { return c.settings.network; });
    join<FeatureSettings>(
        table, "features", feature_options(), [](C & c) -> auto& { return c.settings.features; });
    join<TrainingSettings>(
        table, "training", training_options(), [](C & c) -> auto& { return c.settings.training; });
    join<Clip>(
        table, "clip", clip_options(), [](C & c) -> auto& { return c.settings.clip; });
    join<CertificateSettings>(
        table, "certificate", certificate_options(), [](C & c) -> auto& { return c.settings.certificate; });
    join<Poison>(table, "poison", poison_options(), [](C & c) -> auto& { return c.settings.poison; },
                 {"boxes"});
    join<NoiseSettings>(table, "noise", noise_options(), [](C & c) -> auto& { return c.settings.noise; },
                        {"noisy"});
    join<RobustSettings>(table, "robust", robust_options(), [](C & c) -> auto& { return c.settings.robust; },
                         {"noisy"});
    join<ConvexSettings>(table, "convex", convex_options(), [](C & c) -> auto& { return c.settings.convex; },
                         {"convex"});
    join<DpalSettings>(table, "dpal", dpal_options(), [](C & c) -> auto& { return c.settings.dpal; },
                       {"dpal"});
    join<EnsembleSettings>(
        table, "ensemble", ensemble_options(), [](C & c) -> auto& { return c.settings.ensemble; });
    join<RunSettings>(
        table, "run", run_options(), [](C & c) -> auto& { return c.run; }, {}, false);
    for (Option& option : table) {  // a noisy training makes no distances
        if (option.key.starts_with("certificate.") && option.key != "certificate.relation")
            option.kinds = {"boxes", "convex"};
    }
    return table;
}

std::vector<std::string> known_keys() {
    std::vector<std::string> keys;
    for (const Option& option : option_table()) keys.push_back(option.key);
    return keys;
}

void apply(Configuration& configuration, const std::string& key, const json& value,
           const std::string& where) {
    for (const Option& option : option_table()) {
        if (option.key != key) continue;
        try {
            option.set(configuration, value);
        } catch (const std::string& problem) {
            throw Error(ExitCode::usage, key + " " + problem, option.help, where);
        }
        return;
    }
    const std::string near = nearest_name(key, known_keys());
    throw Error(ExitCode::usage, "unknown key " + key,
                near.empty() ? "holdfast train --help lists them" : "did you mean " + near + "?", where);
}

/// Where a key was given, and was so explicitly.
using Given = std::map<std::string, std::string>;

/// What is given and passes unread would be believed: noise that no box training adds.
void require_of_kind(const Given& given, const std::string& kind) {
    for (const Option& option : option_table()) {
        const auto found = given.find(option.key);
        if (found == given.end() || option.kinds.empty() ||
            std::find(option.kinds.begin(), option.kinds.end(), kind) != option.kinds.end())
            continue;
        std::string kinds;
        for (const std::string& name : option.kinds) kinds += (kinds.empty() ? "\"" : " or \"") + name + "\"";
        throw Error(
            ExitCode::usage,
            option.key + " belongs to training.kind = " + kinds + ", and the kind is \"" + kind + "\"",
            "leave it out, or set training.kind", found->second);
    }
}

/// Dates and tables, which no option takes, become null, which none accepts.
json json_of(const toml::node& node) {
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    if (const auto* value = node.as_boolean()) return value->get();
    const auto* values = node.as_array();
    if (values == nullptr) return nullptr;
    json list = json::array();
    for (const toml::node& entry : *values) list.push_back(json_of(entry));
    return list;
}

void apply_toml(Configuration& configuration, const std::string& path, Given& given) {
    std::error_code status;
    if (!std::filesystem::is_regular_file(path, status) || !std::ifstream(path))
        throw Error(ExitCode::usage, "no such configuration file", "jobs/configs has examples", path);
    try {
        const toml::table root = toml::parse_file(path);
        for (const auto& [section, node] : root) {
            const toml::table* table = node.as_table();
            if (table == nullptr) apply(configuration, std::string(section.str()), json_of(node), path);
            if (table == nullptr) continue;
            for (const auto& [name, value] : *table) {
                const std::string key = std::string(section.str()) + "." + std::string(name.str());
                apply(configuration, key, json_of(value), path);
                given[key] = path;
            }
        }
    } catch (const toml::parse_error& error) {
        std::ostringstream line;
        line << "line " << error.source().begin.line << ": " << error.description();
        throw Error(ExitCode::usage, line.str(), "see jobs/configs for examples of TOML", path);
    }
}

/// "8", "[1,2]" as JSON reads them, ".5" as a number too; anything else is a text.
json value_of(const std::string& text) {
    const json value = json::parse(text, nullptr, false);
    if (!value.is_discarded()) return value;
    const auto number = number_of<double>(text);
    return number && std::isfinite(*number) ? json(*number) : json(text);
}

}  // namespace

const std::vector<Option>& option_table() {
    static const std::vector<Option> table = make_table();
    return table;
}

Configuration read_configuration(const std::string& toml_path, const std::vector<std::string>& overrides) {
    Configuration configuration;
    Given given;
    if (!toml_path.empty()) apply_toml(configuration, toml_path, given);
    for (const std::string& assignment : overrides) {
        const std::size_t equals = assignment.find('=');
        if (equals == std::string::npos)
            throw Error(ExitCode::usage, "\"" + assignment + "\" is not section.key=value",
                        "as --set training.epochs=8", "--set");
        apply(configuration, assignment.substr(0, equals), value_of(assignment.substr(equals + 1)), "--set");
        given[assignment.substr(0, equals)] = "--set";
    }
    require_of_kind(given, configuration.settings.training.kind);
    check(configuration.settings);
    return configuration;
}

json to_json(const Configuration& configuration) {
    json values = json::object();
    for (const Option& option : option_table()) values[option.key] = option.get(configuration);
    return values;
}

Configuration configuration_from_json(const json& values) {
    Configuration configuration;
    for (const auto& [key, value] : values.items()) apply(configuration, key, value, "manifest.json");
    check(configuration.settings);
    return configuration;
}

std::string deciding_settings(const Settings& settings) {
    const Configuration configuration{settings, {}};
    json values = json::object();
    for (const Option& option : option_table()) {
        if (option.decides) values[option.key] = option.get(configuration);
    }
    return values.dump();
}

std::string options_help() {
    std::string help =
        "Options of the configuration file ([section] key = value) and of --set section.key=value:\n";
    const json defaults = to_json(Configuration{});
    for (const Option& option : option_table()) {
        help += "  " + option.key + std::string(std::max<std::size_t>(1, 32 - option.key.size()), ' ') +
                option.help + "; default " + defaults[option.key].dump() + "\n";
    }
    return help;
}

}  // namespace holdfast
