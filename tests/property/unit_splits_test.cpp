// Bounds of the part of a box where hidden units have given signs (models/mathematics.md, unit splits): no
// point of that part is above them, whatever the multipliers, on any instruction set; they gain by them; and
// where they say that no point is in it, none is.

#include <gtest/gtest.h>

#include "kernels/cpu/simd_target.hpp"
#include "models/idp/difference_bounds.hpp"
#include "tests/support/plain_bounds.hpp"
#include "tests/support/random_twins.hpp"

namespace holdfast {
namespace unit_splits_test {

const std::vector<std::vector<std::size_t>> shapes{
    {1, 1, 1}, {2, 3, 3, 1}, {7, 17, 10, 1}, {4, 9, 3}, {4, 6, 5, 7, 4, 1}};

/// z of every hidden unit at x, of each layer.
std::vector<std::vector<long double>> units_at(const PlainNetwork& network, const std::vector<double>& x) {
    std::vector<std::vector<long double>> units;
    std::vector<long double> values(x.begin(), x.end());
    for (std::size_t l = 0; l + 1 < network.layers.size(); ++l) {
        const AffineLayer& layer = network.layers[l];
        units.emplace_back();
        for (std::size_t o = 0; o < layer.out; ++o) {
            long double sum = layer.bias[o];
            for (std::size_t j = 0; j < layer.in; ++j)
                sum += static_cast<long double>(layer.weight[o * layer.in + j]) * values[j];
            units.back().push_back(sum);
        }
        values = units.back();
        for (long double& value : values) value = std::max(value, 0.0L);
    }
    return units;
}

std::vector<double> point(std::size_t inputs, std::uint64_t which) {
    std::vector<double> x(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
        x[i] = KeyedHash{which}.uniform(1, i);
        if (KeyedHash{which}(2, i) % 3 == 0) x[i] = static_cast<double>(KeyedHash{which}(3, i) % 2);
    }
    return x;
}

/// A network, its twin, and units that have the signs they have at a point, but one in eight.
struct Case {
    PlainNetwork one, other;
    std::vector<UnitSplit> units;

    Case(const std::vector<std::size_t>& shape, std::uint64_t seed)
        : one(random_plain(shape, seed)),
          other(moved(one, std::pow(10.0, -static_cast<double>(seed % 4)), seed)) {
        const KeyedHash hash{seed};
        const std::vector<double> x = point(shape.front(), 10 * seed);
        const auto here = units_at(one, x), there = units_at(other, x);
        const std::uint64_t count = 1 + hash(0, 0) % 6;
        for (std::uint64_t s = 0; s < count; ++s) {
            const std::size_t layer = hash(1, s) % here.size(), unit = hash(2, s) % here[layer].size();
            const bool of_twin = hash(3, s) % 2 == 0;
            const bool positive = (of_twin ? there : here)[layer][unit] >= 0;
            units.push_back({layer, unit, of_twin, positive == (hash(4, s) % 8 != 0) ? 1.0 : -1.0});
        }
    }
    bool is_within(const std::vector<double>& x) const {
        const auto here = units_at(one, x), there = units_at(other, x);
        return std::all_of(units.begin(), units.end(), [&](const UnitSplit& split) {
            return split.sign * (split.of_twin ? there : here)[split.layer][split.unit] >= 0;
        });
    }
};

std::vector<BoundTarget> targets_of(std::size_t rows) {
    std::vector<BoundTarget> targets;
    for (std::size_t row = 0; row < rows; ++row)
        for (const auto& [value, difference] : {std::pair{1.0, 0.0}, {-1, -1}, {0, -1}, {0.25, -1.25}})
            targets.push_back({row, value, difference});
    return targets;
}

struct Tally {
    int points = 0, above = 0, empty = 0, better = 0, worse = 0;
};

void look_at(const Case& of, std::uint64_t seed, Tally& tally) {
    const std::size_t inputs = of.one.inputs();
    const InputBox box = unit_box(inputs);
    const PreparedNetwork prepared(of.one);
    DifferenceBounds kernel(prepared);
    const Twin twin(of.one, of.other, box, Precision::double_precision);
    const std::vector<BoundTarget> targets = targets_of(of.one.rows());
    BoxBounds bounds, whole;
    kernel.bound(twin, box.low.data(), box.high.data(), targets, {}, whole);
    std::vector<double> levels;
    for (const double upper : whole.upper) levels.push_back(seed % 3 == 0 ? -1e3 : upper - 0.5);
    SplitBox part{of.units, levels, {}};
    if (seed % 2 == 0) part.multipliers.assign(targets.size() * of.units.size(), 0.3);
    kernel.bound(twin, box.low.data(), box.high.data(), targets, {}, part, bounds);
    tally.empty += part.empty;
    for (std::size_t t = 0; t < targets.size() && !part.empty; ++t) {
        const double gain = whole.upper[t] - bounds.upper[t];
        tally.better += seed % 2 == 1 && gain > 1e-6;
        tally.worse += seed % 2 == 1 && gain < -1e-6;
    }
    for (std::uint64_t p = 0; p < 60; ++p) {
        const std::vector<double> x = point(inputs, 10 * seed + p);
        if (!of.is_within(x)) continue;
        ASSERT_FALSE(part.empty) << "seed " << seed;
        const auto here = rows_at<long double>(of.one, x), there = rows_at<long double>(of.other, x);
        for (std::size_t t = 0; t < targets.size(); ++t) {
            const auto [row, value, difference] = targets[t];
            long double function = bounds.upper[t];
            for (std::size_t i = 0; i < inputs; ++i) {
                const long double slope = bounds.coefficients[t * inputs + i];
                function -= slope > 0 ? slope * (1 - x[i]) : -slope * x[i];
            }
            const long double exact = value * here[row] + difference * (there[row] - here[row]);
            tally.above += !(exact <= function) || !(exact <= bounds.upper[t]);
            ++tally.points;
        }
    }
}

TEST(UnitSplits, HoldAtEveryPointWithTheSigns) {
    Tally tally;
    for (const std::vector<std::size_t>& shape : shapes)
        for (std::uint64_t seed = 0; seed < 120; ++seed) look_at(Case(shape, seed), seed, tally);
    EXPECT_EQ(tally.above, 0);
    EXPECT_GT(tally.points, 5000);
    EXPECT_GT(tally.empty, 5);
    EXPECT_GT(tally.better, 10 * tally.worse);
    EXPECT_GT(tally.better, 500);
}

TEST(UnitSplits, HoldOnEveryInstructionSet) {
    for (const std::string& name : simd_targets()) {
        const SimdTargetOverride target(name);
        Tally tally;
        for (const std::vector<std::size_t>& shape : shapes)
            for (std::uint64_t seed = 0; seed < 12; ++seed) look_at(Case(shape, seed), seed, tally);
        EXPECT_EQ(tally.above, 0) << name;
        EXPECT_GT(tally.points, 300) << name;
    }
}

struct Comparison {
    int parts = 0, close = 0, empty = 0, bounds = 0;
    BoundExcess excess;
};

/// With the multipliers that were found.
void compare(const Case& of, std::uint64_t seed, Comparison& found) {
    const InputBox box = unit_box(of.one.inputs());
    const PreparedNetwork prepared(of.one);
    DifferenceBounds kernel(prepared);
    const Twin twin(of.one, of.other, box, Precision::double_precision);
    const std::vector<BoundTarget> targets = targets_of(of.one.rows());
    const BoundRules rules{.differences = seed % 5 != 1, .symbolic = seed % 5 != 2};
    const std::vector<double> levels(targets.size(), seed % 3 == 0 ? 1e3 : -1e3);
    const std::size_t units = of.units.size();
    SplitBox part{of.units, levels, {}};
    if (seed % 2 == 0) part.multipliers.assign(targets.size() * units, 0.3);
    BoxBounds bounds;
    kernel.bound(twin, box.low.data(), box.high.data(), targets, rules, part, bounds);
    const PlainBounds plain(of.one, std::span(&of.other, 1), box, rules, of.units);
    ++found.parts;
    found.close += plain.is_close();
    if (plain.is_close()) return;
    ASSERT_EQ(part.empty, plain.empty()) << "seed " << seed;
    found.empty += part.empty;
    for (std::size_t t = 0; t < targets.size() && !part.empty; ++t) {
        const auto multipliers = std::span(part.multipliers).subspan(t * units, units);
        found.excess.add(bounds, t, plain.bound(targets[t], multipliers));
        ++found.bounds;
    }
}

// With the multipliers that were found the bounds are those of plain loops, and more by what rounding may
// take.
TEST(UnitSplits, AreThoseOfPlainLoops) {
    Comparison found;
    for (const std::vector<std::size_t>& shape : shapes)
        for (std::uint64_t seed = 0; seed < 200; ++seed) compare(Case(shape, seed), seed, found);
    EXPECT_GE(found.excess.least, 0);
    EXPECT_LT(found.excess.greatest, 1e-6);
    EXPECT_LT(found.excess.coefficients, 1e-6);
    EXPECT_GT(found.bounds, 1500);
    EXPECT_GT(found.empty, 20);
    // Of a unit with a given sign both relaxations of the difference are often as good at the centre.
    EXPECT_GT(found.parts - found.close, 400) << "of the others nothing is compared";
}

// max(-x, 0) where x >= 0: its chord over [-1, 1] is (1 - x)/2, which the multiplier 1/2 of x holds at 1/2,
// while without it x = -1 has 1.
TEST(UnitSplits, GainByTheMultipliers) {
    PlainNetwork one{{{1, 2, {1, -1}, {0, 0}}, {2, 1, {0, 1}, {0}}}, {0, 1, 0}};
    const PreparedNetwork prepared(one);
    DifferenceBounds kernel(prepared);
    const InputBox box{{-1}, {1}};
    const Twin twin(one, one, box, Precision::double_precision);
    const std::vector<BoundTarget> targets{{0, 1, 0}};
    const std::vector<UnitSplit> units{{0, 0, false, 1}};
    const std::vector<double> levels{0.5};
    SplitBox part{units, levels, {}};
    BoxBounds bounds;
    kernel.bound(twin, box.low.data(), box.high.data(), targets, {}, part, bounds);
    EXPECT_NEAR(bounds.upper[0], 0.5, 1e-4);
    EXPECT_NEAR(part.multipliers[0], 0.5, 1e-4);
    ASSERT_TRUE(part.open);
    EXPECT_EQ(part.open->unit, 1U) << "the other one has its sign";
    const std::vector<UnitSplit> both{{0, 0, false, 1}, {0, 0, false, -1}, {0, 1, true, 1}, {0, 1, true, -1}};
    const std::vector<double> nothing{0};
    SplitBox edge{both, nothing, {}};
    kernel.bound(twin, box.low.data(), box.high.data(), targets, {}, edge, bounds);
    EXPECT_FALSE(edge.empty) << "0 has every sign";
    EXPECT_GE(bounds.upper[0], 0);
    EXPECT_LT(bounds.upper[0], 0.1);
}

}  // namespace unit_splits_test
}  // namespace holdfast
