#include "jobs/data/measure/table_columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "dist/data/import_hdf5.hpp"
#include "dist/data/import_records.hpp"
#include "dist/files/digest.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/measure/constants.hpp"

namespace holdfast {
namespace {

/// A split without the features that were not chosen.
class ChosenFeatures final : public RecordSource {
  public:
    ChosenFeatures(std::unique_ptr<RecordSource> source, std::vector<std::size_t> features,
                   const std::string& schema)
        : source_(std::move(source)), features_(std::move(features)), info_(source_->info()) {
        info_.schema = schema;
        info_.feature_names = chosen_of(info_.feature_names);
        if (!info_.known_ranges.empty()) info_.known_ranges = chosen_of(info_.known_ranges);
    }
    const SourceInfo& info() const override { return info_; }
    void rewind() override { source_->rewind(); }
    bool next(RawRecord& record) override {
        const bool more = source_->next(record);
        if (more) record.features = chosen_of(record.features);
        problems = source_->problems;
        return more;
    }

  private:
    template <typename T>
    std::vector<T> chosen_of(const std::vector<T>& all) const {
        std::vector<T> chosen;
        for (const std::size_t f : features_) chosen.push_back(all[f]);
        return chosen;
    }

    std::unique_ptr<RecordSource> source_;
    std::vector<std::size_t> features_;
    SourceInfo info_;
};

/// Of those that are kept, ascending.
std::vector<std::size_t> features_of_groups(const std::vector<ColumnGroup>& groups,
                                            const std::vector<bool>& kept) {
    std::vector<std::size_t> features;
    for (std::size_t g = 0; g < groups.size(); ++g)
        if (kept[g]) features.insert(features.end(), groups[g].features.begin(), groups[g].features.end());
    return features;
}

std::string schema_without(std::optional<Schema> schema, const std::vector<bool>& kept,
                           const std::vector<std::size_t>& features) {
    if (!schema) return "";
    std::vector<Column> columns;
    for (std::size_t c = 0; c < schema->columns.size(); ++c)
        if (kept[c]) columns.push_back(std::move(schema->columns[c]));
    schema->columns = std::move(columns);
    if (schema->persons && !schema->persons->ranges.empty()) {
        std::vector<Range> ranges;
        for (const std::size_t f : features) ranges.push_back(schema->persons->ranges[f]);
        schema->persons->ranges = std::move(ranges);
    }
    return to_json(*schema).dump();
}

}  // namespace

std::vector<ColumnGroup> column_groups(const DatasetInfo& info) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    std::vector<ColumnGroup> groups;
    if (!schema) {
        for (std::size_t i = 0; i < info.features; ++i)
            groups.push_back(
                {i < info.feature_names.size() ? info.feature_names[i] : "f" + std::to_string(i), {i}});
        return groups;
    }
    const PersonRule rule = schema->persons.value_or(PersonRule{});
    const bool counted = rule.says(RowSummary::count);
    const std::size_t summaries = rule.summarises() ? rule.summaries.size() - (counted ? 1 : 0) : 1;
    std::size_t at = 0;
    for (const Column& column : schema->columns) {
        ColumnGroup group{
            column.name, {}, column.features() > 1 && !rule.summarises(), column.name != rule.order};
        for (std::size_t i = 0; i < column.features() * summaries; ++i) group.features.push_back(at++);
        groups.push_back(std::move(group));
    }
    if (counted) groups.push_back({"rows", {at++}, false, false});
    ensure(at == info.features, "the features are those of the schema");
    return groups;
}

std::string digest_of(const std::vector<ColumnGroup>& groups) {
    nlohmann::json all = nlohmann::json::array();
    for (const ColumnGroup& group : groups)
        all.push_back({group.name, group.features, group.one_hot, group.candidate});
    return StreamDigest::of(all.dump());
}

std::vector<bool> kept_groups(const std::vector<ColumnGroup>& groups,
                              const std::vector<std::size_t>& chosen) {
    std::vector<bool> kept;
    std::size_t candidate = 0;
    for (const ColumnGroup& group : groups)
        kept.push_back(!group.candidate || std::binary_search(chosen.begin(), chosen.end(), candidate++));
    return kept;
}

std::string constants_text(const DatasetInfo& info, const std::string& token,
                           const std::vector<ColumnGroup>& groups, const std::vector<std::size_t>& chosen) {
    const std::vector<std::size_t> features = features_of_groups(groups, kept_groups(groups, chosen));
    MeasuredConstants constants;
    if (info.measured.empty())
        constants.columns.resize(info.features);
    else
        constants = MeasuredConstants::from_text(info.measured, info.path);
    std::vector<std::optional<MeasuredColumn>> columns;
    std::size_t at = 0;
    for (const std::optional<MeasuredColumn>& column : constants.columns) {
        if (std::binary_search(features.begin(), features.end(), at)) columns.push_back(column);
        at += column ? column->features() : 1;
    }
    constants.columns = std::move(columns);
    constants.token = token;
    nlohmann::json object = constants.to_json();
    object["chosen"] = chosen;
    return object.dump();
}

std::size_t write_chosen(Ledger& ledger, const std::string& population, const std::string& out,
                         const DatasetInfo& info, const std::string& text,
                         const std::vector<ColumnGroup>& groups, const std::vector<bool>& kept) {
    const std::vector<std::size_t> features = features_of_groups(groups, kept);
    const std::string schema = schema_without(kept_schema(info.schema, info.path), kept, features);
    std::vector<NamedSource> sources;
    for (const std::string& split : hdf5_splits(info.path))
        sources.push_back(
            {split, std::make_unique<ChosenFeatures>(open_hdf5_split(info.path, split, {}, info.has_targets),
                                                     features, schema)});
    std::stable_partition(sources.begin(), sources.end(),
                          [&](const NamedSource& source) { return source.split == info.split; });
    ImportOptions options;
    if (info.rows_at_most > 1) options.persons.emplace(PersonRule{.rows_at_most = info.rows_at_most});
    options.measured = text;
    options.deflate = 0;  // what is trained on is read often
    const DatasetIdentity written = import_identified(sources, std::move(options), out, info.split);
    ledger.add_version(population, written.digest, written.ids, std::nullopt,
                       {written.id_kind, written.contents, true});
    return features.size();
}

void check_scaled(const DatasetInfo& info) {
    const auto refuse = [&](const std::string& message, const std::string& hint) {
        throw Error(ExitCode::input, message, hint, info.path);
    };
    require_persons(info);
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    if (schema && schema->has_unnamed())
        refuse("has categories that nobody has named",
               "name them first, and choose among the columns of what that writes: holdfast measure");
    if (info.scaling == Scaling::private_data)
        refuse("its features were scaled by the private records themselves",
               "import the table without --scale-from-data");
    if (info.scaling != Scaling::public_constants && info.scaling != Scaling::measured)
        refuse("its columns have no ranges",
               "measure them first, and choose among the columns of what that writes, or import --scale");
    if (!info.has_labels || info.has_targets)
        refuse("columns are chosen by how well they tell labels apart, and it has none",
               "leave --features out");
    if (!info.image_shape.empty()) refuse("its columns are the places of a picture", "leave --features out");
    if (!info.measured.empty() && nlohmann::json::parse(info.measured, nullptr, false).contains("chosen"))
        refuse("its columns were chosen already", "train on it, or choose among those of the table before");
}

std::optional<double> left_of_account(const Budget& budget, const Spending& spent) {
    if (budget.renyi_order) return std::nullopt;
    Rational left = budget.epsilon - spent.epsilon;
    if (budget.gaussian) {
        const Rational delta = budget.delta - budget.delta_apart, all = gaussian_mu(budget.epsilon, delta),
                       gone = spent.epsilon > 0 ? gaussian_mu(spent.epsilon, delta) : Rational(0),
                       rest = all * all - gone * gone;
        left = rest > 0 ? gaussian_epsilon(Rational(std::sqrt(rest.get_d())), delta) : Rational(0);
    }
    return std::strtod(printed("%.4f", std::max(0.0, left.get_d() - 5e-5)).c_str(), nullptr);
}

}  // namespace holdfast
