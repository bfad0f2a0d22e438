#include "dist/runs/manifest.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/files/json_fields.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using Fields = JsonFields;

constexpr const char* file_name = "manifest.json";

IdKind ids_of(const Fields& dataset) {
    const json& value = *dataset.find("ids", true);
    const std::optional<IdKind> kind = value.is_string() ? ids_named(value) : std::nullopt;
    if (!kind) dataset.wrong("ids", "a kind of ids", value);
    return *kind;
}

FeatureRange range_of(const Fields& dataset, const char* name) {
    const json* value = dataset.find(name, false);
    if (value == nullptr) return default_feature_range;
    if (!value->is_array() || value->size() != 2 || !(*value)[0].is_number() || !(*value)[1].is_number() ||
        !((*value)[0].get<double>() < (*value)[1].get<double>()))
        dataset.wrong(name, "[low, high], low below high", *value);
    return {(*value)[0], (*value)[1]};
}

Dealt dealt_of(const Fields& dataset) {
    const json& value = *dataset.find("dealt", true);
    const std::optional<Dealt> dealt = value.is_string() ? dealt_named(value) : std::nullopt;
    if (!dealt) dataset.wrong("dealt", "what a split was dealt by", value);
    return *dealt;
}

/// Not stated: false.
bool is_stated(const Fields& fields, const char* name) {
    const json* value = fields.find(name, false);
    if (value == nullptr) return false;
    if (!value->is_boolean()) fields.wrong(name, "true or false", *value);
    return value->get<bool>();
}

/// Stated where a person is the unit.
Unit unit_of(const json& dataset) {
    return dataset.contains("unit") && dataset["unit"] == name_of(Unit::person) ? Unit::person : Unit::row;
}

/// Null: not known.
std::string schema_of(const Fields& dataset) {
    if (dataset.find("schema", true)->is_null()) return "";
    return dataset.object("schema").dump();
}

std::vector<std::string> texts_of(const Fields& fields, const char* name) {
    const json* value = fields.find(name, false);
    if (value == nullptr) return {};
    const auto is_text = [](const json& text) { return text.is_string(); };
    if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_text))
        fields.wrong(name, "a list of texts", *value);
    return value->get<std::vector<std::string>>();
}

/// A range that is not stated is the default one.
DatasetFacts dataset_of(const json& dataset) {
    const Fields fields(dataset, "dataset.", true), optional(dataset, "dataset.", false);
    fields.find("count_found", true);
    DatasetFacts facts;
    facts.path = fields.text("path");
    facts.rows = fields.count("rows");
    facts.features = fields.count("features");
    facts.classes = fields.count("classes");
    facts.digest = fields.text("digest");
    facts.scaling = scaling_named(fields.text("scaling")).value_or(Scaling::unknown);
    facts.ids = ids_of(fields);
    facts.expected_records = fields.count("expected_records");
    facts.population = fields.text("population");
    facts.range = range_of(fields, "range");
    facts.target_range = range_of(optional, "target_range");
    facts.feature_names = texts_of(optional, "feature_names");
    facts.count_found = is_stated(fields, "count_found");
    facts.dealt = dealt_of(fields);
    facts.unit = unit_of(dataset);
    facts.rows_at_most = dataset.contains("rows_at_most") ? fields.count("rows_at_most") : 1;
    facts.schema = schema_of(fields);
    facts.count_measured = is_stated(optional, "count_measured");
    facts.measured = optional.text("measured");
    facts.label_law = optional.text("label_law");
    facts.labels_select = is_stated(optional, "labels_select");
    return facts;
}

PublicRecords public_records_of(const Fields& manifest) {
    const json value = manifest.object("public");
    const Fields fields(value, "public.", true), optional(value, "public.", false);
    return {fields.count("records"), fields.text("digest"),
            optional.text("order")};  // stated where a step depends on it
}

std::vector<std::int64_t> levels_of(const Fields& manifest) {
    std::vector<std::int64_t> levels;
    for (const json& level : manifest.list("levels"))
        levels.push_back(manifest.signed_count(level, "levels"));
    return levels;
}

std::vector<std::vector<std::uint64_t>> layers_of(const Fields& manifest) {
    std::vector<std::vector<std::uint64_t>> layers;
    for (const json& layer : manifest.list("layers")) {
        if (!layer.is_array() || layer.size() != 2) manifest.wrong("layers", "a list of [in, out]", layer);
        layers.push_back({manifest.whole(layer[0], "layers"), manifest.whole(layer[1], "layers")});
    }
    return layers;
}

json payment_of(const Fields& manifest) {
    if (manifest.find("payment", true)->is_null()) return nullptr;
    const json payment = manifest.object("payment");
    const Fields fields(payment, "payment.", true);
    return {{"token", fields.text("token")},
            {"epsilon", fields.number("epsilon")},
            {"delta", fields.number("delta")},
            {"mechanism", fields.text("mechanism")},
            {"parameters", fields.object("parameters")}};
}

RunManifest parsed(const json& object) {
    const Fields fields(object, "", true), optional(object, "", false);
    RunManifest manifest;
    manifest.kind = fields.text("kind");
    manifest.program = fields.text("program");
    manifest.version = fields.text("version");
    manifest.configuration = fields.object("configuration");
    manifest.dataset = dataset_of(fields.object("dataset"));
    manifest.public_records = public_records_of(fields);
    manifest.members = fields.count("members");
    manifest.steps = fields.count("steps");
    manifest.parameters = fields.count("parameters");
    manifest.levels = levels_of(fields);
    manifest.layers = layers_of(fields);
    manifest.normaliser = fields.number("normaliser");
    manifest.relation = fields.text("relation");
    manifest.sample = is_stated(optional, "sample");
    manifest.digest = fields.text("digest");
    manifest.metrics = optional.text("metrics");
    manifest.arithmetic = fields.object("arithmetic");
    manifest.guarantee = fields.object("guarantee");
    manifest.payment = payment_of(fields);
    return manifest;
}

}  // namespace

json RunManifest::to_json() const {
    json object = {{"format", format},
                   {"kind", kind},
                   {"program", program},
                   {"version", version},
                   {"configuration", configuration},
                   {"dataset",
                    {{"path", dataset.path},
                     {"rows", dataset.rows},
                     {"features", dataset.features},
                     {"classes", dataset.classes},
                     {"scaling", name_of(dataset.scaling)},
                     {"ids", name_of(dataset.ids)},
                     {"dealt", name_of(dataset.dealt)},
                     {"expected_records", dataset.expected_records},
                     {"count_found", dataset.count_found},
                     {"range", {dataset.range.low, dataset.range.high}},
                     {"schema", dataset.schema.empty() ? json() : json::parse(dataset.schema)},
                     {"population", dataset.population},
                     {"digest", dataset.digest}}},
                   {"public", {{"records", public_records.records}, {"digest", public_records.digest}}},
                   {"members", members},
                   {"steps", steps},
                   {"parameters", parameters},
                   {"levels", levels},
                   {"layers", layers},
                   {"normaliser", normaliser},
                   {"relation", relation},
                   {"digest", digest},
                   {"arithmetic", arithmetic},
                   {"guarantee", guarantee},
                   {"payment", payment}};
    if (sample) object["sample"] = true;
    if (!metrics.empty()) object["metrics"] = metrics;
    if (!public_records.order.empty()) object["public"]["order"] = public_records.order;
    if (dataset.count_measured) object["dataset"]["count_measured"] = true;
    if (!dataset.feature_names.empty()) object["dataset"]["feature_names"] = dataset.feature_names;
    if (!dataset.measured.empty()) object["dataset"]["measured"] = dataset.measured;
    if (!dataset.label_law.empty()) object["dataset"]["label_law"] = dataset.label_law;
    if (dataset.labels_select) object["dataset"]["labels_select"] = true;
    if (const FeatureRange range = dataset.target_range; range != default_feature_range)
        object["dataset"]["target_range"] = {range.low, range.high};
    if (dataset.unit == Unit::person) {
        object["dataset"]["unit"] = name_of(dataset.unit);
        object["dataset"]["rows_at_most"] = dataset.rows_at_most;
    }
    return object;
}

void RunManifest::write(const RunFolder& run) const {
    run.write_json(file_name, to_json());
}

RunManifest RunManifest::read(const RunFolder& run) {
    const std::string file = run.file(file_name);
    const json object = run.read_json(file_name);
    try {
        if (!object.is_object()) throw std::string("must hold one JSON object");
        const std::uint64_t found = Fields(object, "", true).count("format");
        if (found == format) return parsed(object);
        throw Error(ExitCode::input,
                    "a run of format " + std::to_string(found) + ", and this program reads format " +
                        std::to_string(format),
                    "open it with the program that wrote it, or train again", file);
    } catch (const std::string& problem) {
        throw Error(ExitCode::input, problem,
                    "the file is damaged or no manifest of this program: restore it, or train again", file);
    }
}

}  // namespace holdfast
