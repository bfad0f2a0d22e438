#include "models/nets/feature_map.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t most_bins = 1024, most_outputs = 1 << 20;

/// The edges between `bins` bins of equal width, each a function of the range alone.
std::vector<double> equal_edges(FeatureRange range, std::int64_t bins) {
    std::vector<double> edges;
    for (std::int64_t b = 1; b < bins; ++b)
        edges.push_back(range.low +
                        (range.high - range.low) * (static_cast<double>(b) / static_cast<double>(bins)));
    return edges;
}

std::vector<double> edges_of(const nlohmann::json& value) {
    const bool list = value.is_array() && value.size() < most_bins;
    if (!list) throw "wants a list of fewer than " + std::to_string(most_bins) + " numbers, as [0.25, 0.5]";
    std::vector<double> edges;
    for (const nlohmann::json& entry : value) {
        if (!entry.is_number() || !std::isfinite(entry.get<double>()))
            throw "wants finite numbers, not " + entry.dump();
        edges.push_back(entry.get<double>());
        if (edges.size() > 1 && edges[edges.size() - 2] >= edges.back())
            throw std::string("wants each edge above the one before");
    }
    return edges;
}

std::vector<std::int64_t> pairs_of(const nlohmann::json& value) {
    if (!value.is_array() || value.size() % 2 != 0)
        throw std::string("wants two columns a pair, as [0, 1, 0, 2]");
    std::vector<std::int64_t> columns;
    for (const nlohmann::json& entry : value) columns.push_back(whole_number(entry, 0, most_outputs));
    return columns;
}

}  // namespace

std::string FeatureBins::problem(std::size_t columns) const {
    const auto finite = [](double edge) { return std::isfinite(edge); };
    if (!std::all_of(edges.begin(), edges.end(), finite) || !std::is_sorted(edges.begin(), edges.end()))
        return "edges that do not ascend, or are not finite";
    if (!(hot > 0 && std::isfinite(hot))) return "a one of the one-hot entries that is not positive";
    for (const auto& [one, other] : pairs) {
        if (one >= columns || other >= columns || one == other)
            return "a pair of columns " + std::to_string(one) + " and " + std::to_string(other) +
                   ", where two different ones of 0.." + std::to_string(columns - 1) + " are wanted";
    }
    const double bins = static_cast<double>(edges.size()) + 1, outputs = most_outputs;
    if (static_cast<double>(columns) * (bins + 1) + static_cast<double>(pairs.size()) * bins * bins > outputs)
        return "more than " + std::to_string(most_outputs) + " entries a record";
    return "";
}

FeatureMap::FeatureMap(std::size_t columns, InputTransform input, std::optional<FeatureBins> bins)
    : columns_(columns), input_(input), bins_(std::move(bins)) {
    ensure(!bins_ || bins_->problem(columns).empty(), "bins fit the columns");
}

std::size_t FeatureMap::outputs() const {
    if (!bins_) return columns_;
    const std::size_t each = bins_->edges.size() + 1;
    return columns_ * (each + (bins_->keep ? 1 : 0)) + bins_->pairs.size() * each * each;
}

InputTransform FeatureMap::network_input() const {
    if (!bins_) return input_;
    InputTransform rest;
    const auto whole_columns = [&](double end) { return bins_->keep ? input_.apply<double>(end) : 0; };
    // What a float adds to an end by rounding is taken off again: the ends stay the ends.
    rest.range = {std::min(0.0, whole_columns(input_.range.low)),
                  std::max(bins_->hot, whole_columns(input_.range.high))};
    return rest;
}

template <typename Real>
void FeatureMap::append_row(const FeatureMatrix& features, std::size_t row, std::vector<Real>& mapped) const {
    const InputTransform clamped{.range = input_.range};
    const std::vector<double>& edges = bins_->edges;
    const std::size_t each = edges.size() + 1;
    std::vector<std::size_t> bin(columns_);
    for (std::size_t j = 0; j < columns_; ++j) {
        const double value = features.at(row, j);
        bin[j] = static_cast<std::size_t>(
            std::upper_bound(edges.begin(), edges.end(), clamped.apply<double>(value)) - edges.begin());
        if (bins_->keep) mapped.push_back(input_.apply<Real>(value));
    }
    const auto append_one_hot = [&](std::size_t length, std::size_t at) {
        mapped.resize(mapped.size() + length, 0);
        mapped[mapped.size() - length + at] = static_cast<Real>(bins_->hot);
    };
    for (const std::size_t b : bin) append_one_hot(each, b);
    for (const auto& [one, other] : bins_->pairs) append_one_hot(each * each, bin[one] * each + bin[other]);
}

Records FeatureMap::operator()(Records records) const {
    if (!bins_) return records;
    const FeatureMatrix& features = records.features;
    ensure(features.columns() == columns_, "a map takes records of its columns");
    FeatureMatrix mapped(outputs(), features.wide());
    const auto append_all = [&](auto& values) {
        values.reserve(features.rows() * outputs());
        for (std::size_t row = 0; row < features.rows(); ++row) append_row(features, row, values);
    };
    if (features.wide()) {
        append_all(mapped.wide_values());
    } else {
        append_all(mapped.values());
    }
    records.features = std::move(mapped);
    return records;
}

FeatureMap FeatureSettings::make(std::size_t columns, InputTransform input) const {
    if (map == Map::none) return {columns, input};
    if (edges.empty() && input.range == default_feature_range)
        throw Error(ExitCode::usage, "bins of equal width need a public range, and the dataset states none",
                    "import it with --scale, or set features.edges", "features.map");
    FeatureBins chosen{edges.empty() ? equal_edges(input.range, bins) : edges, keep, hot, {}};
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2)
        chosen.pairs.push_back({static_cast<std::size_t>(pairs[i]), static_cast<std::size_t>(pairs[i + 1])});
    if (const std::string problem = chosen.problem(columns); !problem.empty())
        throw Error(ExitCode::usage, "the bins have " + problem,
                    "change features.pairs, features.bins or features.edges", "features.map");
    return {columns, input, std::move(chosen)};
}

std::vector<BasicOption<FeatureSettings>> feature_options() {
    using S = FeatureSettings;
    return {
        choice<S>("map", "what a record's features become first, by public numbers alone", &S::map,
                  {{"none", S::Map::none}, {"bins", S::Map::bins}}),
        integer("bins", "bins of equal width over the public range, for every column", &S::bins, 2,
                most_bins),
        option("edges", "public edges between the bins instead, ascending; []: equal widths", &S::edges,
               edges_of),
        option("keep",
               "true | false: the columns stay, shifted and scaled as section network says, before the bins",
               &S::keep,
               [](const nlohmann::json& value) {
                   if (!value.is_boolean()) throw std::string("wants true or false");
                   return value.get<bool>();
               }),
        real("hot",
             "entry of the bin that a value lies in, all others are 0: a row of d columns has length "
             "hot sqrt(d) beside what is kept",
             &S::hot, at_least(1e-6)),
        option("pairs", "columns, counted from 0, whose bins are multiplied: [i, j, i, j, …]", &S::pairs,
               pairs_of)};
}

void check(const FeatureSettings& settings) {
    if (settings.map == FeatureSettings::Map::none && !(settings.pairs.empty() && settings.edges.empty()))
        throw Error(ExitCode::usage, "features.pairs and features.edges are of bins, and there are none",
                    "set features.map = \"bins\"", "features.map");
}

}  // namespace holdfast
