#include "models/nets/dropout.hpp"

#include <algorithm>

#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {

std::vector<std::vector<double>> dropout_factors(const Network& network, std::uint64_t seed,
                                                 std::uint64_t member, std::uint64_t step) {
    const std::vector<Layer>& layers = network.layers();
    if (std::all_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.dropout == 0; }))
        return {};
    const KeyedHash hash{seed};
    std::vector<std::vector<double>> factors;
    std::uint64_t unit = 0;  // counted through the layers
    for (std::size_t l = 0; l + 1 < layers.size(); unit += layers[l++].output_rows()) {
        factors.emplace_back();
        const double part = layers[l].dropout;
        for (std::size_t row = 0; row < layers[l].output_rows() && part > 0; ++row) {
            const bool kept = hash.uniform(streams::dropout(member, step), unit + row) >= part;
            factors.back().push_back(kept ? 1 / (1 - part) : 0);
        }
    }
    return factors;
}

}  // namespace holdfast
