#include "dist/runs/manifest.hpp"

#include "dist/files/json_fields.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using Fields = JsonFields;

constexpr const char* file_name = "manifest.json";

/// Runs written before ids had kinds say whether the file had any.
IdKind ids_of(const Fields& dataset) {
    const json& value = *dataset.find("ids", true);
    if (value.is_boolean()) return value.get<bool>() ? IdKind::given : IdKind::row_number;
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

/// Runs written before splits said how they were made: ids that the records name deal each on its own.
Dealt dealt_of(const Fields& dataset, IdKind ids) {
    const json* value = dataset.find("dealt", false);
    if (value == nullptr) return ids == IdKind::given ? Dealt::no : Dealt::unknown;
    const std::optional<Dealt> dealt = value->is_string() ? dealt_named(*value) : std::nullopt;
    if (!dealt) dataset.wrong("dealt", "what a split was dealt by", *value);
    return *dealt;
}

bool count_found_of(const Fields& dataset) {
    const json* value = dataset.find("count_found", false);
    if (value == nullptr) return false;
    if (!value->is_boolean()) dataset.wrong("count_found", "true or false", *value);
    return value->get<bool>();
}

DatasetFacts dataset_of(const Fields& fields) {
    return {fields.text("path"),
            fields.count("rows"),
            fields.count("features", true),
            fields.count("classes"),
            scaling_named(fields.text("scaling", true)).value_or(Scaling::unknown),
            ids_of(fields),
            range_of(fields, "range"),
            fields.text("population"),
            fields.text("digest", true)};
}

/// Runs written before their digest was kept say how many there were.
PublicRecords public_records_of(const Fields& manifest, bool complete) {
    const json* value = manifest.find("public", false);
    if (value == nullptr)
        return {manifest.find("public_records", false) ? manifest.count("public_records") : 0, ""};
    if (!value->is_object()) manifest.wrong("public", "an object", *value);
    const Fields fields(*value, "public.", complete);
    PublicRecords records{fields.count("records", true), fields.text("digest", true)};
    const Fields optional(*value, "public.", false);  // stated where a step depends on it
    if (optional.find("order", false) != nullptr) records.order = optional.text("order");
    return records;
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

bool sample_of(const Fields& manifest) {
    const json* value = manifest.find("sample", false);
    if (value == nullptr) return false;
    if (!value->is_boolean()) manifest.wrong("sample", "true or false", *value);
    return value->get<bool>();
}

/// 1 where none is stated.
std::uint64_t format_of(const json& object) {
    const Fields fields(object, "", false);
    return fields.find("format", false) ? fields.count("format") : 1;
}

RunManifest parsed(const json& object) {
    if (!object.is_object()) throw std::string("must hold one JSON object");
    RunManifest manifest;
    manifest.format = format_of(object);
    const bool complete = manifest.format >= 2;
    const Fields fields(object, "", complete);
    manifest.kind = complete ? fields.text("kind") : "boxes";
    manifest.program = fields.text("program");
    manifest.version = fields.text("version");
    manifest.configuration = fields.object("configuration", true);
    const json dataset = fields.object("dataset", true);
    manifest.dataset = dataset_of(Fields(dataset, "dataset.", complete));
    manifest.dataset.target_range =  // stated where it is not the default
        range_of(Fields(dataset, "dataset.", false), "target_range");
    manifest.dataset.dealt = dealt_of(Fields(dataset, "dataset.", false), manifest.dataset.ids);
    manifest.dataset.count_found = count_found_of(Fields(dataset, "dataset.", false));
    manifest.public_records = public_records_of(fields, complete);
    manifest.members = fields.count("members");
    manifest.steps = fields.count("steps");
    manifest.parameters = fields.count("parameters");
    manifest.levels = levels_of(fields);
    manifest.layers = layers_of(fields);
    manifest.normaliser = fields.number("normaliser");
    manifest.relation = fields.text("relation");
    manifest.sample = sample_of(Fields(object, "", false));
    manifest.digest = fields.text("digest");
    manifest.arithmetic = fields.object("arithmetic");
    manifest.guarantee = fields.object("guarantee");
    if (manifest.format >= 3) manifest.payment = payment_of(fields);
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
                     {"count_found", dataset.count_found},
                     {"range", {dataset.range.low, dataset.range.high}},
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
    if (!public_records.order.empty()) object["public"]["order"] = public_records.order;
    if (const FeatureRange range = dataset.target_range; range != default_feature_range)
        object["dataset"]["target_range"] = {range.low, range.high};
    return object;
}

void RunManifest::write(const RunFolder& run) const {
    run.write_json(file_name, to_json());
}

RunManifest RunManifest::read(const RunFolder& run) {
    const std::string file = run.file(file_name);
    const json object = run.read_json(file_name);
    try {
        const std::uint64_t format = object.is_object() ? format_of(object) : 1;
        if (format > newest_format)
            throw Error(ExitCode::input,
                        "a run of format " + std::to_string(format) + ", newer than this program reads (" +
                            std::to_string(newest_format) + ")",
                        "open it with the program that wrote it, or a newer one", file);
        return parsed(object);
    } catch (const std::string& problem) {
        throw Error(ExitCode::input, problem,
                    "the file is damaged or no manifest of this program: restore it, or train again", file);
    }
}

}  // namespace holdfast
