#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/base/portable.hpp"

namespace holdfast {

/// The arithmetic that makes a certificate hold bit by bit.
///
/// Every quantity of a step is a composition of correctly rounded operations (+, *, fma, /, min, max,
/// rounding to a grid), in an order fixed by public shapes. Each of these is monotone in each argument (for *
/// and fma: by the sign of the other factor), and so is their composition. A bound is the same composition as
/// the point run, evaluated at the ends of the box that make it least or greatest. Hence, with no widening at
/// all:
///   - inclusion: the value this program computes at any point of a box lies between the bounds it computes;
///   - isotony: the bounds of a smaller box lie inside the bounds of a larger one.
/// Sums over records are sums of integers (GradientGrid), updates are integer arithmetic (models/training),
/// so adding or removing a record changes a sum by exactly one integer of size at most Gamma, whatever the
/// order, the ranks, the threads or the SIMD width. See mathematics section 6; this replaces its rounding
/// envelopes and its slack tau.
///
/// Nothing above needs double: a step is computed in Real, which is double or float (training.precision), and
/// the argument is the same word for word. What goes into the composition from outside becomes a Real by one
/// correctly rounded, hence monotone, conversion: parameters from their integers, loss gradients from the
/// double in which their exp is taken; features are points, of which any public function will do. So boxes of
/// single precision hold bit by bit, need no slack and may be released from, as those of double do. What
/// differs: they enclose the parameters of another program, the one that computes in float, and certificates
/// must be evaluated in the precision the boxes were trained in; and a record's gradient is rounded to a
/// coarser grid (GradientGrid), which Gamma in units, what is charged, counts in.
enum class Precision { double_precision, single_precision };

/// What of the arithmetic depends on Real.
template <typename Real>
struct RealFormat;
template <>
struct RealFormat<double> {
    using Integer = std::int64_t;  ///< of the same size
    static constexpr Precision precision = Precision::double_precision;
    static constexpr int gradient_bits = 40;
    static constexpr double least_limit = 0x1p-1000;  ///< least bound that a clip may have
    static constexpr double saturation = 0x1p300;     ///< see saturated()
};
template <>
struct RealFormat<float> {
    using Integer = std::int32_t;
    static constexpr Precision precision = Precision::single_precision;
    static constexpr int gradient_bits = 14;
    static constexpr double least_limit = 0x1p-99;
    static constexpr float saturation = 0x1p60F;
};

/// Parameters are integers times this unit, |parameter| <= parameter_limit.
constexpr double parameter_unit = 0x1p-50;
constexpr std::int64_t parameter_limit_units = std::int64_t{1} << 60;  // 1024.0

/// One rounding, that of the integer: the product with the unit is exact.
template <typename Real = double>
HOLDFAST_PORTABLE Real parameter_value(std::int64_t units) {
    return static_cast<Real>(units) * static_cast<Real>(parameter_unit);
}

/// What a network sees, its activations and its deltas stay within this public bound: monotone, and far
/// beyond what any typical run meets. With it the map is total: a sum of n <= 2^50 (float: 2^20) products of
/// a parameter (at most 2^11, margins included) and such a value is finite, products of two such values are,
/// and so no operation of a step can make an infinity or a NaN.
template <typename Real>
HOLDFAST_PORTABLE Real saturated(Real value) {
    constexpr Real limit = RealFormat<Real>::saturation;
    return value < -limit ? -limit : limit < value ? limit : value;
}

/// To nearest; values beyond the limit become the limit. Not for NaN.
inline std::int64_t parameter_units(double value) {
    const double scaled = std::clamp(value * 0x1p50, -0x1p60, 0x1p60);
    return static_cast<std::int64_t>(std::nearbyint(scaled));
}

/// The greatest Real that is no more than `limit` >= 0.
template <typename Real>
Real rounded_down(double limit) {
    const auto nearest = static_cast<Real>(limit);
    return static_cast<double>(nearest) <= limit ? nearest : std::nextafter(nearest, Real{0});
}

/// Sets the last bit of the significand, zero staying zero: monotone, moves a value by at most one ulp away
/// from zero. The exact product of two odd numbers needs no tie rule when it is rounded to a gradient grid.
/// With p bits of significand, the product of two odd normal numbers is an odd number of at least 2p - 1 bits
/// times a power of two, so it is halfway between two points of a grid only if it is at least 2^(2p - 3) of
/// its units: far more than any entry has. A product with a subnormal factor is less than half a unit,
/// because no clip has a bound below RealFormat::least_limit. For finite values: infinity would become NaN.
template <typename Real>
HOLDFAST_PORTABLE Real make_odd(Real value) {
    using Bits = std::make_unsigned_t<typename RealFormat<Real>::Integer>;
    return value == Real{0} ? value : std::bit_cast<Real>(std::bit_cast<Bits>(value) | Bits{1});
}

/// The grid on which the entries of per-record gradients are added: multiples of 2^exponent, the unit.
/// The Real `bias` has that unit as its ulp, and so has all that differs from it by less than 2^51 units
/// (float: 2^22): adding something to it, or an fma onto it, rounds once to the grid (to even of two equally
/// near); as an integer the result counts units above the bits of the bias.
template <typename Real>
class BasicGradientGrid {
  public:
    /// The largest entry has at most 2^significant_bits units.
    static constexpr int significant_bits = RealFormat<Real>::gradient_bits;
    /// Products of odd factors a biased Real can add: with twice as many the sum would reach its limit.
    static constexpr std::int64_t block_limit =
        std::int64_t{1} << (std::numeric_limits<Real>::digits - 2 - significant_bits - 1);
    static constexpr std::int64_t record_limit = std::int64_t{1}
                                                 << (62 - significant_bits);  ///< records an int64 can add

    /// largest_entry: the greatest Gamma of any parameter, in [2^-1000, 2^1000] (float: [2^-99, 2^99]): unit
    /// and bias are normal numbers.
    explicit BasicGradientGrid(double largest_entry)
        : exponent_(std::ilogb(largest_entry) + 1 - significant_bits),
          bias_(std::ldexp(Real{1.5}, std::numeric_limits<Real>::digits - 1 + exponent_)),
          unit_(std::ldexp(Real{1}, exponent_)) {}

    int exponent() const { return exponent_; }
    Real bias() const { return bias_; }
    Real unit() const { return unit_; }

    /// Units of bias + sum.
    std::int64_t units_of_biased(Real biased) const {
        using Integer = typename RealFormat<Real>::Integer;
        return std::int64_t{std::bit_cast<Integer>(biased)} - std::bit_cast<Integer>(bias_);
    }
    /// One entry, rounded to nearest.
    std::int64_t units(Real entry) const { return units_of_biased(bias_ + entry); }
    /// Gamma in units: no entry of size at most `entry` rounds to more.
    std::int64_t units_above(double entry) const {
        return static_cast<std::int64_t>(std::ceil(std::ldexp(entry, -exponent_)));
    }

  private:
    int exponent_;
    Real bias_, unit_;
};
using GradientGrid = BasicGradientGrid<double>;

/// exp on the grid of multiples of 2^-40, |x| clamped to 700; NaN stays NaN. Monotone: neighbouring grid
/// points differ by 2^-40 relative, the error on the grid is below 2^-52 relative (measured against MPFR by
/// tests/property/arithmetic_test.cpp: 2^-52.6). The rounding of x costs besides at most exp(2^-41) - 1.
HOLDFAST_PORTABLE inline double monotone_exp(double x) {
    constexpr double log2_e = 0x1.71547652b82fep+0, ln2_high = 0x1.62e42fefa39efp-1,
                     ln2_low = 0x1.abc9e3b39803fp-56;
    constexpr double argument_bias = 1.5 * 0x1p12;  // ulp 2^-40
    const double argument = (std::clamp(x, -700.0, 700.0) + argument_bias) - argument_bias;
    const double power = std::nearbyint(argument * log2_e);
    const double reduced = std::fma(power, -ln2_low, std::fma(power, -ln2_high, argument));
    double sum = 1.0 / 6227020800.0;  // 1/13!, then Horner: |reduced| < 0.35, remainder below 2^-57
    for (const double coefficient :
         {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
          1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}) {
        sum = std::fma(sum, reduced, coefficient);
    }
    // 2^power by its exponent bits: |power| <= 1010, and a biased sum holds 1023 + power in its last bits.
    return sum * std::bit_cast<double>(std::bit_cast<std::uint64_t>(power + (0x1.8p52 + 1023.0)) << 52);
}

HOLDFAST_PORTABLE inline double monotone_sigmoid(double x) {
    return 1.0 / (1.0 + monotone_exp(-x));
}

}  // namespace holdfast
