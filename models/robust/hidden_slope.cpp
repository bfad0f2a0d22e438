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

}  // namespace

Upper spectral_norm(const AffineLayer& layer) {
    const Upper whole = length_of(layer.weight);
    Symmetric rest = products_of(layer);
    const std::size_t size = rest.size();
    const double most = rest.trace().value();
    if (!(most > 0) || !std::isfinite(most)) return whole;
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < i; ++j) rest.row(i)[j] = -rest.row(i)[j];
        rest.row(i)[i] = most - rest.row(i)[i];
    }
    // Sums of so many products are off by a part of the sizes that they add, and the diagonal by a rounding.
    const Upper off = Upper::of_count(layer.in + layer.out + 4) * Upper(0x1p-51) * whole * whole +
                      Upper(0x1p-52) * Upper(most);
    const double least = rest.least_eigenvalue(off);
    if (!(least > 0)) return whole;
    return min(whole, sqrt(Upper(most) + Upper(-least)));
}

HiddenSlope hidden_slope(const Network& network, const FeatureMap& map, Precision precision,
                         const std::vector<std::int64_t>& parameters, double seen) {
    const PlainNetwork plain = plain_network(network, precision, parameters);
    const double unit = precision == Precision::single_precision ? 0x1p-24 : 0x1p-53;
    HiddenSlope found;
    auto& [size, rounding] = found;
    rounding = {Upper(2 * seen), Upper(0x1p-70)};
    if (const auto* scattering = std::get_if<Scattering>(&map.derived()))
        rounding.alone = rounding.alone + Upper(scattering->largest_weight()) * Upper(scattering->rounding());
    for (std::size_t l = 0; l + 1 < plain.layers.size(); ++l) {
        const AffineLayer& layer = plain.layers[l];
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
