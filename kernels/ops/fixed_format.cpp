#include "kernels/ops/fixed_format.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

void check_layers(const NetworkShape& network) {
    for (std::size_t l = 0; l < network.layers.size(); ++l) {
        const Layer& layer = network.layers[l];
        if (layer.convolution || layer.pooling)
            throw Error(ExitCode::usage, "fixed precision has no products of convolutions, and no pooling",
                        "use dense layers, or set training.precision = \"single\"", "training.precision");
        const std::size_t products = std::max(layer.in, layer.out);
        if (products > fixed_products)
            throw Error(ExitCode::usage,
                        "layer " + std::to_string(l + 1) + " adds " + std::to_string(products) +
                            " products, and fixed precision adds " + std::to_string(fixed_products) +
                            " exactly",
                        "make it narrower, or set training.precision = \"single\"", "training.precision");
    }
}

/// In size, as the network sees them; where no range is stated what lies beyond saturates.
double greatest_feature(const InputTransform& input) {
    constexpr double unstated = 4;
    if (input.range == default_feature_range) return unstated;
    return std::max(std::abs(static_cast<double>(input.apply<float>(input.range.low))),
                    std::abs(static_cast<double>(input.apply<float>(input.range.high))));
}

}  // namespace

FixedFormat FixedFormat::of(const NetworkShape& network, int bits) {
    ensure(bits == 16 || bits == 8, "integers of 16 or 8 bits");
    check_layers(network);
    const double most = greatest_feature(network.input);
    const int greatest = bits - 1;
    if (most > std::ldexp(1.0, greatest))
        throw Error(ExitCode::usage,
                    "features of up to " + std::to_string(most) + ", and fixed precision of " +
                        std::to_string(bits) + " bits takes " + std::to_string(1 << greatest) + " at most",
                    "scale them at import, or set network.input_shift and network.input_scale; or set "
                    "training.precision = \"single\"",
                    "training.precision");
    // Of features that are all but 0 the units stay above 2^-26: a bias has at most 2^47 of them.
    const int power = std::max(FixedFactors::least_power(std::max(most, 0x1p-10)), -10);
    const std::int32_t limit = FixedGrid::limit_of(bits);
    const int spare = bits == 16 ? 3 : 1;
    return {bits,
            {power - greatest, limit},
            {std::min(power - greatest + spare, 0), limit},
            {bits == 16 ? -14 : -7, limit}};
}

}  // namespace holdfast
