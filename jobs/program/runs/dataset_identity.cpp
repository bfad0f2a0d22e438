#include "jobs/program/runs/dataset_identity.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/comm/communicator.hpp"
#include "dist/data/import_records.hpp"
#include "dist/data/record_id.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/program/build_info.hpp"
#include "jobs/program/configuration.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::size_t rows_worth_threads = 1024;

/// The identity of records as they come, in the order of their file.
class Identifier {
  public:
    void add(const Records& records);
    /// Of the file that states these facts of them. Once.
    DatasetIdentity identity(const PublicFacts& facts);

  private:
    RecordDigest digest_;
    DatasetIdentity found_;
};

void Identifier::add(const Records& records) {
    const std::vector<std::uint64_t> contents = hash_contents(records);
    digest_.add(records);
    found_.contents.insert(found_.contents.end(), contents.begin(), contents.end());
    found_.ids.insert(found_.ids.end(), records.ids.begin(), records.ids.end());
}

DatasetIdentity Identifier::identity(const PublicFacts& facts) {
    DatasetIdentity identity = std::move(found_);
    identity.population = facts.population;
    identity.id_kind = name_of(facts.ids);
    if (facts.ids == IdKind::row_number) identity.ids.clear();
    if (facts.rows_at_most > 1) {  // a person once
        std::sort(identity.ids.begin(), identity.ids.end());
        identity.ids.erase(std::unique(identity.ids.begin(), identity.ids.end()), identity.ids.end());
    }
    identity.digest = digest_.hex(*make_serial_communicator());
    return identity;
}

}  // namespace

std::vector<std::uint64_t> hash_contents(const Records& records) {
    const std::vector<double> no_label(contents_together, 0);
    const std::size_t columns = records.features.columns();
    std::vector<std::uint64_t> contents(records.size());
    std::vector<double> features;
#pragma omp parallel for schedule(static) firstprivate(features) if (records.size() >= rows_worth_threads)
    for (std::size_t row = 0; row < records.size(); row += contents_together) {
        const std::size_t some = std::min(contents_together, records.size() - row);
        features.clear();
        for (std::size_t i = row; i < row + some; ++i)
            for (std::size_t column = 0; column < columns; ++column)
                features.push_back(records.features.at(i, column));
        ids_of_contents(features, no_label, std::span(contents).subspan(row, some));
    }
    return contents;
}

DatasetFacts dataset_facts(const DatasetInfo& info, std::int64_t classes, std::string digest) {
    DatasetFacts facts;
    static_cast<PublicFacts&>(facts) = info;
    facts.path = info.path;
    facts.rows = info.rows;
    facts.features = info.features;
    facts.classes = static_cast<std::uint64_t>(classes);
    facts.digest = std::move(digest);
    return facts;
}

RunManifest manifest_of(const TrainingPlan& plan, const RunSettings& how, const DatasetInfo& info,
                        const std::string& data_digest) {
    RunManifest manifest;
    manifest.version = program_identity();
    manifest.kind = plan.settings.training.kind;
    manifest.configuration = to_json({plan.settings, how});
    manifest.dataset = dataset_facts(info, plan.settings.network.classes, data_digest);
    manifest.members = static_cast<std::uint64_t>(plan.settings.ensemble.members);
    manifest.steps = static_cast<std::uint64_t>(plan.settings.training.steps());
    manifest.parameters = plan.network.parameters();
    manifest.levels = plan.settings.certificate.level_values();
    for (const LayerShape& layer : plan.network.layers()) manifest.layers.push_back({layer.in, layer.out});
    manifest.normaliser = plan.normaliser;
    manifest.relation = name_of(plan.settings.certificate.relation);
    return manifest;
}

nlohmann::json deciding_facts(const PublicFacts& facts) {
    // The binding names every member: a new fact does not compile until it stands here.
    const auto& [scaling, ids, expected_records, population, range, target_range, source, feature_names,
                 count_found, dealt, unit, rows_at_most, schema, count_measured, measured, label_law,
                 labels_select] = facts;
    static_cast<void>(source);  // the path of the imported table decides nothing
    const auto parsed = [](const std::string& text) {
        return text.empty() ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
    };
    const char* const count = count_found ? "found" : count_measured ? "measured" : "stated";
    return {{"the scaling", name_of(scaling)},
            {"the kind of the ids", name_of(ids)},
            {"the count of records", expected_records},
            {"the source of the count", count},
            {"the population", population},
            {"the range of features", {range.low, range.high}},
            {"the range of targets", {target_range.low, target_range.high}},
            {"the list of feature names", feature_names},
            {"the ids that assigned the splits", name_of(dealt)},
            {"the unit of privacy", name_of(unit)},
            {"the maximum of rows per person", rows_at_most},
            {"the schema", parsed(schema)},
            {"the text of measured constants", measured},
            {"the distribution of drawn labels", label_law},
            {"the rule that a label selects records", labels_select}};
}

std::string changed_fact(const PublicFacts& trained, const PublicFacts& now) {
    const nlohmann::json before = deciding_facts(trained), after = deciding_facts(now);
    const auto shown = [](const nlohmann::json& value) {
        constexpr std::size_t longest = 60;
        const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
        return text.empty() ? "not stated" : text.substr(0, longest) + (text.size() > longest ? "…" : "");
    };
    for (const auto& [name, value] : before.items()) {
        if (value == after.at(name)) continue;
        const std::string was = shown(value), is = shown(after.at(name));
        return name + (was == is ? " changed" : " was " + was + " and is " + is);
    }
    return "";
}

void require_trained_on(const DatasetFacts& trained, const std::string& digest, const DatasetInfo& now) {
    const auto refuse = [&](const std::string& problem) {
        throw Error(ExitCode::input, problem, "name the dataset as it was then: " + trained.path, now.path);
    };
    if (digest != trained.digest) refuse("these are not the records that the run was trained on");
    if (const std::string fact = changed_fact(trained, now); !fact.empty())
        refuse("the run was trained on these records, but the file states another fact: " + fact);
}

std::string digest_of_records(const DatasetReader& reader) {
    RecordDigest digest;
    reader.visit([&](const Records& slab) { digest.add(slab); });
    return digest.hex(*make_serial_communicator());
}

DatasetIdentity identify(const DatasetReader& reader) {
    Identifier identifier;
    reader.visit([&](const Records& slab) { identifier.add(slab); });
    return identifier.identity(reader.info());
}

DatasetIdentity import_identified(const std::vector<NamedSource>& sources, ImportOptions options,
                                  const std::string& path, const std::string& split) {
    Identifier identifier;
    options.written = [&](const std::string& of, const Records& records) {
        if (of == split) identifier.add(records);
    };
    return identifier.identity(import_records(sources, options, path).facts);
}

DatasetIdentity identify_of_population(const DatasetReader& reader) {
    if (!reader.info().population.empty()) return identify(reader);
    throw Error(ExitCode::input, "does not say whose records it holds",
                "make it again with: holdfast import … --population NAME", reader.info().path);
}

}  // namespace holdfast
