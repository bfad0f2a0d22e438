#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/base/portable.hpp"

namespace holdfast {

/// The steps of monotone_exp, of which tests/property/exp_proof_test.cpp evaluates the same code with bounds
/// in place of numbers: over all arguments, and with every rounding, monotone_exp(x) is exp of the rounded x
/// up to 2^-52 relative. Hence its order, since exp grows by more than 2^-40 relative between neighbours of
/// the grid.
namespace exp_steps {

constexpr double log2_e = 0x1.71547652b82fep+0;
/// ln 2 = ln2_high + ln2_low, up to 2^-109.
constexpr double ln2_high = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
constexpr double argument_bias = 1.5 * 0x1p12;  // ulp 2^-40, from 2^12 to 2^13

/// |x| clamped and rounded to a multiple of 2^-40: the sum rounds to it, the difference is exact.
HOLDFAST_PORTABLE inline double on_grid(double x) {
    return (std::clamp(x, -700.0, 700.0) + argument_bias) - argument_bias;
}
/// exp(argument) = 2^power exp(argument - power ln 2): at most 1010 in size, does not fall with the argument.
HOLDFAST_PORTABLE inline double power_of(double argument) {
    return std::nearbyint(argument * log2_e);
}
/// argument - power ln 2, below 0.35 in size. The first product is a multiple of 2^-53 as the argument is,
/// and so is their difference, which a double therefore holds: it is exact. The second is rounded, by 2^-55.
template <typename Number>
HOLDFAST_PORTABLE Number reduced(const Number& argument, double power) {
    using std::fma;
    return fma(power, -ln2_low, fma(power, -ln2_high, argument));
}
/// 1/13!, 1/12!, … 1/0!
struct Coefficients {
    static constexpr int count = 14;
    double at[count];
};
HOLDFAST_PORTABLE constexpr Coefficients taylor() {
    return {{1.0 / 6227020800.0, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
             1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0}};
}
/// Taylor's polynomial of degree 13 by Horner's rule: what is left out is below 2^-57.
template <typename Number>
HOLDFAST_PORTABLE Number polynomial(const Number& reduced) {
    using std::fma;
    constexpr Coefficients coefficients = taylor();
    Number sum(coefficients.at[0]);
    for (int i = 1; i < Coefficients::count; ++i) sum = fma(sum, reduced, coefficients.at[i]);
    return sum;
}
/// 2^power by its exponent bits: a biased sum holds 1023 + power in its last bits.
constexpr double power_bias = 0x1.8p52 + 1023.0;
HOLDFAST_PORTABLE inline double two_to(double power) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(power + power_bias) << 52);
}

}  // namespace exp_steps

/// exp of x clamped to +-700 and rounded to a multiple of 2^-40 (which costs at most exp(2^-41) - 1); NaN
/// stays NaN. Non-decreasing, on the grid strictly. The last product is exact: the polynomial lies between
/// 1/2 and 2, so no result is subnormal or infinite.
HOLDFAST_PORTABLE inline double monotone_exp(double x) {
    const double argument = exp_steps::on_grid(x), power = exp_steps::power_of(argument);
    return exp_steps::polynomial(exp_steps::reduced(argument, power)) * exp_steps::two_to(power);
}

HOLDFAST_PORTABLE inline double monotone_sigmoid(double x) {
    return 1.0 / (1.0 + monotone_exp(-x));
}

}  // namespace holdfast
