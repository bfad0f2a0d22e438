#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/ops/fixed_grid.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "kernels/ops/pooling_rule.hpp"
#include "kernels/reference/operations.hpp"

/// The products of fixed precision as plain loops (kernels/ops/fixed_grid.hpp), the specification: over
/// panels of any height, by grids of any width.
namespace holdfast::reference::fixed {

/// A layer's parameters in weight units: weights [out, in], biases [out].
struct Weights {
    LayerShape shape;
    const std::int32_t *lower, *upper;
    const std::int64_t *bias_lower, *bias_upper;
};

struct IntegerBox {
    std::int64_t lower, upper;
};

/// Of a w in [a] and a z in [b], by the signs of both: isotone, and a point's is its product. Where both
/// boxes hold numbers of either sign, both products that can be least are added: an end is then at most twice
/// the exact one (models/mathematics.md, fixed products).
inline IntegerBox product(IntegerBox a, IntegerBox b) {
    const auto up = [](std::int64_t value) { return std::max<std::int64_t>(value, 0); };
    const auto down = [](std::int64_t value) { return std::min<std::int64_t>(value, 0); };
    return {up(a.lower) * up(b.lower) + up(a.upper) * down(b.lower) + down(a.lower) * up(b.upper) +
                down(a.upper) * down(b.upper),
            up(a.upper) * up(b.upper) + up(a.lower) * down(b.upper) + down(a.upper) * up(b.lower) +
                down(a.lower) * down(b.lower)};
}

/// a = W z + b, of any signs; a point where all are points.
inline void forward(const Weights& layer, FixedGrid grid, std::size_t height, BasicConstInterval<float> z,
                    BasicInterval<float> a) {
    const auto [in, out] = layer.shape;
    const int exponent = fixed_weight_exponent + grid.exponent;
    for (std::size_t o = 0; o < out; ++o) {
        for (std::size_t r = 0; r < height; ++r) {
            IntegerBox sum{layer.bias_lower[o] << -grid.exponent, layer.bias_upper[o] << -grid.exponent};
            for (std::size_t j = 0; j < in; ++j) {
                const std::size_t at = j * height + r;
                const auto [least, greatest] = product({layer.lower[o * in + j], layer.upper[o * in + j]},
                                                       {grid.units(z.lower[at]), grid.units(z.upper[at])});
                sum.lower += least;
                sum.upper += greatest;
            }
            a.lower[o * height + r] = fixed_value(sum.lower, exponent);
            a.upper[o * height + r] = fixed_value(sum.upper, exponent);
        }
    }
}

/// d = gate(z) * (W^T delta).
inline void backward(const Weights& layer, FixedGrid grid, std::size_t height,
                     BasicConstInterval<float> delta, BasicConstInterval<float> z, BasicInterval<float> d) {
    const auto [in, out] = layer.shape;
    const int exponent = fixed_weight_exponent + grid.exponent;
    for (std::size_t j = 0; j < in; ++j) {
        for (std::size_t r = 0; r < height; ++r) {
            IntegerBox sum{0, 0};
            for (std::size_t o = 0; o < out; ++o) {
                const std::size_t from = o * height + r;
                const auto [least, greatest] =
                    product({layer.lower[o * in + j], layer.upper[o * in + j]},
                            {grid.units(delta.lower[from]), grid.units(delta.upper[from])});
                sum.lower += least;
                sum.upper += greatest;
            }
            const std::size_t at = j * height + r;
            d.lower[at] = fixed_value(sum.lower, exponent);
            d.upper[at] = fixed_value(sum.upper, exponent);
        }
    }
    gate(in * height, z, d);
}

/// One entry of a factored clip: the corners of delta' z', integers; z >= 0 or a point.
inline Entry entry(const FixedFactors& factors, bool bias, Factors<float> of) {
    const auto z_units = [&](float z) { return bias ? factors.one() : factors.z.units(z); };
    const std::int64_t lower = factors.delta.units(of.delta_lower),
                       upper = factors.delta.units(of.delta_upper), z_lower = z_units(of.z_lower),
                       z_upper = z_units(of.z_upper);
    const auto [least, greatest] =
        std::minmax({lower * z_lower, lower * z_upper, upper * z_lower, upper * z_upper});
    return {least, greatest};
}

}  // namespace holdfast::reference::fixed
