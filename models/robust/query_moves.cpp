#include "models/robust/query_moves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "kernels/base/error.hpp"
#include "kernels/base/next.hpp"
#include "models/certify/answers.hpp"
#include "models/convex/mapped_length.hpp"
#include "models/robust/dense_lanes.hpp"
#include "models/robust/scattering_slope.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_inputs = std::size_t{1} << 20;

const Scattering* scattering_of(const FeatureMap& map) {
    return std::get_if<Scattering>(&map.derived());
}

/// By how much features grow apart that a move of the query by 1 brings apart, before any map but scaling.
Upper scale_of(const Network& network, const FeatureMap& map) {
    // Both ends of the range are exact, and their difference rounds once.
    if (const Scattering* scattering = scattering_of(map))
        return Upper(1) / std::nextafter(scattering->range().high - scattering->range().low, 0.0);
    return Upper(std::abs(map.is_identity() ? network.transform().scale : map.input().scale));
}

Upper rounding_of(const FeatureMap& map) {
    const Scattering* scattering = scattering_of(map);
    return scattering != nullptr ? Upper(2 * scattering->rounding()) : Upper(0);
}

Upper size_of(std::int64_t units) {
    return Upper(std::nextafter(std::abs(parameter_value(units)), std::numeric_limits<double>::max()));
}

}  // namespace

void require_bounded_moves(const Network& network, const FeatureMap& map, Precision precision) {
    const auto refuse = [](const char* what, const char* remedy) {
        throw Error(ExitCode::usage, what, remedy, "--norm");
    };
    for (const Layer& layer : network.layers())
        if (layer.pooling)
            refuse("radii in l2 are proved through no pooling",
                   "ask --norm linf or --smoothing, or train without pooling");
    if (!std::holds_alternative<std::monostate>(map.derived()) && scattering_of(map) == nullptr)
        refuse("radii in l2 are proved of features as they are or scattered, not of bins or the like",
               "train with features.map = \"none\" or \"scattering\"");
    if (precision == Precision::fixed)
        refuse("radii in l2 are not proved in fixed precision",
               "ask --norm linf, or train with training.precision = \"double\"");
    if (map.is_identity()) return;
    const InputTransform found = network.transform(), known = map.network_input();
    if (found.shift != 0 || found.scale != 1 || found.range.low > known.range.low ||
        found.range.high < known.range.high)
        refuse("radii in l2 are not proved where the network scales or cuts what its features are mapped to",
               "write the model with the network's input as its map gives it: shift 0, scale 1, the whole "
               "range");
}

QueryMoves::QueryMoves(const Network& network, FeatureMap map, Precision precision,
                       const std::vector<std::int64_t>& parameters)
    : network_(network),
      map_(std::move(map)),
      columns_(network.layers().back().in + 1),
      classes_(network.classes()),
      rows_(deciding_rows(network, parameters)),
      scale_(scale_of(network, map_)),
      mapped_(rounding_of(map_)) {
    rows_.resize(classes_ * columns_);
    for (const std::int64_t units : rows_) row_sizes_.push_back(size_of(units).value());
    const bool single = precision == Precision::single_precision, mapped = !map_.is_identity();
    const bool floats = single || mapped;  // a narrow file's mapped features are
    const double unit = floats ? 0x1p-24 : 0x1p-53;
    const auto terms = static_cast<double>(columns_ + 3);
    const double seen =
        mapped ? 4 * unit + 2 * static_cast<double>(network.inputs() + 4) * 0x1p-53 : 4 * unit;
    const double chain = terms * (single ? 0x1p-24 : 0x1p-53);
    rounding_ = chain + seen <= 0.125 && columns_ - 1 <= most_inputs
                    ? 2 * (chain + seen)
                    : std::numeric_limits<double>::infinity();
    underflow_ = floats ? 0x1p-80 : 0x1p-800;
    if (network.layers().size() > 1) {
        hidden_ = hidden_slope(network, map_, precision, parameters, seen);
        if (const Scattering* scattering = scattering_of(map_))
            scale_ = scale_ * Upper(scattering->largest_weight());
    }
    for (std::size_t c = 0; c < classes_; ++c) {
        slopes_.push_back(slope(c, c));
        for (std::size_t j = 0; j < c; ++j) pairs_.push_back(slope(c, j));
    }
}

Upper QueryMoves::reach(const Network& network, const FeatureMap& map, double radius) {
    const Scattering* scattering = scattering_of(map);
    if (scattering == nullptr) return scale_of(network, map) * Upper(radius);
    return Upper(scattering->largest_weight()) *
           (sqrt(Upper(3)) * scale_of(network, map) * Upper(radius) + rounding_of(map));
}

double QueryMoves::Lead::within(double radius) const {
    return next_below(left - (Upper(radius) * slope).value());
}

QueryMoves::OfQuery::OfQuery(const QueryMoves& moves, const FeatureMatrix& mapped, std::size_t query,
                             const double* logits)
    : moves_(moves), logits_(logits), off_(moves.mapped_) {
    const std::size_t inputs = moves.columns_ - 1;
    if (moves.hidden_) {
        // Of what is computed; the 1 that it counts and a millionth hold what features are off by.
        const Upper length = mapped_length(moves.network_, mapped, query) * Upper(1 + 0x1p-20);
        off_ = Upper(2) * moves.hidden_->rounding.at(length);
        for (std::size_t c = 0; c < moves.classes_; ++c)
            sizes_.push_back(moves.slopes_[c].length * moves.hidden_->size.at(length) +
                             Upper(moves.row_sizes_[(c + 1) * moves.columns_ - 1]));
        return;
    }
    std::vector<double> seen;
    for (std::size_t i = 0; i < inputs; ++i)
        seen.push_back(std::abs(moves.network_.transform().apply<double>(mapped.at(query, i))));
    // Of terms above 0 a sum of n is off by n 2^-53 of itself, and an underflow.
    const Upper rounded(1 + static_cast<double>(inputs + 4) * 0x1p-52);
    for (std::size_t c = 0; c < moves.classes_; ++c) {
        const double* const row = &moves.row_sizes_[c * moves.columns_];
        sizes_.push_back(Upper(product_of(row, seen.data(), inputs)) * rounded + Upper(row[inputs]) +
                         Upper(0x1p-900));
    }
}

QueryMoves::Lead QueryMoves::OfQuery::lead(std::size_t c, std::size_t j) const {
    const Slope& both = moves_.pair(c, j);
    const Upper moved = moves_.slopes_[c].moved + moves_.slopes_[j].moved, rounding(moves_.rounding_);
    const Upper lost = Upper(2) * rounding * (sizes_[c] + sizes_[j] + off_ * moved) +
                       Upper(4 * moves_.underflow_) + off_ * both.moved;
    Upper slope = both.length + rounding * moved;
    if (moves_.hidden_)
        slope = moves_.hidden_->size.by_length * slope +
                moves_.hidden_->rounding.by_length * (both.length + Upper(2) * rounding * moved);
    return {next_below(next_below(logits_[c] - logits_[j]) - lost.value()), moves_.scale_ * slope};
}

double QueryMoves::OfQuery::radius(std::size_t label) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < moves_.classes_; ++j) {
        if (j == label) continue;
        const Lead over = lead(label, j);
        if (!(over.left > 0)) return 0;
        least = std::min(least, next_below(over.left / over.slope.value()));
    }
    return std::max(least, 0.0);
}

QueryMoves::Slope QueryMoves::slope(std::size_t c, std::size_t j) const {
    const Upper plain = length(c, j);
    const Scattering* scattering = scattering_of(map_);
    if (scattering == nullptr || hidden_) return {plain, plain};
    const Upper longest = Upper(scattering->largest_weight()) * plain;
    if (map_.norm_limit() > 0) return {longest, longest};
    std::vector<double> w;
    for (std::size_t i = 0; i + 1 < columns_; ++i)
        w.push_back(parameter_value(rows_[c * columns_ + i] - (c == j ? 0 : rows_[j * columns_ + i])));
    const ScatteringSlope found = slope_of(*scattering, w);
    return {found.by_image, found.by_entries};
}

const QueryMoves::Slope& QueryMoves::pair(std::size_t c, std::size_t j) const {
    const std::size_t high = std::max(c, j);
    return pairs_[high * (high - 1) / 2 + std::min(c, j)];
}

/// |w_c - w_j|, or |w_c| where j = c, without the biases. Differences of integers are exact, and a conversion
/// rounds once.
Upper QueryMoves::length(std::size_t c, std::size_t j) const {
    Upper squares;
    for (std::size_t i = 0; i + 1 < columns_; ++i) {
        const std::int64_t units = rows_[c * columns_ + i] - (c == j ? 0 : rows_[j * columns_ + i]);
        const Upper size = size_of(units);
        squares = squares + size * size;
    }
    return sqrt(squares);
}

}  // namespace holdfast
