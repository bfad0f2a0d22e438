#include "dist/data/read_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "dist/data/filled_records.hpp"
#include "dist/data/import_csv.hpp"
#include "dist/data/person_rows.hpp"
#include "kernels/base/text.hpp"

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
            const std::string range = printed("[%.10g, %.10g]", ranges_[i].lowest, ranges_[i].highest);
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
    return name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".txt") ||
           name.ends_with(".parquet");
}

namespace {

/// One record of each person's rows, by the schema's rule, in the order in which they first appear. A row
/// without an id is a person by itself.
Table summarised(Table rows, const std::vector<double>& orders, const Schema& schema, bool wide) {
    PersonRows persons(*schema.persons, schema.features(), wide, 0);
    std::map<std::uint64_t, std::size_t> first;
    const Records& all = rows.records;
    std::vector<double> features(schema.features());
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < features.size(); ++j) features[j] = all.features.at(i, j);
        persons.add(all.ids[i], features, all.labels.empty() ? 0 : all.labels[i],
                    all.targets.empty() ? 0 : all.targets[i], orders[i]);
        first.emplace(all.ids[i], i);
    }
    struct Person {
        std::size_t first;
        std::uint64_t id;
        std::vector<double> features;
        std::int32_t label;
        double target;
    };
    std::vector<Person> made;
    persons.visit(
        [&](std::uint64_t id, const std::vector<double>& of_person, std::int32_t label, double target) {
            made.push_back({first.at(id), id, of_person, label, target});
            scale_features(schema.persons->ranges, made.back().features);
        });
    std::sort(made.begin(), made.end(),
              [](const Person& one, const Person& other) { return one.first < other.first; });
    Table table{{FeatureMatrix(schema.record_features(), wide), {}, {}, {}},
                {},
                {},
                rows.has_ids,
                std::move(rows.ignored),
                rows.filled,
                std::move(rows.other_cells),
                std::move(rows.outside)};
    for (const Person& person : made) {
        table.records.features.append(person.features.data());
        table.records.ids.push_back(person.id);
        table.records.rows.push_back(table.records.rows.size());
        table.names.push_back(rows.names[person.first]);
        if (!all.labels.empty()) table.records.labels.push_back(person.label);
        if (!all.targets.empty()) table.records.targets.push_back(person.target);
    }
    return table;
}

/// Labels and targets that not all rows have stand apart, so that nothing is computed of the others'.
void set_some_labels_apart(Table& table) {
    Records& records = table.records;
    if (std::ranges::any_of(records.labels, [](std::int32_t label) { return label < 0; }))
        table.some_labels = std::exchange(records.labels, {});
    if (std::ranges::all_of(records.targets, [](double target) { return std::isfinite(target); })) return;
    for (const double target : std::exchange(records.targets, {}))
        table.some_labels.push_back(std::isfinite(target) ? 0 : -1);
}

}  // namespace

Table read_table(const std::string& path, const Schema& schema, std::uint64_t first,
                 const std::string& encoding) {
    const auto source = open_csv(path, schema, CsvUse::queries, encoding);
    const SourceInfo& info = source->info();
    const bool summarises = schema.persons && schema.persons->summarises();
    // Where summaries have ranges of their own, rows have none.
    const bool of_rows = !summarises || schema.persons->ranges.empty();
    const std::vector<Range> ranges =
        of_rows ? schema.feature_ranges() : std::vector<Range>(schema.features(), unknown_range);
    FilledRecords rows(*source, schema.missing_values());
    Outside outside(info, ranges);
    Table table;
    table.records.features = FeatureMatrix(schema.features(), info.wide);
    table.has_ids = info.ids == IdKind::given;
    table.ignored = info.ignored;
    std::vector<double> orders;
    const std::size_t order_column =
        summarises ? schema.persons->order_column(info.feature_names) : schema.features();
    RawRecord row;
    for (std::uint64_t read = 0; (first == 0 || read < first) && rows.next(row); ++read) {
        if (row.flawed) continue;
        outside.look_at(row);
        orders.push_back(order_column < row.features.size() ? row.features[order_column] : 0);
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
    table.other_cells = source->other_cells;
    set_some_labels_apart(table);
    if (summarises) return summarised(std::move(table), orders, schema, info.wide);
    return table;
}

}  // namespace holdfast
