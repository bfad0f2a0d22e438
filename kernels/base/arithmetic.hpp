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
/// Every quantity of a step comes of operations (kernels/ops/panel_operations.hpp) made of correctly rounded
/// ones: +,
/// *, fma, /, min, max, rounding to a grid, in an order fixed by public shapes. Each operation has a box
/// version, which computes a lower and an upper bound from boxes of its operands. Its lemma, with no widening
/// at all:
///   - inclusion: lower(B) <= v <= upper(B) for what the operation computes, v, at any point of a box B;
///   - isotony: B within B' implies lower(B') <= lower(B) and upper(B) <= upper(B').
/// Both follow where lower(B) is the least, upper(B) the greatest value computed at points of B, as the least
/// of fewer points is no less. And that is attained at a corner: rounding to nearest never decreases, so a
/// rounded sum, fma, quotient, min or max is monotone in each operand as the exact one is (products: by the
/// sign of the other factor), and corner by corner leads to an extreme. What chooses by an operand's sign,
/// the gate of a ReLU, has a lemma of its own.
///
/// The lemmas chain: let an operation's operands be results of others, each standing in for its interval. By
/// induction over a step's operations, every interval holds its value at each parameter of the box, and lies
/// in the interval that a larger box gives. An operand that is used twice (a weight forward and backward, an
/// activation as factor and in its gate) counts as two, that need not be at the same point of its interval:
/// its bounds still hold and still nest, but no parameter need attain them.
/// tests/property/reduced_format_test.cpp tries to break each lemma, and the chain, over every box of formats
/// of a few bits; interval_oracle_test.cpp in double and float.
///
/// Sums over records are sums of integers (GradientGrid), updates are integer arithmetic with lemmas of its
/// own (models/training/update_rule.hpp), so adding or removing a record changes a sum by exactly one integer
/// of size at most Gamma, whatever the order, the ranks, the threads or the SIMD width. See
/// models/mathematics.md, monotone arithmetic; no rounding envelope and no slack is left.
///
/// Nothing above needs double: a step is computed in Real, which is double or float (training.precision), and
/// the argument is the same word for word. What goes into the composition from outside becomes a Real by one
/// correctly rounded, hence monotone, conversion: parameters from their integers, loss gradients from the
/// double in which their exp is taken; features are points, of which any public function will do. So boxes of
/// single precision hold bit by bit, need no slack and may be released from, as those of double do. What
/// differs: they enclose the parameters of another program, the one that computes in float, and certificates
/// must be evaluated in the precision the boxes were trained in; and a record's gradient is rounded to a
/// coarser grid (GradientGrid), which Gamma in units, what is charged, counts in. Fixed is single but for its
/// products, which are exact on public grids (kernels/ops/fixed_format.hpp).
enum class Precision { double_precision, single_precision, fixed };
constexpr const char* name_of(Precision precision) {
    return precision == Precision::double_precision   ? "double"
           : precision == Precision::single_precision ? "single"
                                                      : "fixed";
}

/// A precision and what belongs to it.
struct Arithmetic {
    Arithmetic(Precision of, int bits = 16)  // NOLINT(google-explicit-constructor): most have no more to say
        : precision(of), activation_bits(bits) {}
    Precision precision;
    int activation_bits;  ///< of fixed: 16 or 8, of what weights meet
};

/// What of the arithmetic depends on Real.
template <typename Real>
struct RealFormat;
template <>
struct RealFormat<double> {
    using Integer = std::int64_t;  ///< of the same size
    static constexpr Precision precision = Precision::double_precision;
    static constexpr int gradient_bits = 40;
    static constexpr double least_limit = 0x1p-960;  ///< least bound that a clip may have
    static constexpr double saturation = 0x1p300;    ///< see saturated()
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
    using std::nextafter;
    return static_cast<double>(nearest) <= limit ? nearest : nextafter(nearest, Real{0});
}

/// Sets the last bit of the significand, zero staying zero: monotone, moves a value by at most one ulp away
/// from zero. The exact product of two odd numbers needs no tie rule when it is rounded to a gradient grid.
/// With p bits of significand, the product of two odd normal numbers is an odd number of at least 2p - 1 bits
/// times a power of two, so it is halfway between two points of a grid only if it is at least 2^(2p - 3) of
/// its units: far more than any entry has. A product with a subnormal factor is less than half a unit: with
/// limits a, c >= RealFormat::least_limit of the factors a unit is at least 2^-gradient_bits times a and a c,
/// and no subnormal is more than a or c times 2^-(gradient_bits + 2). For finite values: infinity would
/// become NaN.
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

    /// largest_entry: the greatest Gamma of any parameter, in [least_limit, 1 / least_limit], so that unit
    /// and bias are normal numbers.
    explicit BasicGradientGrid(double largest_entry)
        : exponent_(std::ilogb(largest_entry) + 1 - significant_bits),
          bias_(times_power(Real{1.5}, std::numeric_limits<Real>::digits - 1 + exponent_)),
          unit_(times_power(Real{1}, exponent_)) {}

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
    static Real times_power(Real value, int exponent) {
        using std::ldexp;  // or that of a format of the tests
        return ldexp(value, exponent);
    }

    int exponent_;
    Real bias_, unit_;
};
using GradientGrid = BasicGradientGrid<double>;

}  // namespace holdfast
