#include "models/noisy/spectral_limit.hpp"

#include <cmath>

#include "kernels/base/random.hpp"
#include "models/idp/plain_network.hpp"
#include "models/robust/dense_lanes.hpp"

namespace holdfast {
namespace {

constexpr int powers = 20;

/// The root of |W' W v| / |v|, v the last but one of some powers of W' W on any vector.
double greatest_value(const AffineLayer& layer) {
    const std::size_t in = layer.in;
    const KeyedHash hash{1};
    std::vector<double> v(in), products(layer.out);
    for (std::size_t i = 0; i < in; ++i) v[i] = hash.uniform(0, i) - 0.5;
    const auto length = [&] { return std::sqrt(product_of(v.data(), v.data(), in)); };
    double before = length(), value = 0;
    for (int power = 0; power < powers && before > 0; ++power) {
        for (std::size_t o = 0; o < layer.out; ++o)
            products[o] = product_of(&layer.weight[o * in], v.data(), in) / before;
        sum_rows({products, layer.weight.data(), in}, v.data(), in);
        value = before = length();
    }
    return std::sqrt(value);
}

}  // namespace

void limit_spectral_norms(const Network& network, double limit, std::vector<std::int64_t>& parameters) {
    const std::vector<AffineLayer> layers = affine_layers(network, Precision::double_precision, parameters);
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
        const double value = greatest_value(layers[l]);
        if (!(value > limit)) continue;
        const std::size_t in = layers[l].in;
        std::int64_t* const rows = &parameters[network.offset(l)];  // the bias last in each
        for (std::size_t o = 0; o < layers[l].out; ++o)
            for (std::size_t i = 0; i < in; ++i) {
                std::int64_t& weight = rows[o * (in + 1) + i];
                weight = static_cast<std::int64_t>(std::rint(limit / value * static_cast<double>(weight)));
            }
    }
}

}  // namespace holdfast
