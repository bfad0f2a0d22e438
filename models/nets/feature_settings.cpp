#include "models/nets/feature_settings.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr std::int64_t most_bins = FeatureBins::most_edges + 1;

// What options take ---------------------------------------------------------------------------------------

std::vector<std::int64_t> counts_of(const json& value) {
    std::vector<std::int64_t> counts;
    if (!value.is_array()) return {whole_number(value, 2, most_bins)};
    for (const json& entry : value) counts.push_back(whole_number(entry, 1, most_bins));
    if (counts.empty()) throw std::string("wants a number, or one for each column");
    return counts;
}

std::vector<double> edges_of(const json& value) {
    const bool list = value.is_array() && value.size() <= FeatureBins::most_edges;
    if (!list) throw "wants a list of fewer than " + std::to_string(most_bins) + " numbers, as [0.25, 0.5]";
    std::vector<double> edges;
    for (const json& entry : value) {
        if (!entry.is_number() || !std::isfinite(entry.get<double>()))
            throw "wants finite numbers, not " + entry.dump();
        edges.push_back(entry.get<double>());
        if (edges.size() > 1 && edges[edges.size() - 2] >= edges.back())
            throw std::string("wants each edge above the one before");
    }
    return edges;
}

/// []: none; a list of numbers: of every column; a list of lists: one a column.
std::vector<std::vector<double>> all_edges_of(const json& value) {
    if (value.is_array() && value.empty()) return {};
    if (!value.is_array() || !value.front().is_array()) return {edges_of(value)};
    std::vector<std::vector<double>> edges;
    std::transform(value.begin(), value.end(), std::back_inserter(edges), edges_of);
    return edges;
}

std::vector<std::int64_t> pairs_of(const json& value) {
    if (!value.is_array() || value.size() % 2 != 0)
        throw std::string("wants two columns a pair, as [0, 1, 0, 2]");
    std::vector<std::int64_t> columns;
    for (const json& entry : value) columns.push_back(whole_number(entry, 0, FeatureMap::most_outputs));
    return columns;
}

double norm_limit_of(const json& value) {
    return value == 0 ? 0 : at_least(1e-6).checked(value);
}

bool flag_of(const json& value) {
    if (!value.is_boolean()) throw std::string("wants true or false");
    return value.get<bool>();
}

/// An option whose list of one stands for every column: shown as it is written, without the list around it.
template <typename Field, typename Read>
BasicOption<FeatureSettings> for_each_column(std::string key, std::string help, Field FeatureSettings::*field,
                                             Read read) {
    BasicOption<FeatureSettings> row = option(std::move(key), std::move(help), field, read);
    row.get = [field](const FeatureSettings& settings) {
        const Field& list = settings.*field;
        return list.size() == 1 ? json(list.front()) : json(list);
    };
    return row;
}

// The map -------------------------------------------------------------------------------------------------

/// The edges between `bins` bins of equal width, each a function of the range alone.
std::vector<double> equal_edges(FeatureRange range, std::int64_t bins) {
    std::vector<double> edges;
    for (std::int64_t b = 1; b < bins; ++b)
        edges.push_back(range.low +
                        (range.high - range.low) * (static_cast<double>(b) / static_cast<double>(bins)));
    return edges;
}

/// The list itself, or its one entry for every column.
template <typename T>
std::vector<T> one_a_column(const std::vector<T>& list, std::size_t columns) {
    return list.size() == 1 ? std::vector<T>(columns, list.front()) : list;
}

FeatureBins bins_of(const FeatureSettings& settings, std::size_t columns, FeatureRange range) {
    FeatureBins bins{one_a_column(settings.edges, columns), settings.hot};
    if (settings.edges.empty() && range == default_feature_range)
        throw Error(ExitCode::usage, "bins of equal width need a public range, and the dataset states none",
                    "import it with --scale, or set features.edges", "features.map");
    if (settings.edges.empty()) {
        for (const std::int64_t count : one_a_column(settings.bins, columns))
            bins.edges.push_back(equal_edges(range, count));
    }
    for (std::size_t i = 0; i + 1 < settings.pairs.size(); i += 2)
        bins.pairs.push_back(
            {static_cast<std::size_t>(settings.pairs[i]), static_cast<std::size_t>(settings.pairs[i + 1])});
    return bins;
}

}  // namespace

FeatureMap FeatureSettings::make(std::size_t columns, InputTransform input) const {
    if (map == Map::none) return {columns, input, {}, true, norm_limit};
    DerivedFeatures derived = bins_of(*this, columns, input.range);
    if (const std::string problem = FeatureMap::problem(columns, derived, keep, norm_limit); !problem.empty())
        throw Error(ExitCode::usage, "the bins have " + problem,
                    "change features.pairs, features.bins or features.edges", "features.map");
    return {columns, input, std::move(derived), keep, norm_limit};
}

std::vector<BasicOption<FeatureSettings>> feature_options() {
    using S = FeatureSettings;
    return {
        choice<S>("map", "what a record's features become first, by public numbers alone", &S::map,
                  {{"none", S::Map::none}, {"bins", S::Map::bins}}),
        for_each_column("bins",
                        "bins of equal width over the public range, for every column " +
                            range_of_whole(2, most_bins) + ", or a list of one number a column",
                        &S::bins, counts_of),
        for_each_column(
            "edges",
            "public edges between the bins instead, ascending, for every column, or a list of one "
            "list a column; []: equal widths",
            &S::edges, all_edges_of),
        option("keep",
               "true | false: the columns stay, shifted and scaled as section network says, before the bins",
               &S::keep, flag_of),
        real("hot",
             "entry of the bin that a value lies in, all others are 0: a row of d columns has length "
             "hot sqrt(d) beside what is kept",
             &S::hot, at_least(1e-6)),
        option("pairs", "columns, counted from 0, whose bins are multiplied: [i, j, i, j, …]", &S::pairs,
               pairs_of),
        option("norm_limit",
               "a mapped record that is longer in the 2-norm is scaled to it [1e-06, 1e+06]; 0: none",
               &S::norm_limit, norm_limit_of)};
}

void check(const FeatureSettings& settings) {
    if (settings.map == FeatureSettings::Map::none && !(settings.pairs.empty() && settings.edges.empty()))
        throw Error(ExitCode::usage, "features.pairs and features.edges are of bins, and there are none",
                    "set features.map = \"bins\"", "features.map");
}

}  // namespace holdfast
