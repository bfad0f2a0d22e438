#include "jobs/study/report/read_run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dist/runs/manifest.hpp"
#include "jobs/study/report/read_fleet.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using Facts = nlohmann::json;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

const Facts& field(const Facts& object, const char* name) {
    static const Facts null;
    if (object.is_null()) return null;
    const auto found = object.find(name);
    return found == object.end() ? null : *found;
}

[[noreturn]] void wrong_type(const char* name, const char* expected, const Facts& value) {
    throw Error(ExitCode::input,
                std::string("field \"") + name + "\" must be " + expected + ", found " + value.dump());
}

double number(const Facts& value, const char* name) {
    if (value.is_null()) return missing;  // also how JSON spells NaN
    if (!value.is_number()) wrong_type(name, "a number", value);
    return value.get<double>();
}

double number_field(const Facts& object, const char* name) {
    return number(field(object, name), name);
}

bool flag_field(const Facts& object, const char* name, bool otherwise) {
    const Facts& value = field(object, name);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) wrong_type(name, "true or false", value);
    return value.get<bool>();
}

std::string text_field(const Facts& object, const char* name) {
    const Facts& value = field(object, name);
    if (value.is_null()) return "";
    if (!value.is_string()) wrong_type(name, "a text", value);
    return value.get<std::string>();
}

const Facts& object_field(const Facts& object, const char* name) {
    const Facts& value = field(object, name);
    if (!value.is_null() && !value.is_object()) wrong_type(name, "an object", value);
    return value;
}

const Facts& list_field(const Facts& object, const char* name) {
    const Facts& value = field(object, name);
    if (!value.is_null() && !value.is_array()) wrong_type(name, "a list", value);
    return value;
}

std::vector<double> number_list(const Facts& object, const char* name) {
    std::vector<double> values;
    for (const Facts& value : list_field(object, name)) values.push_back(number(value, name));
    return values;
}

std::vector<std::string> text_list(const Facts& object, const char* name) {
    std::vector<std::string> values;
    for (const Facts& value : list_field(object, name)) {
        if (!value.is_string()) wrong_type(name, "a list of texts", value);
        values.push_back(value.get<std::string>());
    }
    return values;
}

// Any value as its reader would write it: texts without quotes, the rest as JSON.
std::vector<std::pair<std::string, std::string>> named_values(const nlohmann::json& object) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& [key, value] : object.items())
        values.emplace_back(key, value.is_string() ? value.get<std::string>() : value.dump());
    return values;
}

/// Older manifests leave counts out, which are 0 nowhere.
double figure(std::uint64_t count) {
    return count == 0 ? missing : static_cast<double>(count);
}

ManifestView view_of(const RunManifest& manifest) {
    nlohmann::json fields = manifest.to_json();
    for (const char* const name : {"schema", "feature_names"})  // long, and in the dataset
        fields.at("dataset").erase(name);
    return {.kind = manifest.kind,
            .token = text_field(manifest.payment, "token"),
            .program = manifest.program,
            .version = manifest.version,
            .digest = manifest.digest,
            .relation = manifest.relation,
            .configuration = named_values(manifest.configuration),
            .dataset = named_values(fields.at("dataset")),
            .steps = figure(manifest.steps),
            .members = figure(manifest.members),
            .parameters = figure(manifest.parameters),
            .epsilon = number_field(manifest.payment, "epsilon"),
            .delta = number_field(manifest.payment, "delta"),
            .levels = {manifest.levels.begin(), manifest.levels.end()},
            .guarantee = guarantee_field(fields)};
}

TrainingRow parse_training_row(const Facts& json) {
    return {.member = number_field(json, "member"),
            .step = number_field(json, "step"),
            .level = number_field(json, "level"),
            .accuracy = number_field(json, "accuracy"),
            .accuracy_lower = number_field(json, "accuracy_lower"),
            .accuracy_upper = number_field(json, "accuracy_upper"),
            .width_mean = number_field(json, "width_mean"),
            .width_max = number_field(json, "width_max"),
            .layer_width_mean = number_list(json, "layer_width_mean"),
            .charge_share = number_list(json, "charge_share"),
            .undecided = number_list(json, "undecided")};
}

void require_same_length(const Distribution& distribution, const char* name) {
    if (distribution.at.size() == distribution.amount.size()) return;
    throw Error(ExitCode::input, std::string("\"") + name + "\" has " +
                                     std::to_string(distribution.at.size()) + " positions for " +
                                     std::to_string(distribution.amount.size()) + " values");
}

// Amounts at 0, 1, 2, … (distances) or at the levels of the evaluation (fractions).
Distribution by_position(std::vector<double> amount, const std::vector<double>& levels) {
    Distribution distribution{{}, std::move(amount)};
    const bool at_levels = levels.size() == distribution.amount.size();
    for (std::size_t i = 0; i < distribution.amount.size(); ++i) {
        distribution.at.push_back(at_levels ? levels[i] : static_cast<double>(i));
    }
    return distribution;
}

Distribution by_key(const Facts& object, const char* name, const char* at, const char* amount) {
    const Facts& json = object_field(object, name);
    Distribution distribution{number_list(json, at), number_list(json, amount)};
    require_same_length(distribution, name);
    return distribution;
}

PrivateAccuracy parse_private_accuracy(const Facts& json, std::size_t epsilons) {
    PrivateAccuracy row{.mechanism = text_field(json, "mechanism"),
                        .setting = text_field(json, "setting"),
                        .delta = number_field(json, "delta"),
                        .accuracy = number_list(json, "accuracy"),
                        .guarantee = guarantee_field(json)};
    if (row.accuracy.size() != epsilons) {
        throw Error(ExitCode::input, "\"private_accuracy\" of " + row.mechanism + " has " +
                                         std::to_string(row.accuracy.size()) + " values for " +
                                         std::to_string(epsilons) + " epsilons");
    }
    return row;
}

BudgetRoute parse_route(const Facts& json, std::size_t numbers) {
    BudgetRoute row{.route = text_field(json, "route"),
                    .setting = text_field(json, "setting"),
                    .accuracy = number_list(json, "accuracy"),
                    .guarantee = guarantee_field(json)};
    if (row.accuracy.size() != numbers) {
        throw Error(ExitCode::input, "\"routes\" of " + row.route + " has " +
                                         std::to_string(row.accuracy.size()) + " values for " +
                                         std::to_string(numbers) + " numbers of answers");
    }
    return row;
}

std::optional<BudgetFigures> parse_budget_accuracy(const Facts& json) {
    if (json.is_null()) return std::nullopt;
    BudgetFigures budget{.epsilon = number_field(json, "epsilon"),
                         .delta = number_field(json, "delta"),
                         .answers = number_list(json, "answers"),
                         .routes = {},
                         .refused = text_field(json, "refused")};
    for (const Facts& row : list_field(json, "routes"))
        budget.routes.push_back(parse_route(row, budget.answers.size()));
    return budget;
}

CertifiedLoss parse_certified_loss(const Facts& json) {
    CertifiedLoss losses{.loss = text_field(json, "loss"), .k = {}, .best = {}, .nominal = {}, .worst = {}};
    for (const Facts& row : list_field(json, "levels")) {
        losses.k.push_back(number_field(row, "k"));
        losses.best.push_back(number_field(row, "best"));
        losses.nominal.push_back(number_field(row, "nominal"));
        losses.worst.push_back(number_field(row, "worst"));
    }
    return losses;
}

RunEvaluation parse_evaluation(const Facts& json) {
    const Facts& accuracy = object_field(json, "accuracy");
    const Facts& certified = object_field(json, "certified_fraction");
    const Facts& distances = object_field(json, "distances");
    const Facts& quality = object_field(json, "quality");
    const std::vector<double> interval = number_list(quality, "interval");
    RunEvaluation evaluation{
        .data = text_field(json, "data"),
        .relation = text_field(json, "relation"),
        .digest = text_field(json, "digest"),
        .queries = number_field(json, "queries"),
        .classes = number_field(json, "classes"),
        .members = number_field(json, "members"),
        .accuracy_single = number_field(accuracy, "single"),
        .accuracy_ensemble = number_field(accuracy, "ensemble"),
        .accuracy_lowest = interval.empty() ? number_field(quality, "accuracy") : interval.front(),
        .accuracy_highest = interval.empty() ? number_field(quality, "accuracy") : interval.back(),
        .commonest = number_field(quality, "commonest_class"),
        .balanced = number_field(quality, "balanced_accuracy"),
        .auc = number_field(quality, "auc"),
        .brier = number_field(quality, "brier"),
        .log_loss = number_field(quality, "log_loss"),
        .calibration_error = number_field(quality, "calibration_error"),
        .explained = number_field(quality, "explained_variance"),
        .squared_error = number_field(quality, "mean_squared_error"),
        .beats_guessing = flag_field(quality, "beats_guessing", true),
        .tells_classes_apart = flag_field(quality, "tells_classes_apart", false),
        .certified_single = by_position(number_list(certified, "single"), number_list(json, "levels")),
        .certified_ensemble = by_key(certified, "ensemble", "k", "fraction"),
        .distance_single = by_position(number_list(distances, "single"), {}),
        .distance_ensemble = by_key(distances, "ensemble", "value", "count"),
        .epsilons = number_list(json, "epsilons"),
        .private_accuracy = {},
        .budget = parse_budget_accuracy(object_field(json, "budget")),
        .certified_loss = parse_certified_loss(object_field(json, "certified_loss")),
        .rules = {},
        .guarantee = guarantee_field(json)};
    for (const Facts& row : list_field(json, "rules"))
        evaluation.rules.push_back({text_field(row, "rule"), number_field(row, "answered"),
                                    number_field(row, "right"), number_field(row, "accuracy")});
    for (const Facts& row : list_field(json, "private_accuracy")) {
        evaluation.private_accuracy.push_back(parse_private_accuracy(row, evaluation.epsilons.size()));
    }
    return evaluation;
}

// Every complaint about the content of a file gets the file's name and the same remedy.
template <typename Parse>
auto parse_file(const std::string& path, const std::string& remedy, Parse parse) {
    try {
        return parse();
    } catch (const Facts::exception& error) {
        throw Error(ExitCode::input, std::string("malformed JSON: ") + error.what(), remedy, path);
    } catch (const Error& error) {
        throw Error(error.code(), error.message(), remedy, path);
    }
}

/// `path`: for messages.
std::vector<TrainingRow> read_training(const std::string& text, const std::string& path) {
    std::istringstream file(text);
    std::vector<TrainingRow> rows;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        if (line.empty()) continue;
        const std::string where = path + ":" + std::to_string(number);
        rows.push_back(parse_file(where, "remove the line, or train again", [&] {
            const Facts json = Facts::parse(line);
            if (!json.is_object()) throw Error(ExitCode::input, "the line must hold one JSON object");
            return parse_training_row(json);
        }));
    }
    return rows;
}

}  // namespace

std::string ManifestView::dataset_field(const std::string& name) const {
    const auto found =
        std::find_if(dataset.begin(), dataset.end(), [&](const auto& pair) { return pair.first == name; });
    return found == dataset.end() ? "" : found->second;
}

GuaranteeText guarantee_field(const nlohmann::json& object) {
    const Facts& guarantee = object_field(object, "guarantee");
    return {text_field(guarantee, "status"), text_field(guarantee, "statement"),
            text_field(guarantee, "relation"), text_field(guarantee, "gap"),
            text_list(guarantee, "conditions")};
}

RunFiles read_run_files(const std::string& folder) {
    const RunFolder opened = RunFolder::open(folder);
    const char *metrics = "metrics.jsonl", *evaluation = "evaluation.json";
    RunFiles run;
    run.folder = folder;
    const RunManifest manifest = RunManifest::read(opened);
    run.manifest = parse_file(opened.file("manifest.json"), "train again: holdfast train",
                              [&] { return view_of(manifest); });
    if (opened.has(metrics))
        run.training = read_training(opened.read_text(metrics, manifest.metrics), opened.file(metrics));
    if (opened.has(evaluation)) {
        run.evaluation = parse_file(opened.file(evaluation), "write it again: holdfast evaluate",
                                    [&] { return parse_evaluation(opened.read_json(evaluation)); });
    }
    if (run.manifest.fleet()) run.fleet = read_fleet_figures(opened, manifest);
    return run;
}

}  // namespace holdfast
