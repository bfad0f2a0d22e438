#include "jobs/data/measure/measured_table.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "dist/data/import_hdf5.hpp"
#include "dist/data/import_records.hpp"
#include "dist/data/schema.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// How many features something was measured of.
std::size_t law_of_columns(const MeasuredConstants& constants) {
    return static_cast<std::size_t>(std::count_if(constants.columns.begin(), constants.columns.end(),
                                                  [](const auto& column) { return column.has_value(); }));
}

/// A split in which each feature of text becomes one for each bucket or name that came out, and one for all
/// others; a part that holds nothing none.
class SplitOfCategories final : public RecordSource {
  public:
    SplitOfCategories(std::unique_ptr<RecordSource> source, const MeasuredConstants& constants)
        : source_(std::move(source)), constants_(constants), info_(source_->info()) {
        std::vector<Range> known;
        std::optional<Schema> schema = kept_schema(info_.schema, info_.path);
        ensure(schema.has_value(), "text is known by its schema");
        name_values(*schema);
        info_.schema = to_json(*schema).dump();
        info_.feature_names = schema->feature_names();
        for (std::size_t i = 0; i < constants.columns.size(); ++i) {
            if (is_dropped(i)) continue;
            const Range own = info_.known_ranges.empty() ? unknown_range : info_.known_ranges[i];
            known.insert(known.end(), is_text(i) ? constants_.columns[i]->features() : 1,
                         is_text(i) ? Range{0, 1} : own);
        }
        info_.known_ranges = known;
    }
    const SourceInfo& info() const override { return info_; }
    void rewind() override { source_->rewind(); }
    bool next(RawRecord& record) override {
        const bool more = source_->next(record);
        std::vector<double> features;
        for (std::size_t i = 0; more && i < record.features.size(); ++i) {
            if (is_dropped(i)) continue;
            if (!is_text(i)) {
                features.push_back(record.features[i]);
                continue;
            }
            const std::vector<std::size_t>& values = values_[i];
            const auto found =
                std::find(values.begin(), values.end(), static_cast<std::size_t>(record.features[i]));
            for (std::size_t b = 0; b <= values.size(); ++b)
                features.push_back(static_cast<std::size_t>(found - values.begin()) == b ? 1 : 0);
        }
        record.features = std::move(features);
        problems = source_->problems;
        return more;
    }

  private:
    bool is_text(std::size_t i) const { return constants_.columns[i] && constants_.columns[i]->is_text(); }
    bool is_dropped(std::size_t i) const { return constants_.columns[i] && constants_.columns[i]->dropped; }
    /// The columns' values, and what a raw feature says of each; the private list goes.
    void name_values(Schema& schema) {
        values_.resize(constants_.columns.size());
        std::size_t at = 0;
        std::vector<Column> kept;
        for (Column& column : schema.columns) {
            const std::size_t features = column.features();
            if (is_text(at)) {
                const MeasuredColumn& measured = *constants_.columns[at];
                column.values.clear();
                if (measured.buckets) {
                    values_[at] = *measured.buckets;
                    for (const std::size_t bucket : *measured.buckets)
                        column.values.push_back(bucket_name(bucket));
                } else {
                    column.values = *measured.names;
                    const std::vector<std::string>& names = info_.names[column.name];
                    for (const std::string& name : column.values)
                        values_[at].push_back(static_cast<std::size_t>(
                            std::find(names.begin(), names.end(), name) - names.begin()));
                }
                column.values.emplace_back(other_values);
                column.integer = false;
            }
            if (!is_dropped(at)) kept.push_back(std::move(column));
            at += features;
        }
        schema.columns = std::move(kept);
        info_.names.clear();
    }

    std::unique_ptr<RecordSource> source_;
    const MeasuredConstants& constants_;
    SourceInfo info_;
    std::vector<std::vector<std::size_t>> values_;  ///< [features of a raw record], of text
};

/// What the features are scaled by: what was measured, and what the values of a category fix.
std::map<std::string, Range> ranges_by_name(const MeasuredConstants& constants, const DatasetInfo& info,
                                            const std::vector<std::string>& names) {
    std::map<std::string, Range> ranges;
    if (law_of_columns(constants) == 0) return ranges;
    const std::vector<Range> known = stated_ranges(info);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::optional<MeasuredColumn>& column = constants.columns[i];
        if (column && (column->is_text() || column->dropped)) continue;  // one-hot, scaled as it is
        if (!ranges.emplace(names[i], column ? Range{column->lowest, column->highest} : known[i]).second)
            throw Error(ExitCode::input, "has two columns named '" + names[i] + "'", "rename one of them",
                        info.path);
    }
    return ranges;
}

}  // namespace

std::vector<Range> stated_ranges(const DatasetInfo& info) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    return schema ? schema->record_ranges() : std::vector<Range>(info.features, unknown_range);
}

DatasetIdentity write_scaled(const std::string& out, const DatasetInfo& info, const Measured& measured) {
    std::vector<NamedSource> sources;
    for (const std::string& split : hdf5_splits(info.path))
        sources.push_back({split, open_hdf5_split(info.path, split, {}, info.has_targets)});
    std::stable_partition(sources.begin(), sources.end(),
                          [&](const NamedSource& source) { return source.split == info.split; });
    ImportOptions options;
    options.ranges = ranges_by_name(measured.constants, info, sources.front().source->info().feature_names);
    for (NamedSource& source : sources) {
        if (std::none_of(measured.constants.columns.begin(), measured.constants.columns.end(),
                         [](const auto& column) { return column && (column->is_text() || column->dropped); }))
            break;
        source.source = std::make_unique<SplitOfCategories>(std::move(source.source), measured.constants);
        const SourceInfo& split = source.source->info();
        for (std::size_t i = 0; i < split.feature_names.size(); ++i)
            if (is_known(split.known_ranges[i]))
                options.ranges.emplace(split.feature_names[i], split.known_ranges[i]);
    }
    if (info.rows_at_most > 1) options.persons.emplace(PersonRule{.rows_at_most = info.rows_at_most});
    options.measured = measured.text;
    options.deflate = 0;  // what is trained on is read often, and packing takes longer than all else here
    options.count_measured = measured.constants.count.has_value();
    if (options.count_measured) options.expected_records = measured.constants.records();
    return import_identified(sources, std::move(options), out, info.split);
}

}  // namespace holdfast
