#include "dist/data/read_table.hpp"

#include <cstdio>

#include "dist/data/filled_records.hpp"
#include "dist/data/import_csv.hpp"

namespace holdfast {
namespace {

/// Which values of each feature lie outside its range.
class Outside {
  public:
    explicit Outside(const SourceInfo& info, const std::vector<Range>& ranges)
        : names_(info.feature_names), ranges_(ranges), counts_(ranges.size(), 0), lines_(ranges.size()) {}

    void look_at(const RawRecord& record) {
        constexpr std::size_t lines_shown = 3;
        for (std::size_t i = 0; i < ranges_.size(); ++i) {
            const double value = record.features[i];
            if (!is_known(ranges_[i]) || (value >= ranges_[i].lowest && value <= ranges_[i].highest))
                continue;
            if (counts_[i]++ < lines_shown)
                lines_[i] += (lines_[i].empty() ? "" : ", ") + std::to_string(record.position);
        }
    }
    std::vector<std::string> told() const {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < ranges_.size(); ++i) {
            if (counts_[i] == 0) continue;
            char range[80];
            std::snprintf(range, sizeof range, "[%.10g, %.10g]", ranges_[i].lowest, ranges_[i].highest);
            all.push_back(names_[i] + ": " + std::to_string(counts_[i]) + " outside " + range +
                          ", the first in line " + lines_[i]);
        }
        return all;
    }

  private:
    const std::vector<std::string>& names_;
    const std::vector<Range>& ranges_;
    std::vector<std::uint64_t> counts_;
    std::vector<std::string> lines_;
};

}  // namespace

bool is_table(const std::string& path) {
    std::string name = path;
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    return name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".txt");
}

Table read_table(const std::string& path, const Schema& schema, std::uint64_t first) {
    const auto source = open_csv(path, schema, CsvUse::queries);
    const SourceInfo& info = source->info();
    const std::vector<Range> ranges = schema.feature_ranges();
    FilledRecords rows(*source, schema.missing_values());
    Outside outside(info, ranges);
    Table table;
    table.records.features = FeatureMatrix(schema.features(), info.wide);
    table.has_ids = info.ids == IdKind::given;
    table.ignored = info.ignored;
    RawRecord row;
    for (std::uint64_t read = 0; (first == 0 || read < first) && rows.next(row); ++read) {
        if (row.flawed) continue;
        outside.look_at(row);
        scale_features(ranges, row.features);
        table.records.features.append(row.features.data());
        table.records.ids.push_back(table.has_ids ? row.id : read);
        table.records.rows.push_back(read);
        table.names.push_back(table.has_ids ? row.name : std::to_string(row.position));
        if (info.has_labels) table.records.labels.push_back(static_cast<std::int32_t>(row.label));
        if (info.has_targets) {
            std::vector<double> target{row.target};
            scale_features({schema.target_range}, target);
            table.records.targets.push_back(target.front());
        }
    }
    source->problems.raise(path);
    table.filled = rows.filled();
    table.outside = outside.told();
    return table;
}

}  // namespace holdfast
