// A proof of what kernels/base/monotone_exp.hpp claims, over all arguments: its own steps are evaluated with
// enclosures in place of doubles, and every rounding is bounded. Range reduction for each of the 2021 powers
// of two, over exactly the arguments that have it; the polynomial over blocks that cover every reduced
// argument.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "jobs/program/configuration.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "kernels/ops/loss_rule.hpp"
#include "tests/support/enclosure.hpp"

namespace holdfast {
namespace {

constexpr int most_power = 1010;
constexpr double argument_limit = 700;
constexpr int grid_exponent = -40;
constexpr double grid_step = 0x1p-40, claimed_error = 0x1p-52;
constexpr std::int64_t most_steps = std::int64_t{700} << 40;  // arguments are this many grid steps at most

double argument_at(std::int64_t steps) {
    return static_cast<double>(steps) * grid_step;
}

/// Half an ulp of the greatest double in an enclosure: what rounding to nearest moves any of them by at most.
double half_ulp(const Enclosure& exact) {
    return std::ldexp(1.0, std::ilogb(exact.magnitude()) - std::numeric_limits<double>::digits);
}
Enclosure plus_minus(double size) {
    return {-size, size};
}
/// The exponent of the last bit of a double.
int last_bit(double value) {
    int exponent = std::ilogb(value) - (std::numeric_limits<double>::digits - 1);
    while (std::fmod(value, std::ldexp(1.0, exponent + 1)) == 0) ++exponent;
    return exponent;
}

/// A step of the reduced argument as it is computed: its value, how far rounding has moved it from argument +
/// multiple power, and the power of two that it is a multiple of.
struct Reduced {
    Enclosure value, error, multiple;
    int last_bit;

    explicit Reduced(const Enclosure& argument)
        : value(argument), error(0.0), multiple(0.0), last_bit(grid_exponent) {}
};
Reduced fma(double power, double constant, const Reduced& argument) {
    Reduced next = argument;
    const Enclosure exact = Enclosure(power) * constant + argument.value;
    next.last_bit = std::min(last_bit(constant), argument.last_bit);  // power is an integer
    const bool fits =
        exact.magnitude() < std::ldexp(1.0, next.last_bit + std::numeric_limits<double>::digits);
    const Enclosure rounding = plus_minus(fits ? 0.0 : half_ulp(exact));
    next.value = exact + rounding;
    next.error = argument.error + rounding;
    next.multiple = argument.multiple + constant;
    return next;
}

/// What Horner's rule has computed, and its error against the part of Taylor's series that it stands for.
struct Sum {
    Enclosure value, error;
    int degree;  ///< of the coefficient it begins with

    explicit Sum(double leading)
        : value(leading),
          error(Enclosure(leading) - Enclosure(1.0) / Enclosure(std::tgamma(14.0))),
          degree(13) {}
    Sum(const Enclosure& reduced) : value(reduced), error(0.0), degree(0) {}  // NOLINT: an argument, exact
};
Sum fma(const Sum& sum, const Sum& reduced, double coefficient) {
    Sum next = sum;
    next.degree = sum.degree - 1;
    const Enclosure exact = sum.value * reduced.value + coefficient, rounding = plus_minus(half_ulp(exact)),
                    of_series =
                        Enclosure(1.0) / std::tgamma(next.degree + 1.0);  // factorials below 2^53: exact
    next.value = exact + rounding;
    next.error = sum.error * reduced.value + (Enclosure(coefficient) - of_series) + rounding;
    return next;
}

/// The arguments that have each power of two, in grid steps: those of `power` begin at [power + 1010]. Found
/// by bisection: power_of does not fall, as a rounded product with a positive number, rounded to an integer.
std::vector<std::int64_t> first_steps() {
    std::vector<std::int64_t> first{-most_steps};
    for (int power = -most_power + 1; power <= most_power; ++power) {
        std::int64_t below = first.back(), at = most_steps;
        while (at - below > 1) {
            const std::int64_t middle = below + (at - below) / 2;
            (exp_steps::power_of(argument_at(middle)) >= power ? at : below) = middle;
        }
        first.push_back(at);
    }
    return first;
}

TEST(ExpProof, ArgumentsAreMultiplesOfTheGridStep) {
    using exp_steps::argument_bias;
    for (const double end : {-argument_limit, argument_limit}) {
        // The ulp of every biased argument, so the sum rounds to the grid; what is left of it is below 2^50
        // steps.
        EXPECT_EQ(std::ilogb(argument_bias + end) - 52, -40);
        EXPECT_EQ(std::abs(end), argument_at(most_steps));
        EXPECT_EQ(exp_steps::on_grid(2 * end), end);
    }
    EXPECT_GE(last_bit(argument_bias), -40);
    EXPECT_LT(most_steps, std::int64_t{1} << 50);
}

TEST(ExpProof, EveryPowerOfTwoIsExactAndNoProductWithItRounds) {
    EXPECT_EQ(exp_steps::power_of(-argument_limit), -most_power);
    EXPECT_EQ(exp_steps::power_of(argument_limit), most_power);
    for (int power = -most_power; power <= most_power; ++power)
        ASSERT_EQ(exp_steps::two_to(power), std::ldexp(1.0, power));
    // The polynomial is within [1/2, 2) (below), so its product is neither subnormal nor infinite.
    EXPECT_GE(std::ldexp(0.5, -most_power), std::numeric_limits<double>::min());
    EXPECT_LT(most_power + 1, std::numeric_limits<double>::max_exponent);
}

/// Over all arguments: the values of the reduced argument, and how far each is from argument - power ln 2.
Reduced reduction() {
    const std::vector<std::int64_t> first = first_steps();
    EXPECT_EQ(first.size(), 2 * most_power + 1);
    Reduced all{Enclosure(0.0)};
    for (std::size_t index = 0; index < first.size(); ++index) {
        const int power = static_cast<int>(index) - most_power;
        const std::int64_t last = power == most_power ? most_steps : first[index + 1] - 1;
        const Enclosure arguments(argument_at(first[index]), argument_at(last));
        const Reduced computed = exp_steps::reduced(Reduced(arguments), power);
        all.value = hull(all.value, computed.value);
        all.error =
            hull(all.error, computed.error + Enclosure(power) * (computed.multiple + Enclosure::ln2()));
    }
    return all;
}

TEST(ExpProof, TheFirstReductionIsExact) {
    const std::vector<std::int64_t> first = first_steps();
    for (std::size_t index = 0; index + 1 < first.size(); ++index) {
        const int power = static_cast<int>(index) - most_power;
        ASSERT_LT(first[index], first[index + 1]);
        const Enclosure arguments(argument_at(first[index]), argument_at(first[index + 1] - 1));
        const Reduced once = fma(power, -exp_steps::ln2_high, Reduced(arguments));
        ASSERT_EQ(once.error.magnitude(), 0) << power;
    }
}

TEST(ExpProof, TheRelativeErrorIsBelowTwoToTheMinus52AndSoNeighboursKeepTheirOrder) {
    const Reduced reduced = reduction();
    EXPECT_LT(reduced.value.magnitude(), 0.35);
    EXPECT_LT(reduced.error.magnitude(), 0x1.01p-55);

    constexpr int blocks = 4096;
    const double low = reduced.value.low(), width = (reduced.value.high() - low) / blocks;
    Enclosure relative(0.0), values(1.0);
    double end = low;
    for (int block = 0; block < blocks; ++block) {
        const double begin = end;
        end = block + 1 == blocks ? reduced.value.high() : low + (block + 1) * width;
        const Enclosure x(begin, end);
        const Sum sum = exp_steps::polynomial(Sum(x));
        ASSERT_EQ(sum.degree, 0);
        Enclosure left_out = exp(hull(0.0, x));  // Lagrange: x^14/14! exp(something between 0 and x)
        for (int k = 1; k <= 14; ++k) left_out = left_out * x / k;
        relative = hull(relative, (sum.error - left_out) / exp(x));
        values = hull(values, sum.value);
    }
    EXPECT_EQ(end, reduced.value.high());
    EXPECT_GE(values.low(), 0.5);
    EXPECT_LT(values.high(), 2.0);

    const Enclosure total = (relative + 1.0) * exp(reduced.error) - 1.0;
    std::printf("monotone_exp: proved relative error 2^%.3f: polynomial 2^%.3f, reduction 2^%.3f\n",
                std::log2(total.magnitude()), std::log2(relative.magnitude()),
                std::log2(reduced.error.magnitude()));
    testing::Test::RecordProperty("log2_of_error", std::to_string(std::log2(total.magnitude())));
    EXPECT_LT(total.magnitude(), claimed_error);
    // exp(a + 2^-40) > (1 + 2^-40) exp(a), whatever the powers of the two.
    const Enclosure computed_ratio = (Enclosure(1.0) + grid_step) * (Enclosure(1.0) - total.magnitude()) /
                                     (Enclosure(1.0) + total.magnitude());
    EXPECT_GT(computed_ratio.low(), 1.0);
}

TEST(ExpProof, NeighboursKeepTheirOrderWhereThePowerChanges) {
    const std::vector<std::int64_t> first = first_steps();
    for (std::size_t i = 1; i < first.size(); ++i) {
        const double before = argument_at(first[i] - 1), at = argument_at(first[i]);
        ASSERT_EQ(exp_steps::power_of(before) + 1, exp_steps::power_of(at));
        ASSERT_LT(monotone_exp(before), monotone_exp(at));
    }
}

// The greatest sum of a softmax, its terms in order as loss_rule.hpp adds them: nothing any logit can do
// exceeds it.
TEST(ExpProof, SumsOverAllClassesAndTheirReciprocalsAreNormal) {
    constexpr std::size_t classes = 1000;
    EXPECT_NO_THROW(read_configuration("", {"network.classes=1000"}));
    EXPECT_THROW(read_configuration("", {"network.classes=1001"}), Error);
    const double greatest = std::numeric_limits<double>::max();
    std::vector<double> logits(classes, greatest);
    logits[0] = -greatest;
    const double sum = inverse_probability(Loss::cross_entropy, classes, 0, logits.data(), logits.data(), 1);
    EXPECT_GT(sum, 999 * monotone_exp(699.9));
    EXPECT_LE(sum, std::numeric_limits<double>::max());
    EXPECT_GE(1.0 / sum, std::numeric_limits<double>::min());
}

}  // namespace
}  // namespace holdfast
