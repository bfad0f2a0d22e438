#include "jobs/configuration.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dist/store/nearest_name.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

Option integer(std::string key, std::string help, std::int64_t Settings::*field, std::int64_t least,
               std::int64_t most, bool decides = true) {
    help += " [" + std::to_string(least) + ".." + (most == INT64_MAX ? "" : std::to_string(most)) + "]";
    return {std::move(key), std::move(help), decides,
            [field](const Settings& settings) { return json(settings.*field); },
            [=](Settings& settings, const json& value) {
                if (!value.is_number_integer()) throw std::string("wants a whole number");
                const auto number = value.get<std::int64_t>();
                if (number < least || number > most)
                    throw "is " + std::to_string(number) + ", outside " + std::to_string(least) + ".." +
                        (most == INT64_MAX ? "" : std::to_string(most));
                settings.*field = number;
            }};
}

using RealField = std::function<double&(Settings&)>;

// Every clip has a grid in double; of single precision, check_single says what it lacks.
constexpr double least_clip = 1e-100;
static_assert(least_clip >= RealFormat<double>::least_limit);

Option real(std::string key, std::string help, RealField field, double least, bool open, double most = 1e6,
            bool decides = true) {
    std::ostringstream range;
    range << (open ? " (" : " [") << least << ", " << most << "]";
    help += range.str();
    return {std::move(key), std::move(help), decides,
            [field](const Settings& settings) { return json(field(const_cast<Settings&>(settings))); },
            [=, range = range.str()](Settings& settings, const json& value) {
                if (!value.is_number()) throw std::string("wants a number");
                const auto number = value.get<double>();
                if (!(open ? number > least : number >= least) || !(number <= most))
                    throw "is " + (std::isfinite(number) ? value.dump() : "not a finite number") +
                        ", outside" + range;
                field(settings) = number;
            }};
}

template <typename Enum>
Option choice(std::string key, std::string help, std::function<Enum&(Settings&)> field,
              std::vector<std::pair<std::string, Enum>> names) {
    std::string list;
    for (const auto& [name, value] : names) list += (list.empty() ? "" : " | ") + name;
    help += ": " + list;
    return {std::move(key), std::move(help), true,
            [=](const Settings& settings) {
                for (const auto& [name, value] : names) {
                    if (value == field(const_cast<Settings&>(settings))) return json(name);
                }
                return json();
            },
            [=](Settings& settings, const json& value) {
                for (const auto& [name, known] : names) {
                    if (value.is_string() && value.get<std::string>() == name) {
                        field(settings) = known;
                        return;
                    }
                }
                throw "is " + value.dump() + ", not one of " + list;
            }};
}

Option text(std::string key, std::string help, std::string Settings::*field, std::vector<std::string> allowed,
            bool decides) {
    return {std::move(key), std::move(help), decides,
            [field](const Settings& settings) { return json(settings.*field); },
            [=](Settings& settings, const json& value) {
                if (!value.is_string()) throw std::string("wants a text");
                const auto word = value.get<std::string>();
                if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), word) == allowed.end())
                    throw "is \"" + word + "\", not one of those named in its help";
                settings.*field = word;
            }};
}

/// Every entry in 1..2^20: what is wider or farther than that fits no machine.
Option integers(std::string key, std::string help, std::vector<std::int64_t> Settings::*field) {
    constexpr std::int64_t least = 1, most = 1 << 20;
    help += " [" + std::to_string(least) + ".." + std::to_string(most) + " each]";
    return {std::move(key), std::move(help), true,
            [field](const Settings& settings) { return json(settings.*field); },
            [=](Settings& settings, const json& value) {
                if (!value.is_array()) throw std::string("wants a list of whole numbers, as [1, 2]");
                std::vector<std::int64_t> numbers;
                for (const json& entry : value) {
                    if (!entry.is_number_integer() || entry.get<std::int64_t>() < least ||
                        entry.get<std::int64_t>() > most)
                        throw "wants whole numbers in " + std::to_string(least) + ".." +
                            std::to_string(most) + ", not " + entry.dump();
                    numbers.push_back(entry.get<std::int64_t>());
                }
                settings.*field = numbers;
            }};
}

std::vector<Option> make_table() {
    constexpr std::int64_t unlimited = INT64_MAX;
    using S = Settings;
    return {
        integers("network.hidden", "widths of the hidden layers, [] for none", &S::hidden),
        integer("network.classes", "public number of classes", &S::classes, 2, 1000),
        text("network.loss", "auto | binary_cross_entropy (one logit) | cross_entropy (a logit a class)",
             &S::loss, {"auto", "binary_cross_entropy", "cross_entropy"}, true),
        real(
            "network.input_shift", "public constant: the network sees (x - shift) * scale",
            [](S& s) -> double& { return s.input_shift; }, -1e6, false),
        real(
            "network.input_scale", "the scale", [](S& s) -> double& { return s.input_scale; }, 0, true),
        integer("training.epochs", "passes over the records", &S::epochs, 1, 1000000),
        integer("training.batches", "batches a member's epoch is cut into", &S::batches, 1, 1000000),
        real(
            "training.learning_rate", "alpha", [](S& s) -> double& { return s.learning_rate; }, 0, true),
        real(
            "training.learning_rate_decay", "alpha_t = max(alpha / (1 + decay t), floor)",
            [](S& s) -> double& { return s.learning_rate_decay; }, 0, false),
        real(
            "training.learning_rate_floor", "the floor",
            [](S& s) -> double& { return s.learning_rate_floor; }, 0, false),
        real(
            "training.l2", "weight decay lambda", [](S& s) -> double& { return s.l2; }, 0, false),
        integer("training.expected_records",
                "public number of private records, sets the normaliser B; 0: what the dataset states (import "
                "--expected-records), else the count found, on which no release may rest",
                &S::expected_records, 0, unlimited),
        choice<Normalise>("training.normalise",
                          "divide by the public B or, as published, by the batch's count",
                          [](S& s) -> Normalise& { return s.normalise; },
                          {{"expected", Normalise::expected}, {"actual", Normalise::actual}}),
        choice<Batching>("training.batching",
                         "batch of a record: by keyed hash of its id or, as published, by its row",
                         [](S& s) -> Batching& { return s.batching; },
                         {{"hashed", Batching::hashed}, {"sequential", Batching::sequential}}),
        integer("training.batch_size", "rows of a sequential batch", &S::batch_size, 0, unlimited),
        integer("training.seed", "public seed of the initial weights and the assignment", &S::seed, 0,
                unlimited),
        choice<Precision>("training.precision",
                          "type a step is computed in; the boxes hold bit by bit for runs in the same, which "
                          "certify, evaluate and release keep to",
                          [](S& s) -> Precision& { return s.precision; },
                          {{"double", Precision::double_precision}, {"single", Precision::single_precision}}),
        choice<Clip::Kind>("clip.kind", "bound of one record's gradient",
                           [](S& s) -> Clip::Kind& { return s.clip.kind; },
                           {{"elementwise", Clip::Kind::elementwise}, {"factored", Clip::Kind::factored}}),
        real(
            "clip.gamma", "elementwise: every entry within +-gamma",
            [](S& s) -> double& { return s.clip.gamma; }, least_clip, false),
        real(
            "clip.delta_limit", "factored: a, of the backward factor",
            [](S& s) -> double& { return s.clip.delta_limit; }, least_clip, false),
        real(
            "clip.activation_limit", "factored: c, of the activations; gamma is a c",
            [](S& s) -> double& { return s.clip.activation_limit; }, least_clip, false),
        integer("certificate.levels", "K: boxes for every k = 0..K changed records", &S::levels, 0, 1 << 20),
        integers("certificate.level_list",
                 "boxes for these k alone: certificates and reports, never a private release",
                 &S::level_list),
        choice<Relation>("certificate.relation", "what a neighbouring dataset is",
                         [](S& s) -> Relation& { return s.relation; },
                         {{"add_remove", Relation::add_remove},
                          {"substitute", Relation::substitute},
                          {"remove", Relation::remove}}),
        choice<ChargeRule>("certificate.budget",
                           "changed records act once an epoch (core + radius) or in every batch",
                           [](S& s) -> ChargeRule& { return s.budget; },
                           {{"per_epoch", ChargeRule::per_epoch}, {"per_batch", ChargeRule::per_batch}}),
        choice<Product>("certificate.product", "interval products: exact or, as published, midpoint-radius",
                        [](S& s) -> Product& { return s.product; },
                        {{"exact", Product::exact}, {"rump", Product::rump}}),
        integer("ensemble.members", "T: models on disjoint records", &S::members, 1, 100000),
        text("ensemble.aggregate", "stable | paper (Theorem 5.3 as published)", &S::aggregate,
             {"stable", "paper"}, true),
        text("run.backend", "auto | cpu | cuda | reference", &S::backend,
             {"auto", "cpu", "cuda", "reference"}, false),
        integer("run.threads", "threads a rank; 0: OMP_NUM_THREADS or all cores", &S::threads, 0, 4096,
                false),
        text("run.grid", "ranks as MEMBERSxLEVELSxBLOCKS, or auto", &S::grid, {}, false),
        text("run.transport",
             "what adds a step's sums: auto | mpi (host memory) | nccl (GPU memory, one rank a GPU); auto: "
             "nccl "
             "where there are several such ranks",
             &S::transport, {"auto", "mpi", "nccl"}, false),
        real(
            "run.transport_timeout", "nccl: seconds to wait for the other ranks' sums",
            [](S& s) -> double& { return s.transport_timeout; }, 0, true, 1e6, false),
        integer("run.checkpoint_steps", "checkpoint every so many steps; 0: by time only",
                &S::checkpoint_steps, 0, unlimited, false),
        real(
            "run.checkpoint_seconds", "checkpoint after so many seconds; 0: never by time",
            [](S& s) -> double& { return s.checkpoint_seconds; }, 0, false, 1e9, false),
    };
}

std::vector<std::string> known_keys() {
    std::vector<std::string> keys;
    for (const Option& option : option_table()) keys.push_back(option.key);
    return keys;
}

void apply(Settings& settings, const std::string& key, const json& value, const std::string& where) {
    for (const Option& option : option_table()) {
        if (option.key != key) continue;
        try {
            option.set(settings, value);
        } catch (const std::string& problem) {
            throw Error(ExitCode::usage, key + " " + problem, option.help, where);
        }
        return;
    }
    const std::string near = nearest_name(key, known_keys());
    throw Error(ExitCode::usage, "unknown key " + key,
                near.empty() ? "holdfast train --help lists them" : "did you mean " + near + "?", where);
}

/// Dates and tables, which no option takes, become null, which none accepts.
json to_json(const toml::node& node) {
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    if (const auto* value = node.as_boolean()) return value->get();
    const auto* values = node.as_array();
    if (values == nullptr) return nullptr;
    json list = json::array();
    for (const toml::node& entry : *values) list.push_back(to_json(entry));
    return list;
}

void apply_toml(Settings& settings, const std::string& path) {
    std::error_code status;
    if (!std::filesystem::is_regular_file(path, status) || !std::ifstream(path))
        throw Error(ExitCode::usage, "no such configuration file", "jobs/configs has examples", path);
    try {
        const toml::table root = toml::parse_file(path);
        for (const auto& [section, node] : root) {
            const toml::table* table = node.as_table();
            if (table == nullptr) apply(settings, std::string(section.str()), to_json(node), path);
            if (table == nullptr) continue;
            for (const auto& [name, value] : *table)
                apply(settings, std::string(section.str()) + "." + std::string(name.str()), to_json(value),
                      path);
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
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    return status == std::errc() && end == text.data() + text.size() && std::isfinite(number) ? json(number)
                                                                                              : json(text);
}

void refuse(const std::string& message, const std::string& hint, const std::string& key) {
    throw Error(ExitCode::usage, message, hint, key);
}

void check_single(const Settings& settings) {
    if (settings.product == Product::rump) {
        refuse("midpoint-radius products are computed in double alone",
               "set training.precision = \"double\" or certificate.product = \"exact\"",
               "training.precision");
    }
    const auto check_limit = [](double limit, const char* key) {
        if (limit < RealFormat<float>::least_limit)
            refuse("a bound below 2^-99 has no grid in single precision",
                   "raise it, or set training.precision = \"double\"", key);
    };
    if (settings.clip.kind == Clip::Kind::elementwise) check_limit(settings.clip.gamma, "clip.gamma");
    if (settings.clip.kind == Clip::Kind::factored) {
        check_limit(settings.clip.delta_limit, "clip.delta_limit");
        check_limit(settings.clip.activation_limit, "clip.activation_limit");
    }
}

void check_together(const Settings& settings) {
    const bool charges_less = settings.relation == Relation::add_remove;
    if (settings.clip.kind == Clip::Kind::factored && !charges_less) {
        refuse("factored clipping goes with add_remove only",
               "set certificate.relation = \"add_remove\" or clip.kind = \"elementwise\"", "clip.kind");
    }
    if (settings.clip.kind == Clip::Kind::factored && settings.product == Product::rump) {
        refuse("factored clipping has exact products only", "set certificate.product = \"exact\"",
               "certificate.product");
    }
    if (settings.precision == Precision::single_precision) check_single(settings);
    if (settings.batching == Batching::sequential) {
        if (settings.batch_size < 1)
            refuse("sequential batches need their size", "set training.batch_size", "training.batch_size");
        if (settings.members > 1)
            refuse("sequential batches are for one member", "set training.batching = \"hashed\"",
                   "training.batching");
    }
    if (settings.loss == "binary_cross_entropy" && settings.classes != 2) {
        refuse("one logit tells two classes apart, not " + std::to_string(settings.classes),
               "set network.loss = \"cross_entropy\"", "network.loss");
    }
    if (settings.aggregate == "paper" && settings.classes != 2) {
        refuse("aggregate = \"paper\" is for two classes", "set ensemble.aggregate = \"stable\"",
               "ensemble.aggregate");
    }
}

}  // namespace

const std::vector<Option>& option_table() {
    static const std::vector<Option> table = make_table();
    return table;
}

Settings read_settings(const std::string& toml_path, const std::vector<std::string>& overrides) {
    Settings settings;
    if (!toml_path.empty()) apply_toml(settings, toml_path);
    for (const std::string& assignment : overrides) {
        const std::size_t equals = assignment.find('=');
        if (equals == std::string::npos)
            throw Error(ExitCode::usage, "\"" + assignment + "\" is not section.key=value",
                        "as --set training.epochs=8", "--set");
        apply(settings, assignment.substr(0, equals), value_of(assignment.substr(equals + 1)), "--set");
    }
    check_together(settings);
    return settings;
}

json settings_to_json(const Settings& settings) {
    json values = json::object();
    for (const Option& option : option_table()) values[option.key] = option.get(settings);
    return values;
}

Settings settings_from_json(const json& values) {
    Settings settings;
    for (const auto& [key, value] : values.items()) apply(settings, key, value, "manifest.json");
    check_together(settings);
    return settings;
}

std::string deciding_settings(const Settings& settings) {
    json values = json::object();
    for (const Option& option : option_table()) {
        if (option.decides) values[option.key] = option.get(settings);
    }
    return values.dump();
}

std::string settings_help() {
    std::string help =
        "Options of the configuration file ([section] key = value) and of --set section.key=value:\n";
    const json defaults = settings_to_json(Settings{});
    for (const Option& option : option_table()) {
        help += "  " + option.key + std::string(std::max<std::size_t>(1, 32 - option.key.size()), ' ') +
                option.help + "; default " + defaults[option.key].dump() + "\n";
    }
    return help;
}

}  // namespace holdfast
