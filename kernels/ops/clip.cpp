#include "kernels/ops/clip.hpp"

#include <bit>

#include "kernels/ops/fixed_grid.hpp"

namespace holdfast {

GradientScale Clip::scale(Arithmetic arithmetic) const {
    if (arithmetic.precision == Precision::double_precision) return scale<double>();
    if (arithmetic.precision == Precision::single_precision || kind != Kind::factored) return scale<float>();
    const FixedFactors factors(*this, arithmetic.activation_bits);
    const std::int64_t weight = factors.weight_units(), bias = factors.bias_units();
    const int bits = std::bit_width(static_cast<std::uint64_t>(std::max(weight, bias) - 1));
    return {factors.exponent(), weight, bias, std::int64_t{1} << (62 - bits), 0};
}

}  // namespace holdfast
