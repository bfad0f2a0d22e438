#include "models/nets/feature_settings.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/base/error.hpp"
#include "models/nets/public_model.hpp"
#include "models/settings/option.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr std::int64_t most_bins = FeatureBins::most_edges + 1;
constexpr const char* prefix_file = "/prefix.h5";        // of a run's folder
constexpr std::size_t most_frequency_entries = 1 << 26;  // 512 MiB

// What options take ---------------------------------------------------------------------------------------

std::vector<std::int64_t> counts_of(const json& value) {
    std::vector<std::int64_t> counts;
    if (!value.is_array()) throw std::string("wants a list of whole numbers, one for each column");
    for (const json& entry : value) counts.push_back(whole_number(entry, 1, most_bins));
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

std::vector<std::int64_t> image_sides_of(const json& value) {
    std::vector<std::int64_t> sides;
    if (!value.is_array() || (!value.empty() && value.size() != 3))
        throw std::string("wants [channels, height, width], or []: a square of one channel");
    for (const json& side : value) sides.push_back(whole_number(side, 1, FeatureMap::most_outputs));
    return sides;
}

std::vector<double> weights_of(const json& value) {
    std::vector<double> weights;
    if (!value.is_array() || value.size() != Scattering::usual_weights.size())
        throw std::string("wants four numbers");
    for (const json& weight : value) {
        if (!weight.is_number() || !(weight.get<double>() >= Scattering::least_weight) ||
            !(weight.get<double>() <= Scattering::greatest_weight))
            throw "wants numbers from 1e-3 to 1e3, not " + weight.dump();
        weights.push_back(weight.get<double>());
    }
    return weights;
}

/// As edges are written: one list for every column stands without the list around it.
json shown_edges(const FeatureSettings& settings) {
    return settings.edges.size() == 1 ? json(settings.edges.front()) : json(settings.edges);
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

/// One list of edges a column, as the settings say, however many columns they say it of.
std::vector<std::vector<double>> edges_for(const FeatureSettings& settings, std::size_t columns,
                                           FeatureRange range) {
    if (settings.edges.size() == 1) return std::vector(columns, settings.edges.front());
    if (!settings.edges.empty()) return settings.edges;
    if (range == default_feature_range)
        throw Error(ExitCode::usage, "bins of equal width need a public range, and the dataset states none",
                    "import it with --scale, or set features.edges", "features.map");
    if (settings.column_bins.empty()) return std::vector(columns, equal_edges(range, settings.bins));
    std::vector<std::vector<double>> edges;
    for (const std::int64_t bins : settings.column_bins) edges.push_back(equal_edges(range, bins));
    return edges;
}

FeatureBins bins_of(const FeatureSettings& settings, std::size_t columns, FeatureRange range) {
    FeatureBins bins{edges_for(settings, columns, range), settings.hot, {}, settings.trend};
    for (std::size_t i = 0; i + 1 < settings.pairs.size(); i += 2)
        bins.pairs.push_back(
            {static_cast<std::size_t>(settings.pairs[i]), static_cast<std::size_t>(settings.pairs[i + 1])});
    return bins;
}

/// Which entries there will be, before any is made: a list of frequencies may fit no machine.
FourierFeatures fourier_of(const FeatureSettings& settings, std::size_t columns) {
    const auto frequencies = static_cast<std::size_t>(settings.frequencies);
    if (columns > most_frequency_entries / frequencies)
        throw Error(ExitCode::usage,
                    std::to_string(frequencies) + " frequencies of " + std::to_string(columns) +
                        " columns are more than 2^26 numbers",
                    "set features.frequencies to fewer", "features.map");
    return FourierFeatures::drawn(columns, frequencies, settings.bandwidth,
                                  static_cast<std::uint64_t>(settings.seed));
}

PublicModel prefix_model(const FeatureSettings& settings) {
    return {settings.prefix, settings.prefix_digest, "features.prefix_digest"};
}

/// The shift and the scale of a map's own, which stand in place of the network's.
void require_own_input(const InputTransform& input, const char* what, const char* where) {
    if (input.shift != 0 || input.scale != 1)
        throw Error(ExitCode::usage, what, "leave network.input_shift and network.input_scale out", where);
}

FrozenPrefix prefix_of(const FeatureSettings& settings, const InputTransform& input) {
    const Model model = prefix_model(settings).read().model;
    if (model.network.layers().size() < 2 || model.features)
        throw Error(ExitCode::usage,
                    model.features ? "the prefix maps features itself" : "the prefix has no hidden layer",
                    "name a model of hidden layers that takes the columns as they are", settings.prefix);
    require_own_input(input, "a prefix has the shift and the scale that it was trained with",
                      "features.prefix");
    std::vector<Layer> hidden = model.network.layers();
    hidden.pop_back();
    const auto end = static_cast<std::ptrdiff_t>(model.network.offset(hidden.size()));
    return {model.network.transform(),
            std::move(hidden),
            {model.parameters.begin(), model.parameters.begin() + end}};
}

Image image_for(const FeatureSettings& settings, std::size_t columns) {
    const std::vector<std::int64_t>& sides = settings.image;
    if (!sides.empty())
        return {static_cast<std::size_t>(sides[0]), static_cast<std::size_t>(sides[1]),
                static_cast<std::size_t>(sides[2])};
    const auto side = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(columns))));
    if (side * side != columns)
        throw Error(ExitCode::usage, std::to_string(columns) + " columns are no square of pixels",
                    "set features.image = [channels, height, width]", "features.image");
    return {1, side, side};
}

Scattering scattering_of(const FeatureSettings& settings, std::size_t columns, const InputTransform& input) {
    require_own_input(input, "a scattering takes pixels in units of their public range", "features.map");
    if (input.range == default_feature_range)
        throw Error(ExitCode::usage,
                    "a scattering needs the public range of a pixel, and the dataset states none",
                    "import it with --scale", "features.map");
    const Image image = image_for(settings, columns);
    Scattering::Weights weights{};
    std::copy(settings.weights.begin(), settings.weights.end(), weights.begin());
    if (const std::string problem = Scattering::problem(image, input.range, weights); !problem.empty())
        throw Error(ExitCode::usage, "the map has " + problem,
                    "set features.image = [channels, height, width], or use data of smaller images",
                    "features.image");
    return {image, input.range, weights};
}

DerivedFeatures derived_of(const FeatureSettings& settings, std::size_t columns, InputTransform input) {
    switch (settings.map) {
        case FeatureSettings::Map::bins:
            return bins_of(settings, columns, input.range);
        case FeatureSettings::Map::fourier:
            return fourier_of(settings, columns);
        case FeatureSettings::Map::prefix:
            return prefix_of(settings, input);
        case FeatureSettings::Map::scattering:
            return scattering_of(settings, columns, input);
        case FeatureSettings::Map::none:
            break;
    }
    return {};
}

}  // namespace

FeatureSettings FeatureSettings::pinned() const {
    FeatureSettings settings = *this;
    if (map == Map::prefix) settings.prefix_digest = prefix_model(*this).read().digest;
    return settings;
}

void FeatureSettings::keep_prefix(const std::string& folder) const {
    if (map == Map::prefix) prefix_model(*this).copy_to(folder + prefix_file);
}

FeatureSettings FeatureSettings::kept_in(const std::string& folder) const {
    FeatureSettings settings = *this;
    if (map == Map::prefix) settings.prefix = folder + prefix_file;
    return settings;
}

FeatureMap FeatureSettings::make(std::size_t columns, InputTransform input) const {
    if (map == Map::none && norm_limit == 0) return {columns, input};
    DerivedFeatures derived = derived_of(*this, columns, input);
    const bool columns_stay = map == Map::none || (keep && map != Map::prefix && map != Map::scattering);
    const std::string problem = FeatureMap::problem(columns, derived, columns_stay, norm_limit);
    if (!problem.empty())
        throw Error(ExitCode::usage, "the map has " + problem,
                    "change section features, or use data of the columns that it is for", "features.map");
    return {columns, input, std::move(derived), columns_stay, norm_limit};
}

std::vector<BasicOption<FeatureSettings>> feature_options() {
    using S = FeatureSettings;
    BasicOption<S> edges =
        option("edges",
               "public edges between the bins instead, ascending, for every column, or a list of one list a "
               "column; []: equal widths",
               &S::edges, all_edges_of);
    edges.get = shown_edges;
    return {
        choice<S>("map", "what a record's features become first, by public numbers alone", &S::map,
                  {{"none", S::Map::none},
                   {"bins", S::Map::bins},
                   {"fourier", S::Map::fourier},
                   {"prefix", S::Map::prefix},
                   {"scattering", S::Map::scattering}}),
        integer("bins", "bins of equal width over the public range, for every column", &S::bins, 2,
                most_bins),
        option("column_bins",
               "instead, a number for each column, 1 to 1024, as 2 for a flag; []: the same for all",
               &S::column_bins, counts_of),
        edges,
        flag("keep",
             "the columns stay, shifted and scaled as section network says, before bins and Fourier features",
             &S::keep),
        real("hot",
             "entry of the bin that a value lies in, all others are 0: a row of d columns has length "
             "hot sqrt(d) beside what is kept",
             &S::hot, at_least(1e-6)),
        flag("trend",
             "map bins: the standardised column precedes its bins, (x - m) / s cut to +-3, with m the middle "
             "edge and s half the distance between outer edges",
             &S::trend),
        option("pairs", "columns, counted from 0, whose bins are multiplied: [i, j, i, j, ...]", &S::pairs,
               pairs_of),
        integer("frequencies",
                "of map fourier: so many random frequencies w, for each cos and sin of w x over the root of "
                "their number",
                &S::frequencies, 1, FeatureMap::most_outputs / 2),
        real("bandwidth",
             "of map fourier: records much closer than it look alike, and farther ones do not; of columns as "
             "the network would see them",
             &S::bandwidth, at_least(FourierFeatures::least_bandwidth, FourierFeatures::greatest_bandwidth)),
        integer("seed", "of map fourier: public, of the frequencies", &S::seed, 0),
        text("prefix",
             "of map prefix: a public model file, whose last hidden layer gives the features; never one of "
             "these records, unless it was published",
             &S::prefix),
        text("prefix_digest", "the digest of the model in it, as its run keeps it; \"\": any model",
             &S::prefix_digest),
        option(
            "image",
            "of map scattering: [channels, height, width] of the columns' pixels, at most 32 x 32; []: one "
            "channel, as high as wide",
            &S::image, image_sides_of),
        option(
            "weights",
            "of map scattering: public factors of the smoothed image, of its fine and coarse waves, and of "
            "coarse ones after fine",
            &S::weights, weights_of),
        real("norm_limit",
             "a mapped record that is longer in the 2-norm is scaled to it; 0: none, and none is below 1e-6",
             &S::norm_limit, at_least(0, FeatureMap::greatest_norm_limit))};
}

void check(const FeatureSettings& settings) {
    using Map = FeatureSettings::Map;
    const bool of_bins =
        !settings.pairs.empty() || !settings.edges.empty() || !settings.column_bins.empty() || settings.trend;
    if (settings.map != Map::bins && of_bins)
        throw Error(ExitCode::usage,
                    "features.pairs, edges, column_bins and trend belong to features.map = \"bins\"",
                    "set features.map = \"bins\"", "features.map");
    if (settings.map != Map::scattering &&
        !std::equal(settings.weights.begin(), settings.weights.end(), Scattering::usual_weights.begin(),
                    Scattering::usual_weights.end()))
        throw Error(ExitCode::usage, "features.weights are of a scattering, and there is none",
                    "set features.map = \"scattering\"", "features.weights");
    if (settings.map != Map::scattering && !settings.image.empty())
        throw Error(ExitCode::usage, "features.image is of a scattering, and there is none",
                    "set features.map = \"scattering\"; layers take network.image", "features.image");
    if (settings.norm_limit > 0 && settings.norm_limit < FeatureMap::least_norm_limit)
        throw Error(ExitCode::usage, "a norm limit below 1e-6 leaves nothing of a record",
                    "set it to 1e-6 or more, or to 0: none", "features.norm_limit");
    if ((settings.map == Map::prefix) == settings.prefix.empty())
        throw Error(ExitCode::usage,
                    settings.prefix.empty() ? "features.map = \"prefix\" names no model"
                                            : "features.prefix is not used",
                    "set features.map = \"prefix\" and features.prefix, or neither", "features.map");
}

}  // namespace holdfast
