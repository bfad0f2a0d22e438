#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/base/random.hpp"
#include "models/idp/twin.hpp"

namespace holdfast {

/// sizes: inputs, hidden widths, margins. Weights uniform in +- 2/sqrt(in); some are exactly 0.
inline PlainNetwork random_plain(const std::vector<std::size_t>& sizes, std::uint64_t seed) {
    PlainNetwork network;
    for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
        AffineLayer layer{sizes[l], sizes[l + 1], {}, {}};
        const KeyedHash hash{seed};
        const double scale = 2 / std::sqrt(static_cast<double>(layer.in));
        std::uint64_t counter = 0;
        const auto next = [&] {
            ++counter;
            return hash(2 * l, counter) % 8 == 0 ? 0.0 : scale * (2 * hash.uniform(2 * l + 1, counter) - 1);
        };
        for (std::size_t k = 0; k < layer.in * layer.out; ++k) layer.weight.push_back(next());
        for (std::size_t k = 0; k < layer.out; ++k) layer.bias.push_back(next() / 2);
        network.layers.push_back(std::move(layer));
    }
    const AffineLayer& last = network.layers.back();
    for (std::size_t o = 0; o < last.out; ++o) {
        for (std::size_t j = 0; j <= last.in; ++j)
            network.last_sizes.push_back(std::abs(j < last.in ? last.weight[o * last.in + j] : last.bias[o]));
    }
    return network;
}

/// Every parameter moved by at most `reach`; one in four stays.
inline PlainNetwork moved(PlainNetwork network, double reach, std::uint64_t seed) {
    const KeyedHash hash{seed};
    std::uint64_t counter = 0;
    for (AffineLayer& layer : network.layers) {
        for (std::vector<double>* values : {&layer.weight, &layer.bias}) {
            for (double& value : *values) {
                ++counter;
                if (hash(1, counter) % 4 != 0) value += reach * (2 * hash.uniform(2, counter) - 1);
            }
        }
    }
    const AffineLayer& last = network.layers.back();
    for (std::size_t o = 0; o < last.out; ++o) {
        for (std::size_t j = 0; j <= last.in; ++j)
            network.last_sizes[o * (last.in + 1) + j] =
                std::abs(j < last.in ? last.weight[o * last.in + j] : last.bias[o]);
    }
    return network;
}

/// The last layer's rows at x, in Real.
template <typename Real>
std::vector<Real> rows_at(const PlainNetwork& network, const std::vector<double>& x) {
    std::vector<Real> values(x.begin(), x.end());
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const AffineLayer& layer = network.layers[l];
        std::vector<Real> next;
        for (std::size_t o = 0; o < layer.out; ++o) {
            Real sum = layer.bias[o];
            for (std::size_t j = 0; j < layer.in; ++j)
                sum += static_cast<Real>(layer.weight[o * layer.in + j]) * values[j];
            next.push_back(l + 1 < network.layers.size() ? std::max(sum, Real{0}) : sum);
        }
        values = std::move(next);
    }
    return values;
}

inline InputBox unit_box(std::size_t inputs) {
    return {std::vector<double>(inputs, 0.0), std::vector<double>(inputs, 1.0)};
}

}  // namespace holdfast
