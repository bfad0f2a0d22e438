// holdfast inspect FILE[:SPLIT]: what a dataset holds and what that means for the guarantees. For its owner
// only.
//
//   holdfast inspect adult.h5
//   holdfast inspect adult.h5:test --json

#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "dist/data/dataset.hpp"
#include "dist/data/statistics.hpp"
#include "jobs/program/job.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_columns_listed = 10;

std::string number(double value) {
    return printed("%.6g", value);
}

std::string name_of_column(const DatasetInfo& info, std::size_t column) {
    const bool named = info.feature_names.size() == info.features;
    return named ? info.feature_names[column] : "column " + std::to_string(column);
}

/// The columns for which `chosen` holds: how many, and the first of them with their ranges.
template <class Chosen>
std::string list_columns(const DatasetStatistics& statistics, const std::string& title, Chosen chosen,
                         const std::string& remedy = "") {
    std::string lines;
    std::size_t count = 0;
    for (std::size_t column = 0; column < statistics.features.size(); ++column) {
        const FeatureStatistics& feature = statistics.features[column];
        if (!chosen(feature) || ++count > most_columns_listed) continue;
        lines += "    " + name_of_column(statistics.info, column) + "  [" + number(feature.lowest) + ", " +
                 number(feature.highest) + "]\n";
    }
    if (count > most_columns_listed)
        lines += "    … and " + std::to_string(count - most_columns_listed) + " more\n";
    return "  " + title + ": " + std::to_string(count) + (count > 0 ? remedy : "") + "\n" + lines;
}

std::string class_lines(const DatasetStatistics& statistics) {
    if (statistics.info.has_targets)
        return "  targets          numbers, public range " + text_of(statistics.info.target_range) + "\n";
    if (!statistics.info.has_labels) return "  labels           none (queries)\n";
    std::string line = "  labels          ";
    for (const auto& [label, count] : statistics.class_counts) {
        line += printed(" %d: %llu (%.1f%%) ", label, static_cast<unsigned long long>(count),
                        100.0 * static_cast<double>(count) / static_cast<double>(statistics.info.rows));
    }
    return line + "\n";
}

std::string duplicate_id_text(const DatasetStatistics& statistics) {
    if (statistics.duplicate_ids == 0) return "0";
    return std::to_string(statistics.duplicate_ids) + " (first: id " +
           std::to_string(statistics.first_duplicate_id) + " in rows " +
           std::to_string(statistics.first_row) + " and " + std::to_string(statistics.second_row) + ")";
}

std::pair<double, double> whole_range(const DatasetStatistics& statistics) {
    double lowest = INFINITY, highest = -INFINITY;
    for (const FeatureStatistics& feature : statistics.features) {
        lowest = std::min(lowest, feature.lowest);
        highest = std::max(highest, feature.highest);
    }
    return {lowest, highest};
}

std::string stored_type(const DatasetInfo& info) {
    if (info.wide) return "float64";
    return info.divisor == 1 ? "float32" : "uint8, divided by " + number(info.divisor);
}

const char* dealing_text(Dealt dealt) {
    switch (dealt) {
        case Dealt::no:
            return "whoever made the file";
        case Dealt::given:
            return "hash of the id";
        case Dealt::content:
            return "hash of the content";
        case Dealt::row_number:
            return "row numbers";
        case Dealt::unknown:
            break;
    }
    return "unknown";
}

/// What the file states of itself.
std::string fact_lines(const DatasetInfo& info) {
    const std::string count =
        info.expected_records == 0
            ? "not stated"
            : std::to_string(info.expected_records) + (info.count_found      ? ", found and rounded"
                                                       : info.count_measured ? ", measured and paid for"
                                                                             : "");
    return "  ids              " + std::string(name_of(info.ids)) + "\n  public count     " + count +
           "\n  unit             " + name_of(info.unit) +
           (info.rows_at_most > 1 ? ", " + std::to_string(info.rows_at_most) + " rows at most" : "") +
           "\n  splits made by   " + dealing_text(info.dealt) + "\n  population       " +
           (info.population.empty() ? "not named" : info.population) + "\n  public range     " +
           text_of(info.range) + "\n";
}

std::string as_text(const DatasetStatistics& statistics) {
    const DatasetInfo& info = statistics.info;
    const auto [lowest, highest] = whole_range(statistics);
    std::string text = info.path + ":" + info.split + "\n";
    text += "  records          " + std::to_string(info.rows) + " x " + std::to_string(info.features) +
            " features (" + stored_type(info) + ")\n";
    text += class_lines(statistics);
    text += "  range            [" + number(lowest) + ", " + number(highest) + "]\n";
    text += "  NaN, infinite    " + std::to_string(statistics.nan()) + ", " +
            std::to_string(statistics.infinite()) + "\n";
    text += "  duplicate rows   " + std::to_string(statistics.duplicate_rows) + "\n";
    if (info.rows_at_most > 1)
        text += "  persons          " + std::to_string(info.rows - statistics.duplicate_ids) + "\n";
    else
        text += "  duplicate ids    " + duplicate_id_text(statistics) + "\n";
    text += fact_lines(info);
    text += list_columns(
        statistics, "columns outside [0, 1]", [](const auto& feature) { return feature.outside > 0; },
        " (state ranges by import --scale)");
    text +=
        list_columns(statistics, "constant columns", [](const auto& feature) { return feature.constant(); });
    text += "  Guarantees\n";
    for (const std::string& note : guarantee_notes(statistics)) text += "  - " + note + "\n";
    return text;
}

nlohmann::json as_json(const DatasetStatistics& statistics) {
    const DatasetInfo& info = statistics.info;
    nlohmann::json features = nlohmann::json::array(), classes = nlohmann::json::object();
    for (std::size_t column = 0; column < statistics.features.size(); ++column) {
        const FeatureStatistics& feature = statistics.features[column];
        features.push_back({{"name", name_of_column(info, column)},
                            {"lowest", feature.lowest},
                            {"highest", feature.highest},
                            {"nan", feature.nan},
                            {"infinite", feature.infinite},
                            {"outside", feature.outside},
                            {"constant", feature.constant()}});
    }
    for (const auto& [label, count] : statistics.class_counts) classes[std::to_string(label)] = count;
    return {{"path", info.path},
            {"split", info.split},
            {"rows", info.rows},
            {"features", features},
            {"type", stored_type(info)},
            {"classes", classes},
            {"nan", statistics.nan()},
            {"infinite", statistics.infinite()},
            {"duplicate_rows", statistics.duplicate_rows},
            {"ids", name_of(info.ids)},
            {"expected_records", info.expected_records},
            {"count_found", info.count_found},
            {"count_measured", info.count_measured},
            {"unit", name_of(info.unit)},
            {"rows_at_most", info.rows_at_most},
            {"dealt", name_of(info.dealt)},
            {"population", info.population},
            {"feature_range", {info.range.low, info.range.high}},
            {"duplicate_ids", statistics.duplicate_ids},
            {"scaling", name_of(info.scaling)},
            {"source", info.source},
            {"guarantees", guarantee_notes(statistics)}};
}

/// The split that was named, or all of the file.
std::vector<std::string> splits_to_show(const std::string& name) {
    const auto [path, split] = split_dataset_name(name, "");
    if (!split.empty()) return {name};
    const std::vector<std::string> splits = dataset_splits(path);
    std::vector<std::string> names;
    for (const std::string& each : splits) names.push_back(path + ":" + each);
    return names;
}

void run(const std::string& name, const Context& context) {
    nlohmann::json results = nlohmann::json::array();
    std::string text;
    if (context.world.is_root()) {
        // 1. Which splits.
        for (const std::string& split : splits_to_show(name)) {
            // 2. One pass over each, counting what is wrong rather than stopping at it.
            const DatasetStatistics statistics = describe(DatasetReader(split));
            // Of many columns either is far longer than what was counted.
            if (context.json) {
                results.push_back(as_json(statistics));
            } else {
                text += as_text(statistics);
            }
        }
    }
    context.world.barrier();

    // 3. Shapes, ranges, balance, duplicates, and what they mean.
    context.print({{"splits", results}}, text);
}

}  // namespace

Run declare_inspect(const Command& command) {
    auto name = std::make_shared<std::string>();
    command.add_option("dataset", *name, "FILE or FILE:SPLIT; all splits where none is named").required();
    return [name](const Context& context) { run(*name, context); };
}

}  // namespace holdfast
