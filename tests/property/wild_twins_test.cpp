// Bounds of networks that training would hardly make: weights of widely different sizes, units that nothing
// reaches, networks that are equal or opposite, inputs that are fixed, tiny or huge. No point of the box is
// above them, in arithmetic so exact that its own rounding does not count.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"
#include "models/idp/difference_bounds.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/random_twins.hpp"

namespace holdfast {
namespace wild_twins_test {

__extension__ using Exact = __float128;

const std::vector<std::vector<std::size_t>> shapes{{1, 1},       {3, 2},       {1, 1, 1, 1}, {2, 1, 3, 1},
                                                   {3, 9, 1, 2}, {4, 8, 8, 1}, {2, 17, 3, 3}};

/// Every row times a power of two, every weight times another; biases now and then far beyond.
PlainNetwork wild(PlainNetwork network, std::uint64_t seed) {
    const KeyedHash hash{seed};
    const int spread = static_cast<int>(seed % 5) * 12;
    std::uint64_t counter = 0;
    const auto power = [&](int most) {
        return most == 0 ? 1.0 : std::ldexp(1.0, static_cast<int>(hash(1, ++counter) % (most + 1)) - most);
    };
    for (AffineLayer& layer : network.layers) {
        for (std::size_t o = 0; o < layer.out; ++o) {
            const double row = power(spread);
            for (std::size_t j = 0; j < layer.in; ++j) layer.weight[o * layer.in + j] *= row * power(spread);
            layer.bias[o] *= hash(2, ++counter) % 5 == 0 ? 0x1p9 : row;
            if (hash(3, counter) % 7 == 0) layer.bias[o] = 0;
        }
    }
    return network;
}

/// The same, opposite, scaled, moved a little, or another altogether.
PlainNetwork twin_of(const PlainNetwork& one, const std::vector<std::size_t>& shape, std::uint64_t seed) {
    PlainNetwork other = one;
    const auto scale = [&](double by) {
        for (AffineLayer& layer : other.layers)
            for (double& weight : layer.weight) weight *= by;
    };
    if (seed % 6 == 1) scale(-1);
    if (seed % 6 == 2) scale(1 + 0x1p-30);
    if (seed % 6 == 3) other = moved(one, 1e-12, seed);
    if (seed % 6 == 4) other = wild(random_plain(shape, seed + 77), seed + 3);
    if (seed % 6 == 5) other = moved(one, 0.5, seed);
    return other;
}

InputBox wild_box(std::size_t inputs, std::uint64_t seed) {
    const KeyedHash hash{seed};
    InputBox box{std::vector<double>(inputs), std::vector<double>(inputs)};
    for (std::size_t i = 0; i < inputs; ++i) {
        const double sizes[] = {1, 0x1p20, 0x1p-1050, 0x1p-30, 3};
        const double size = sizes[hash(1, i) % 5];
        box.low[i] = hash(2, i) % 3 == 0 ? 0 : -size * hash.uniform(3, i);
        box.high[i] = hash(4, i) % 4 == 0 ? box.low[i] : box.low[i] + size * hash.uniform(5, i);
    }
    return box;
}

std::vector<BoundTarget> targets_of(std::size_t rows) {
    std::vector<BoundTarget> targets;
    for (std::size_t row = 0; row < rows; ++row)
        for (const auto& [value, difference] : {std::pair{1.0, 0.0}, {-1, 0}, {-1, -1}, {0, -1}, {0, 1}})
            targets.push_back({row, value, difference});
    return targets;
}

struct Point {
    std::vector<double> x;
    Exact value;
};

/// Of a target, climbed from a point: one input after the other to an end or half way there, while that
/// helps.
class Climb {
  public:
    Climb(const PlainNetwork& one, const PlainNetwork& other, const InputBox& box)
        : one_(one), other_(other), box_(box) {}
    Exact at(const BoundTarget& target, const std::vector<double>& x) const {
        const Exact here = rows_at<Exact>(one_, x)[target.row], there = rows_at<Exact>(other_, x)[target.row];
        return target.value * here + target.difference * (there - here);
    }
    Point highest(const BoundTarget& target, const std::vector<double>& x) const {
        Point best{x, at(target, x)};
        for (int round = 0; round < 2; ++round) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double from = best.x[i];
                for (const double to :
                     {box_.low[i], box_.high[i], (from + box_.low[i]) / 2, (from + box_.high[i]) / 2}) {
                    std::vector<double> y = best.x;
                    y[i] = std::clamp(to, box_.low[i], box_.high[i]);
                    const Exact value = at(target, y);
                    if (value > best.value) best = {y, value};
                }
            }
        }
        return best;
    }

  private:
    const PlainNetwork &one_, &other_;
    const InputBox& box_;
};

/// The affine function of target t at x: upper where it is greatest.
Exact function_at(const BoxBounds& bounds, std::size_t t, const InputBox& box, const std::vector<double>& x) {
    Exact value = bounds.upper[t];
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Exact slope = bounds.coefficients[t * x.size() + i];
        value -= slope *
                 (slope > 0 ? static_cast<Exact>(box.high[i]) - x[i] : static_cast<Exact>(box.low[i]) - x[i]);
    }
    return value;
}

TEST(WildTwins, AreNowhereAboveTheirBounds) {
    int points = 0;
    for (const std::vector<std::size_t>& shape : shapes) {
        for (std::uint64_t seed = 0; seed < cases_of(50); ++seed) {
            const PlainNetwork one = wild(random_plain(shape, seed), seed),
                               other = twin_of(one, shape, seed / 5);
            const InputBox box = wild_box(shape.front(), seed);
            const PreparedNetwork prepared(one);
            DifferenceBounds kernel(prepared);
            const Twin twin(one, other, box, Precision::double_precision);
            const std::vector<BoundTarget> targets = targets_of(shape.back());
            BoxBounds bounds;
            kernel.bound(twin, box.low.data(), box.high.data(), targets, {}, bounds);
            const Climb climb(one, other, box);
            for (std::uint64_t start = 0; start < 3; ++start) {
                std::vector<double> x = box.low;
                for (std::size_t i = 0; i < x.size(); ++i)
                    x[i] += start == 0 ? 0 : KeyedHash{seed}.uniform(start, i) * (box.high[i] - box.low[i]);
                for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::clamp(x[i], box.low[i], box.high[i]);
                for (std::size_t t = 0; t < targets.size(); ++t) {
                    const Point found = climb.highest(targets[t], x);
                    ASSERT_TRUE(found.value <= function_at(bounds, t, box, found.x))
                        << "shape " << shape.size() << " seed " << seed << " target " << t << ": "
                        << static_cast<double>(found.value) << " above by "
                        << static_cast<double>(found.value - function_at(bounds, t, box, found.x));
                    ASSERT_TRUE(found.value <= static_cast<Exact>(bounds.upper[t]));
                    ++points;
                }
            }
        }
    }
    EXPECT_GT(points, 3000);
}

}  // namespace wild_twins_test
}  // namespace holdfast
