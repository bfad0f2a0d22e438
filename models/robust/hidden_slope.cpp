#include "models/robust/hidden_slope.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "models/convex/symmetric.hpp"
#include "models/robust/dense_lanes.hpp"

namespace holdfast {
namespace {

Upper length_of(const std::vector<double>& entries) {
    Upper squares;
    for (const double entry : entries) squares = squares + Upper(std::abs(entry)) * Upper(std::abs(entry));
    return sqrt(squares);
}

/// W W', or W' W if that is smaller.
Symmetric products_of(const AffineLayer& layer) {
    const bool by_outputs = layer.out <= layer.in;
    const std::size_t size = by_outputs ? layer.out : layer.in, length = by_outputs ? layer.in : layer.out;
    std::vector<double> rows(layer.weight);
    for (std::size_t i = 0; !by_outputs && i < size; ++i)
        for (std::size_t o = 0; o < length; ++o) rows[i * length + o] = layer.weight[o * layer.in + i];
    Symmetric products(size);
    for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j <= i; ++j)
            products.row(i)[j] = product_of(&rows[i * length], &rows[j * length], length);
    return products;
}

/// The root of the greatest sums of a row's sizes and of a column's, multiplied.
Upper norm_by_sums(const AffineLayer& layer) {
    Upper of_rows, of_columns;
    std::vector<Upper> columns(layer.in);
    for (std::size_t o = 0; o < layer.out; ++o) {
        Upper row;
        for (std::size_t i = 0; i < layer.in; ++i) {
            const Upper size(std::abs(layer.weight[o * layer.in + i]));
            row = row + size;
            columns[i] = columns[i] + size;
        }
        of_rows = max(of_rows, row);
    }
    for (const Upper column : columns) of_columns = max(of_columns, column);
    return sqrt(of_rows * of_columns);
}

}  // namespace

Upper spectral_norm(const AffineLayer& layer) {
    constexpr std::size_t most_factored = 1000;  // rows and columns that Cholesky's algorithm is worth
    const Upper entries = length_of(layer.weight), whole = min(entries, norm_by_sums(layer));
    if (std::min(layer.in, layer.out) > most_factored) return whole;
    Symmetric rest = products_of(layer);
    const std::size_t size = rest.size();
    const double most = rest.trace().value();
    if (!(most > 0) || !std::isfinite(most)) return whole;
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) rest.row(i)[j] = -rest.row(i)[j];
        rest.row(i)[i] = most - rest.row(i)[i];
    }
    // Sums of so many products are off by a part of the sizes that they add, and the diagonal by a rounding.
    const Upper off = Upper::of_count(layer.in + layer.out + 4) * Upper(0x1p-51) * entries * entries +
                      Upper(0x1p-52) * Upper(most);
    const double least = rest.least_eigenvalue(off);
    if (!(least > 0)) return whole;
    return min(whole, sqrt(Upper(most) + Upper(-least)));
}

HiddenSlope hidden_slope(const Network& network, const FeatureMap& map, Precision precision,
                         const std::vector<std::int64_t>& parameters, double seen) {
    const std::vector<AffineLayer> layers = affine_layers(network, precision, parameters);
    const double unit = precision == Precision::single_precision ? 0x1p-24 : 0x1p-53;
    HiddenSlope found;
    auto& [size, rounding] = found;
    rounding = {Upper(2 * seen), Upper(0x1p-70)};
    if (const auto* scattering = std::get_if<Scattering>(&map.derived()))
        rounding.alone = rounding.alone + Upper(scattering->largest_weight()) * Upper(scattering->rounding());
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
        const AffineLayer& layer = layers[l];
        const double chain = static_cast<double>(layer.in + 4) * unit;
        const Upper norm = spectral_norm(layer), entries = length_of(layer.weight),
                    bias = length_of(layer.bias);
        const Upper part(chain <= 0.125 ? 2 * chain : std::numeric_limits<double>::infinity());
        rounding.by_length =
            norm * rounding.by_length + part * entries * (size.by_length + rounding.by_length);
        rounding.alone =
            norm * rounding.alone + part * (entries * (size.alone + rounding.alone) + bias) + Upper(0x1p-70);
        size = {norm * size.by_length, norm * size.alone + bias};
    }
    return found;
}

}  // namespace holdfast
