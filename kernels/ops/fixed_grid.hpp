#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/ops/clip.hpp"

namespace holdfast {

/// 2^exponent, a normal number: a product with it is what std::ldexp gives, in a tenth of its time.
constexpr double exact_power(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

/// The grids of training.precision = "fixed". A product W z rounds its operands to public grids, each to the
/// nearest point (to even of two equally near) and saturated; adds the products of integers exactly, in any
/// order; and rounds each sum once to float. All else is as in single precision.
///
///   operand               unit          at most   rounded by
///   weight                2^-11         32639     pack()
///   its bias              2^-11         2^22      pack()
///   weight of a margin    2^-11         16319     MarginRows, of 3 classes or more
///   feature               2^(f - 15)    32639     forward_input(), forward_box()
///   activation            2^(f - 12)    32639     forward()
///   delta                 2^-14         32639     backward()
///   factor of a clip      by its limit  32639     accumulate(), as FixedFactors says
///
/// With activation_bits = 8 the units of a feature, an activation and a delta are 2^(f - 7), 2^(f - 6) and
/// 2^-7, and they and a factor are at most 127.
///
/// 2^f: the least power of two that no feature exceeds as the network sees it, 4 if none is stated. A bias is
/// a whole number of units of each product it is added to, as no unit of a feature or activation exceeds 1.
/// Rounding to nearest and saturation do not fall, so each is the conversion of one operand
/// (models/mathematics.md, fixed products). 32639 = 127 * 256 + 127: an integer of 16 bits is 256 h + l with
/// h and l in [-128, 127].
struct FixedGrid {
    int exponent;  ///< the unit is 2^exponent
    std::int32_t limit;

    static constexpr std::int32_t limit_of(int bits) { return bits == 8 ? 127 : 32639; }
    /// Of `value`, which is finite.
    std::int32_t units(double value) const {
        const double scaled = value * exact_power(-exponent);
        const double most = limit;
        return static_cast<std::int32_t>(std::nearbyint(std::clamp(scaled, -most, most)));
    }
};

constexpr int fixed_weight_exponent = -11;
constexpr FixedGrid fixed_weights{fixed_weight_exponent, 32639};
/// Of weights whose differences are weights.
constexpr std::int32_t fixed_half_limit = 16319;

/// A parameter in weight units, rounded once; not saturated.
HOLDFAST_PORTABLE inline std::int64_t fixed_parameter(std::int64_t units) {
    constexpr int bits = 50 + fixed_weight_exponent;
    constexpr std::int64_t half = std::int64_t{1} << (bits - 1);
    const std::int64_t down = units >> bits, rest = units - down * 2 * half;
    return down + (rest > half || (rest == half && down % 2 != 0) ? 1 : 0);
}
HOLDFAST_PORTABLE inline std::int32_t fixed_weight(std::int64_t units,
                                                   std::int32_t limit = fixed_weights.limit) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(fixed_parameter(units), -limit, limit));
}

/// Sums of so many products are exact: below 2^50, and with a bias below 2^53, so that a double holds them.
constexpr std::size_t fixed_products = std::size_t{1} << 20;

/// A sum of products in units of 2^exponent, rounded once.
inline float fixed_value(std::int64_t sum, int exponent) {
    return static_cast<float>(static_cast<double>(sum) * exact_power(exponent));
}

/// The grids of a factored clip: the units are powers of two such that each limit has as many bits as the
/// format; an entry is a product of integers and is not rounded. The bias's 1 is 2^-z.exponent units.
struct FixedFactors {
    FixedGrid delta, z;

    FixedFactors(double delta_limit, double activation_limit, int bits)
        : delta(below(delta_limit, bits)), z(below(activation_limit, bits)) {}
    FixedFactors(const Clip& clip, int bits)
        : FixedFactors(static_cast<double>(clip.delta_clamp<float>()),
                       static_cast<double>(clip.activation_clamp<float>()), bits) {}

    int exponent() const { return delta.exponent + z.exponent; }
    std::int64_t one() const { return std::int64_t{1} << -z.exponent; }
    std::int64_t weight_units() const { return std::int64_t{delta.limit} * z.limit; }
    std::int64_t bias_units() const { return delta.limit * one(); }

    /// Between these no Gamma has more than 40 bits, and the bias's 1 is a whole number of units.
    static constexpr double least_limit = 0x1p-10;
    static double greatest_limit(int bits) { return std::ldexp(1.0, bits - 1); }

  private:
    static FixedGrid below(double limit, int bits) {
        const int exponent = least_power(limit) - (bits - 1);
        const double units = std::floor(std::ldexp(limit, -exponent));
        return {exponent, std::min(static_cast<std::int32_t>(units), FixedGrid::limit_of(bits))};
    }

  public:
    /// The least p with 2^p >= value > 0.
    static int least_power(double value) {
        const int power = std::ilogb(value);
        return std::ldexp(1.0, power) < value ? power + 1 : power;
    }
};

}  // namespace holdfast
