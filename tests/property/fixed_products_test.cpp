// The products of fixed precision (models/mathematics.md, fixed products): over every box of small grids,
// with values on the grid, between its points and beyond its ends; and of full width against sums of 128
// bits.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/random.hpp"
#include "kernels/reference/fixed_operations.hpp"

namespace holdfast {
namespace {

using reference::fixed::IntegerBox;

/// Every box with ends among whole numbers of [-most, most], or from 0 on.
std::vector<IntegerBox> boxes(std::int64_t most, bool nonnegative = false) {
    std::vector<IntegerBox> all;
    for (std::int64_t lower = nonnegative ? 0 : -most; lower <= most; ++lower) {
        for (std::int64_t upper = lower; upper <= most; ++upper) all.push_back({lower, upper});
    }
    return all;
}
bool within(IntegerBox inner, IntegerBox outer) {
    return outer.lower <= inner.lower && inner.upper <= outer.upper;
}
/// Those a box contains that are one narrower at an end.
std::vector<IntegerBox> narrower(IntegerBox box) {
    if (box.lower == box.upper) return {};
    return {{box.lower + 1, box.upper}, {box.lower, box.upper - 1}};
}

TEST(FixedProduct, HoldsPointsNestsAndIsAtMostTwiceTheExactOne) {
    std::int64_t exact = 0, looser = 0;
    for (const IntegerBox a : boxes(7)) {
        for (const IntegerBox b : boxes(7)) {
            const IntegerBox found = reference::fixed::product(a, b);
            const auto [least, greatest] =
                std::minmax({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper});
            ASSERT_TRUE(within({least, greatest}, found));
            const bool both = a.lower < 0 && a.upper > 0 && b.lower < 0 && b.upper > 0;
            if (both) {
                ASSERT_LE(2 * least, found.lower);
                ASSERT_GE(2 * greatest, found.upper);
                ++looser;
            } else {
                ASSERT_EQ(found.lower, least);
                ASSERT_EQ(found.upper, greatest);
                ++exact;
            }
            for (const IntegerBox part : narrower(a))
                ASSERT_TRUE(within(reference::fixed::product(part, b), found));
            for (const IntegerBox part : narrower(b))
                ASSERT_TRUE(within(reference::fixed::product(a, part), found));
        }
    }
    EXPECT_GT(exact, 5000);
    EXPECT_GT(looser, 1000);
}

/// A layer of one weight and one unit, by a grid of units of 1/2 that ends at 3/2.
constexpr FixedGrid coarse{-1, 3};
struct Layer {
    std::int32_t lower, upper;
    std::int64_t bias = 5;
    reference::fixed::Weights view() const { return {{1, 1}, &lower, &upper, &bias, &bias}; }
};
/// By eighths from -2 on.
std::vector<float> values() {
    std::vector<float> all;
    for (int i = -16; i <= 16; ++i) all.push_back(static_cast<float>(i) / 8);
    return all;
}
struct Bounds {
    float lower, upper;
    bool operator==(const Bounds&) const = default;
};
bool within(Bounds inner, Bounds outer) {
    return outer.lower <= inner.lower && inner.lower <= inner.upper && inner.upper <= outer.upper;
}

/// evaluate(weights, least value, greatest value): over every box of weights and of values, every one that is
/// narrower in one end lies within it, and a point has one value (unless something else is a box): so every
/// box holds its points and nests.
template <typename Evaluate>
void walk(const std::vector<float>& of, bool has_points, Evaluate evaluate) {
    std::int64_t narrowed = 0;
    for (const IntegerBox w : boxes(4)) {
        const Layer layer{static_cast<std::int32_t>(w.lower), static_cast<std::int32_t>(w.upper)};
        for (std::size_t low = 0; low < of.size(); ++low) {
            for (std::size_t high = low; high < of.size(); ++high) {
                const Bounds found = evaluate(layer, of[low], of[high]);
                if (has_points && w.lower == w.upper && low == high) {
                    ASSERT_EQ(found.lower, found.upper);
                }
                const auto holds = [&](Bounds inner) {
                    narrowed += inner == found ? 0 : 1;
                    return within(inner, found);
                };
                for (const IntegerBox part : narrower(w)) {
                    ASSERT_TRUE(holds(evaluate(
                        {static_cast<std::int32_t>(part.lower), static_cast<std::int32_t>(part.upper)},
                        of[low], of[high])));
                }
                if (low < high) {
                    ASSERT_TRUE(holds(evaluate(layer, of[low + 1], of[high])));
                    ASSERT_TRUE(holds(evaluate(layer, of[low], of[high - 1])));
                }
            }
        }
    }
    EXPECT_GT(narrowed, 1000);
}

TEST(FixedProducts, ForwardHoldsPointsAndNestsOverEveryBox) {
    walk(values(), true, [](const Layer& layer, float low, float high) {
        Bounds a;
        reference::fixed::forward(layer.view(), coarse, 1, {&low, &high}, {&a.lower, &a.upper});
        return a;
    });
}

TEST(FixedProducts, BackwardHoldsPointsAndNestsOverEveryBoxAndGate) {
    for (const Bounds z : {Bounds{0, 1}, {1, 2}}) {
        walk(values(), z.lower > 0, [&](const Layer& layer, float low, float high) {
            Bounds d;
            reference::fixed::backward(layer.view(), coarse, 1, {&low, &high}, {&z.lower, &z.upper},
                                       {&d.lower, &d.upper});
            return d;
        });
        if (HasFatalFailure()) return;
    }
}

TEST(FixedProducts, AGateThatOpensOrShutsStaysWithinOneThatMayDoEither) {
    const std::vector<float> of = values();
    for (const IntegerBox w : boxes(4)) {
        const Layer layer{static_cast<std::int32_t>(w.lower), static_cast<std::int32_t>(w.upper)};
        for (std::size_t low = 0; low < of.size(); ++low) {
            for (std::size_t high = low; high < of.size(); ++high) {
                const auto behind = [&](Bounds z) {
                    Bounds d;
                    reference::fixed::backward(layer.view(), coarse, 1, {&of[low], &of[high]},
                                               {&z.lower, &z.upper}, {&d.lower, &d.upper});
                    return d;
                };
                ASSERT_TRUE(within(behind({1, 2}), behind({0, 2})));
                ASSERT_TRUE(within(behind({0, 0}), behind({0, 2})));
            }
        }
    }
}

// The values of the box z >= 0 of the second operand; a bias's factor is 1 whatever its place says.
TEST(FixedProducts, EntriesHoldPointsNestAndKeepToGamma) {
    const FixedFactors factors(0.7, 1.5, 8);
    EXPECT_EQ(factors.delta.exponent, -7);
    EXPECT_EQ(factors.delta.limit, 89);
    EXPECT_EQ(factors.z.exponent, -6);
    EXPECT_EQ(factors.z.limit, 96);
    EXPECT_EQ(factors.one(), 64);
    const std::vector<float> of = values();
    std::int64_t reached = 0;
    for (const bool bias : {false, true}) {
        const std::int64_t gamma = bias ? factors.bias_units() : factors.weight_units();
        const auto entry = [&](float low, float high, float z_low, float z_high) {
            return reference::fixed::entry(factors, bias, {low, high, z_low, z_high});
        };
        for (std::size_t low = 0; low < of.size(); ++low) {
            for (std::size_t high = low; high < of.size(); ++high) {
                for (std::size_t z_low = 16; z_low < of.size(); ++z_low) {
                    for (std::size_t z_high = z_low; z_high < of.size(); ++z_high) {
                        const auto found = entry(of[low], of[high], of[z_low], of[z_high]);
                        ASSERT_LE(std::max(std::abs(found.lower), std::abs(found.upper)), gamma);
                        reached += found.upper == gamma ? 1 : 0;
                        const auto holds = [&](const reference::Entry& inner) {
                            return found.lower <= inner.lower && inner.lower <= inner.upper &&
                                   inner.upper <= found.upper;
                        };
                        if (low < high) {
                            ASSERT_TRUE(holds(entry(of[low + 1], of[high], of[z_low], of[z_high])));
                            ASSERT_TRUE(holds(entry(of[low], of[high - 1], of[z_low], of[z_high])));
                        }
                        if (z_low < z_high) {
                            ASSERT_TRUE(holds(entry(of[low], of[high], of[z_low + 1], of[z_high])));
                            ASSERT_TRUE(holds(entry(of[low], of[high], of[z_low], of[z_high - 1])));
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(reached, 0);
}

TEST(FixedGrids, RoundToNearestToEvenAndSaturate) {
    EXPECT_EQ(coarse.units(0.25), 0);
    EXPECT_EQ(coarse.units(0.75), 2);
    EXPECT_EQ(coarse.units(-0.75), -2);
    EXPECT_EQ(coarse.units(0.26), 1);
    EXPECT_EQ(coarse.units(1e30), 3);
    EXPECT_EQ(coarse.units(-1e30), -3);
    EXPECT_EQ(coarse.units(1e-320), 0);
    const std::int64_t unit = std::int64_t{1} << 39;
    for (const std::int64_t whole : {-4, -3, -1, 0, 1, 2, 5, 1000}) {
        for (const std::int64_t sign : {-1, 1}) {
            EXPECT_EQ(fixed_parameter(whole * unit), whole);
            EXPECT_EQ(fixed_parameter(whole * unit + sign * (unit / 2 - 1)), whole);
            EXPECT_EQ(fixed_parameter(whole * unit + sign * unit / 2), whole % 2 == 0 ? whole : whole + sign);
        }
    }
    EXPECT_EQ(fixed_weight(parameter_limit_units), 32639);
    EXPECT_EQ(fixed_weight(-parameter_limit_units), -32639);
    EXPECT_EQ(fixed_weight(parameter_limit_units, fixed_half_limit), 16319);
    EXPECT_EQ(fixed_parameter(2 * parameter_limit_units), std::int64_t{1} << 22);
}

TEST(FixedGrids, AParameterNeverFallsBehindASmallerOne) {
    const KeyedHash hash{11};
    for (std::uint64_t trial = 0; trial < 100000; ++trial) {
        const auto units = static_cast<std::int64_t>(hash(1, trial)) >> static_cast<int>(trial % 20 + 2);
        const auto more = units + static_cast<std::int64_t>(hash(2, trial) >> (24 + trial % 40));
        ASSERT_LE(fixed_parameter(units), fixed_parameter(more));
        ASSERT_LE(fixed_weight(units), fixed_weight(more));
        const std::int64_t again = fixed_parameter(units) * (std::int64_t{1} << 39);
        ASSERT_EQ(fixed_parameter(again), fixed_parameter(units));
        ASSERT_LE(std::abs(static_cast<double>(again) - static_cast<double>(units)), 0x1p38);
    }
}

// No sum of the greatest number of the greatest products, with the greatest bias, is rounded before its end.
TEST(FixedProducts, TheGreatestSumFitsADouble) {
    const double products = static_cast<double>(fixed_products) * 2 * 32639 * 32639;
    const double bias = std::ldexp(0x1p22, 25);  // of a margin, in the finest units (FixedFormat::of)
    EXPECT_LE(products + bias, 0x1p53);
}

// Long sums of the greatest size, added in any order: the value is that of 128 bits.
TEST(FixedProducts, AreExactSumsRoundedOnce) {
    const KeyedHash hash{5};
    constexpr std::size_t in = 3000;
    const FixedGrid grid{-12, 32639};
    for (std::uint64_t trial = 0; trial < 20; ++trial) {
        std::vector<std::int32_t> lower, upper;
        std::vector<float> z_lower, z_upper;
        std::int64_t bias[] = {-123457, 123457};
        __int128 least = __int128{bias[0]} << 12, greatest = __int128{bias[1]} << 12;
        for (std::size_t j = 0; j < in; ++j) {
            const auto draw = [&](std::uint64_t stream) {
                const double u = hash.uniform(stream, trial * in + j) * 2 - 1;
                return trial % 3 == 0 ? std::copysign(32639.0, u) : std::nearbyint(32639 * u);
            };
            const double a = draw(1), b = draw(2), c = draw(3), d = draw(4);
            const IntegerBox w{static_cast<std::int64_t>(std::min(a, b)),
                               static_cast<std::int64_t>(std::max(a, b))};
            IntegerBox z{static_cast<std::int64_t>(std::min(c, d)),
                         static_cast<std::int64_t>(std::max(c, d))};
            if (trial % 2 == 0) z = {std::abs(z.upper), std::abs(z.upper)};
            lower.push_back(static_cast<std::int32_t>(w.lower));
            upper.push_back(static_cast<std::int32_t>(w.upper));
            z_lower.push_back(std::ldexp(static_cast<float>(z.lower), -12));
            z_upper.push_back(std::ldexp(static_cast<float>(z.upper), -12));
            least += reference::fixed::product(w, z).lower;
            greatest += reference::fixed::product(w, z).upper;
        }
        float a[2];
        reference::fixed::forward({{in, 1}, lower.data(), upper.data(), &bias[0], &bias[1]}, grid, 1,
                                  {z_lower.data(), z_upper.data()}, {&a[0], &a[1]});
        EXPECT_EQ(a[0], static_cast<float>(std::ldexp(static_cast<long double>(least), -23)));
        EXPECT_EQ(a[1], static_cast<float>(std::ldexp(static_cast<long double>(greatest), -23)));
        EXPECT_LE(a[0], a[1]);
    }
}

}  // namespace
}  // namespace holdfast
