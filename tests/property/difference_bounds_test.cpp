// Bounds of a network and its twin over a box (models/mathematics.md, difference propagation): no point of
// the box is above them, by a single step of rounding, on any instruction set; and they are tight where they
// should be.

#include "models/idp/difference_bounds.hpp"

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "tests/support/plain_bounds.hpp"
#include "tests/support/random_twins.hpp"

namespace holdfast {
namespace {

const std::vector<std::vector<std::size_t>> shapes{
    {2, 1}, {1, 1, 1}, {3, 9, 2}, {2, 3, 3, 1}, {7, 17, 10, 1}, {9, 5, 8, 6, 3}, {4, 6, 5, 7, 4, 1}};

std::vector<BoundTarget> targets_of(std::size_t rows) {
    std::vector<BoundTarget> targets;
    for (std::size_t row = 0; row < rows; ++row) {
        targets.push_back({row, 1, 0});
        targets.push_back({row, -1, -1});
        targets.push_back({row, 0, -1});
        targets.push_back({row, 0, 1});
        targets.push_back({row, -0.3, 1.7});
    }
    return targets;
}

struct Box {
    std::vector<double> low, high;
};
/// The whole range, a point, or something within; some sides are points.
Box box_within(std::size_t inputs, std::uint64_t which) {
    const KeyedHash hash{which};
    Box box{std::vector<double>(inputs, 0.0), std::vector<double>(inputs, 1.0)};
    for (std::size_t i = 0; i < inputs && which % 4 != 0; ++i) {
        const double centre = hash.uniform(1, i),
                     reach = which % 4 == 1 ? 0 : hash.uniform(2, i) / (which % 7 + 1);
        box.low[i] = std::max(0.0, centre - reach);
        box.high[i] = hash(3, i) % 5 == 0 ? box.low[i] : std::min(1.0, centre + reach);
        if (box.high[i] < box.low[i]) box.high[i] = box.low[i];
    }
    return box;
}
std::vector<double> point_of(const Box& box, std::uint64_t which) {
    const KeyedHash hash{which};
    std::vector<double> x(box.low.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool corner = which % 2 == 0;
        const double part = corner ? static_cast<double>(hash(1, i) % 2) : hash.uniform(2, i);
        x[i] = std::clamp(box.low[i] + part * (box.high[i] - box.low[i]), box.low[i], box.high[i]);
        if (corner) x[i] = part > 0 ? box.high[i] : box.low[i];
    }
    return x;
}

/// The affine function of target t at x: upper where it is greatest.
long double function_at(const BoxBounds& bounds, std::size_t t, const Box& box,
                        const std::vector<double>& x) {
    long double value = bounds.upper[t];
    for (std::size_t i = 0; i < x.size(); ++i) {
        const long double slope = bounds.coefficients[t * x.size() + i];
        value -= slope > 0 ? slope * (static_cast<long double>(box.high[i]) - x[i])
                           : slope * (static_cast<long double>(box.low[i]) - x[i]);
    }
    return value;
}

/// Points of boxes of pairs of networks, against all targets. How often a bound failed.
int failures(const BoundRules& rules, std::uint64_t pairs, std::uint64_t points) {
    int failed = 0;
    for (const std::vector<std::size_t>& shape : shapes) {
        for (std::uint64_t pair = 0; pair < pairs; ++pair) {
            const PlainNetwork one = random_plain(shape, pair);
            const PlainNetwork other = moved(one, std::pow(10.0, -static_cast<double>(pair % 7)), pair);
            const PreparedNetwork prepared(one);
            DifferenceBounds kernel(prepared);
            const Twin twin(one, other, unit_box(shape.front()), Precision::double_precision);
            const std::vector<BoundTarget> targets = targets_of(shape.back());
            const Box box = box_within(shape.front(), pair);
            BoxBounds bounds;
            kernel.bound(twin, box.low.data(), box.high.data(), targets, rules, bounds);
            for (std::uint64_t p = 0; p < points; ++p) {
                const std::vector<double> x = point_of(box, pair * 1000 + p);
                const std::vector<long double> here = rows_at<long double>(one, x),
                                               there = rows_at<long double>(other, x);
                for (std::size_t t = 0; t < targets.size(); ++t) {
                    const BoundTarget& target = targets[t];
                    const long double value = target.value * here[target.row] +
                                              target.difference * (there[target.row] - here[target.row]);
                    failed += !(value <= function_at(bounds, t, box, x)) || !(value <= bounds.upper[t]);
                }
            }
        }
    }
    return failed;
}

TEST(DifferenceBounds, HoldAtEveryPointOfTheBox) {
    EXPECT_EQ(failures({}, 60, 12), 0);
    EXPECT_EQ(failures({.differences = false, .symbolic = true}, 20, 12), 0);
    EXPECT_EQ(failures({.differences = true, .symbolic = false}, 20, 12), 0);
    EXPECT_EQ(failures({.differences = false, .symbolic = false}, 20, 12), 0);
}

TEST(DifferenceBounds, HoldOnEveryInstructionSet) {
    ASSERT_FALSE(simd_targets().empty());
    for (const std::string& name : simd_targets()) {
        const SimdTargetOverride target(name);
        EXPECT_EQ(failures({}, 8, 6), 0) << name;
    }
}

TEST(DifferenceBounds, AreTheValuesAtAPoint) {
    for (const std::vector<std::size_t>& shape : shapes) {
        for (std::uint64_t pair = 0; pair < 40; ++pair) {
            const PlainNetwork one = random_plain(shape, pair), other = moved(one, 0.3, pair);
            const PreparedNetwork prepared(one);
            DifferenceBounds kernel(prepared);
            const Twin twin(one, other, unit_box(shape.front()), Precision::double_precision);
            const std::vector<BoundTarget> targets = targets_of(shape.back());
            const std::vector<double> x = point_of(box_within(shape.front(), 0), 2 * pair + 1);
            BoxBounds bounds;
            kernel.bound(twin, x.data(), x.data(), targets, {.differences = true, .symbolic = pair % 2 == 0},
                         bounds);
            const std::vector<double> here = rows_at<double>(one, x), there = rows_at<double>(other, x);
            for (std::size_t t = 0; t < targets.size(); ++t) {
                const double value = targets[t].value * here[targets[t].row] +
                                     targets[t].difference * (there[targets[t].row] - here[targets[t].row]);
                EXPECT_NEAR(bounds.upper[t], value, 1e-6 * (1 + std::abs(value)));
            }
        }
    }
}

struct Comparison {
    int boxes = 0, close = 0;
    BoundExcess excess;
};

void compare(const PlainNetwork& one, const std::vector<PlainNetwork>& others, const Box& box,
             const BoundRules& rules, Comparison& found) {
    const PreparedNetwork prepared(one);
    DifferenceBounds kernel(prepared);
    const InputBox whole = unit_box(one.inputs());
    const Twin twin = others.size() == 1 ? Twin(one, others[0], whole, Precision::double_precision)
                                         : Twin(one, others, whole, Precision::double_precision);
    const std::vector<BoundTarget> targets = targets_of(one.rows());
    BoxBounds bounds;
    kernel.bound(twin, box.low.data(), box.high.data(), targets, rules, bounds);
    const PlainBounds plain(one, others, {box.low, box.high}, rules);
    ++found.boxes;
    found.close += plain.is_close();
    for (std::size_t t = 0; t < targets.size() && !plain.is_close(); ++t)
        found.excess.add(bounds, t, plain.bound(targets[t]));
}

// Of one twin and of hulls, with every part of the method and without: more by what rounding may take (radii
// of hulls are rounded up by 2^-20 of the parameters' sizes), by nothing else.
TEST(DifferenceBounds, AreThoseOfPlainLoops) {
    Comparison of_one, of_hulls;
    for (const std::vector<std::size_t>& shape : shapes) {
        for (std::uint64_t pair = 0; pair < 60; ++pair) {
            const PlainNetwork one = random_plain(shape, pair);
            std::vector<PlainNetwork> others;
            for (std::uint64_t k = 0; k < 1 + pair % 3; ++k)
                others.push_back(moved(one, std::pow(10.0, -static_cast<double>(pair % 5)), 100 * pair + k));
            compare(one, others, box_within(shape.front(), pair),
                    {.differences = pair % 7 != 1, .symbolic = pair % 7 != 2},
                    others.size() == 1 ? of_one : of_hulls);
        }
    }
    for (const auto& [found, most] : {std::pair{of_one, 1e-6}, {of_hulls, 1e-2}}) {
        EXPECT_GE(found.excess.least, 0);
        EXPECT_LT(found.excess.greatest, most);
        EXPECT_LT(found.excess.coefficients, 1e-6);
        EXPECT_LT(found.close, found.boxes / 3) << "of those nothing is compared";
    }
}

// What the whole method rests on: of twins that differ by little, the difference is known to a little.
TEST(DifferenceBounds, ShrinkWithTheDifference) {
    const std::vector<std::size_t> shape{7, 20, 20, 1};
    const PlainNetwork one = random_plain(shape, 5);
    const PreparedNetwork prepared(one);
    DifferenceBounds kernel(prepared);
    const InputBox box = unit_box(7);
    const std::vector<BoundTarget> targets{{0, 0, -1}};
    const auto bound_of = [&](double reach, const BoundRules& rules) {
        const Twin twin(one, moved(one, reach, 9), box, Precision::double_precision);
        BoxBounds bounds;
        kernel.bound(twin, box.low.data(), box.high.data(), targets, rules, bounds);
        return bounds.upper[0];
    };
    EXPECT_LT(bound_of(1e-4, {}), 2e-3 * bound_of(1e-1, {}));
    EXPECT_LT(bound_of(1e-4, {}), 1e-2 * bound_of(1e-4, {.differences = false, .symbolic = true}));
}

TEST(DifferenceBounds, OfAHullHoldForAllInIt) {
    int failed = 0;
    for (const std::vector<std::size_t>& shape : shapes) {
        for (std::uint64_t set = 0; set < 12; ++set) {
            const PlainNetwork one = random_plain(shape, set);
            std::vector<PlainNetwork> others;
            for (std::uint64_t k = 0; k < 4; ++k)
                others.push_back(moved(one, std::pow(10.0, -static_cast<double>(set % 5)), 100 * set + k));
            const PreparedNetwork prepared(one);
            DifferenceBounds kernel(prepared);
            const Twin twin(one, others, unit_box(shape.front()), Precision::double_precision);
            ASSERT_TRUE(twin.is_hull());
            const std::vector<BoundTarget> targets = targets_of(shape.back());
            const Box box = box_within(shape.front(), set);
            BoxBounds bounds;
            kernel.bound(twin, box.low.data(), box.high.data(), targets, {}, bounds);
            for (std::uint64_t p = 0; p < 12; ++p) {
                const std::vector<double> x = point_of(box, set * 1000 + p);
                const std::vector<long double> here = rows_at<long double>(one, x),
                                               there = rows_at<long double>(others[p % 4], x);
                for (std::size_t t = 0; t < targets.size(); ++t) {
                    const BoundTarget& target = targets[t];
                    const long double value = target.value * here[target.row] +
                                              target.difference * (there[target.row] - here[target.row]);
                    failed += !(value <= function_at(bounds, t, box, x));
                }
            }
        }
    }
    EXPECT_EQ(failed, 0);
}

TEST(Twin, RefusesWhatWouldSaturate) {
    PlainNetwork one = random_plain({2, 3, 1}, 1);
    one.layers[0].weight[1] = 0x1p59;
    EXPECT_THROW(Twin(one, one, unit_box(2), Precision::double_precision), Error);
    for (double& weight : one.layers[0].weight) weight = 0;
    EXPECT_NO_THROW(Twin(one, one, unit_box(2), Precision::double_precision));
    EXPECT_THROW(Twin(one, one, {{0, 0}, {1, 0x1p59}}, Precision::double_precision), Error);
}

// What the program computes in either precision is as near to the exact value as the twin says.
TEST(Twin, BoundsTheErrorOfTheProgram) {
    for (std::uint64_t pair = 0; pair < 50; ++pair) {
        PlainNetwork one = random_plain({6, 30, 12, 2}, pair);
        for (AffineLayer& layer : one.layers) {
            for (double& value : layer.weight) value = static_cast<float>(value);
            for (double& value : layer.bias) value = static_cast<float>(value);
        }
        const Twin twin(one, one, unit_box(6), Precision::single_precision);
        std::vector<double> x = point_of(box_within(6, 0), 2 * pair + 1);
        for (double& value : x) value = static_cast<float>(value);
        const std::vector<float> single = rows_at<float>(one, x);
        const std::vector<long double> exact = rows_at<long double>(one, x);
        for (std::size_t row = 0; row < 2; ++row) {
            EXPECT_LE(std::abs(static_cast<long double>(single[row]) - exact[row]), twin.program_error(row));
            EXPECT_LT(twin.program_error(row), 0.01);
        }
    }
}

}  // namespace
}  // namespace holdfast
