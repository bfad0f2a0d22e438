#include "jobs/program/runs/dataset_identity.hpp"

#include <algorithm>

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
    return {info.path,         info.rows,         info.features, static_cast<std::uint64_t>(classes),
            info.scaling,      info.ids,          info.range,    info.population,
            std::move(digest), info.target_range, info.dealt,    info.count_found,
            info.schema,       info.measured,     info.unit,     info.rows_at_most,
            info.label_law};
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

std::string changed_fact(const DatasetFacts& trained, const DatasetInfo& now) {
    const auto changed = [](const std::string& what, const std::string& was, const std::string& is) {
        return what + " was " + was + " and is " + is;
    };
    if (trained.range != now.range)
        return changed("the range of features", text_of(trained.range), text_of(now.range));
    if (trained.target_range != now.target_range)
        return changed("the range of targets", text_of(trained.target_range), text_of(now.target_range));
    if (trained.ids != now.ids) return changed("what names a record", name_of(trained.ids), name_of(now.ids));
    if (trained.dealt != now.dealt && trained.dealt != Dealt::unknown)
        return changed("what its splits were dealt by", name_of(trained.dealt), name_of(now.dealt));
    if (trained.unit != now.unit)
        return changed("the unit of privacy", name_of(trained.unit), name_of(now.unit));
    if (trained.rows_at_most != now.rows_at_most)
        return changed("the rows of a person", std::to_string(trained.rows_at_most) + " at most",
                       std::to_string(now.rows_at_most));
    if (trained.count_found != now.count_found)
        return changed("the count of records", trained.count_found ? "found" : "stated",
                       now.count_found ? "found" : "stated");
    if (trained.scaling != now.scaling)
        return changed("the scaling", name_of(trained.scaling), name_of(now.scaling));
    if (trained.measured != now.measured) return "the measured constants are others";
    if (trained.label_law != now.label_law) return "its labels are drawn otherwise";
    return "";
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
