// The SIMD operations of a convolution against plain loops, bit by bit, as panel_operations_test.cpp holds
// those of dense layers; and what a convolution is: a dense layer with weights in common.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "kernels/ops/pooling_rule.hpp"
#include "kernels/ops/window_walk.hpp"
#include "tests/support/convolution_cases.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {
namespace {

template <typename Real>
using Values = AlignedVector<Real>;

template <typename Real>
struct Bounds {
    Values<Real> lower, upper;
    explicit Bounds(std::size_t rows) : lower(rows * panel_height), upper(rows * panel_height) {}
    BasicInterval<Real> view(bool point) { return {lower.data(), point ? lower.data() : upper.data()}; }
    bool operator==(const Bounds&) const = default;
};

/// Numbers of many magnitudes, zeros of either sign, subnormals and saturated values among them.
template <typename Real>
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : engine_(seed) {}
    Real any() {
        const std::uint64_t kind = engine_() % 24;
        const auto value =
            static_cast<Real>(std::ldexp(normal_(engine_), static_cast<int>(engine_() % 8) - 5));
        if (kind == 0) return 0;
        if (kind == 1) return Real{-0.0F};
        if (kind == 2) return std::copysign(64 * std::numeric_limits<Real>::denorm_min(), value);
        if (kind == 3 && extreme) return std::copysign(RealFormat<Real>::saturation, value);
        return value;
    }
    Real nonnegative() { return std::max(any(), Real{0}); }
    template <typename Draw>
    Bounds<Real> bounds(std::size_t rows, Draw draw) {
        Bounds<Real> drawn(rows);
        for (std::size_t i = 0; i < rows * panel_height; ++i) {
            const Real a = draw(), b = engine_() % 4 == 0 ? a : draw();
            drawn.lower[i] = std::min(a, b);
            drawn.upper[i] = std::max(a, b);
        }
        return drawn;
    }
    /// Boxes of parameters: points, of one sign, about 0.
    std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> weights(std::size_t count) {
        std::vector<std::int64_t> lower(count), upper(count);
        for (std::size_t p = 0; p < count; ++p) {
            lower[p] = parameter_units(normal_(engine_));
            upper[p] = lower[p] + (engine_() % 3 == 0 ? 0 : parameter_units(std::abs(normal_(engine_))));
        }
        return {lower, upper};
    }
    bool extreme = false;

  private:
    std::mt19937_64 engine_;
    std::normal_distribution<double> normal_;
};

template <typename Real>
class ConvolutionOperations : public testing::Test {
  public:
    std::unique_ptr<PanelOperations<Real>> reference = make_operations<Real>("reference"),
                                           tested = make_operations<Real>("cpu");
    /// test(case, draws) for every case, with ordinary and with extreme numbers.
    template <typename Test>
    void with_cases(Test test) {
        for (const ConvolutionCase& of : convolution_cases()) {
            for (const bool extreme : {false, true}) {
                SCOPED_TRACE(std::string(of.name) + (extreme ? ", extreme" : ""));
                Draws<Real> draws(of.out + 7);
                draws.extreme = extreme;
                test(of, draws);
                if (this->HasFatalFailure()) return;
            }
        }
    }
};
using Formats = testing::Types<double, float>;
TYPED_TEST_SUITE(ConvolutionOperations, Formats);

template <typename Real>
void expect_same(const Bounds<Real>& expected, const Bounds<Real>& actual, bool point) {
    for (std::size_t i = 0; i < expected.lower.size(); ++i) {
        ASSERT_EQ(expected.lower[i], actual.lower[i]) << "lower at " << i << (point ? ", a point" : "");
        if (point) continue;
        ASSERT_EQ(expected.upper[i], actual.upper[i]) << "upper at " << i;
    }
}

TYPED_TEST(ConvolutionOperations, Forward) {
    using Real = TypeParam;
    this->with_cases([&](const ConvolutionCase& of, Draws<Real>& draws) {
        const auto [lower, upper] = draws.weights(of.shape().parameters());
        const std::size_t rows = of.convolution.input.rows(), results = of.out * of.positions();
        Bounds<Real> z = draws.bounds(rows, [&] { return draws.nonnegative(); });
        for (const bool input : {false, true}) {
            Bounds<Real> x = draws.bounds(rows, [&] { return draws.any(); });
            for (const bool point : {false, true}) {
                Bounds<Real> expected(results), actual(results);
                for (auto* operations : {this->reference.get(), this->tested.get()}) {
                    const auto layer =
                        operations->pack(of.shape(), lower.data(), point ? lower.data() : upper.data());
                    const auto a = (operations == this->tested.get() ? actual : expected).view(point);
                    if (input) {
                        operations->convolve_input(of.convolution, *layer, x.lower.data(), a);
                    } else {
                        operations->convolve(of.convolution, *layer, z.view(point), a);
                    }
                }
                expect_same(expected, actual, point);
                for (const Real value : actual.lower) ASSERT_TRUE(std::isfinite(value));
            }
        }
    });
}

TYPED_TEST(ConvolutionOperations, Backward) {
    using Real = TypeParam;
    this->with_cases([&](const ConvolutionCase& of, Draws<Real>& draws) {
        const auto [lower, upper] = draws.weights(of.shape().parameters());
        const std::size_t rows = of.convolution.input.rows(), outputs = of.out * of.positions();
        Bounds<Real> z = draws.bounds(rows, [&] { return draws.nonnegative(); });
        Bounds<Real> delta = draws.bounds(outputs, [&] { return draws.any(); });
        for (const bool point : {false, true}) {
            Bounds<Real> expected(rows), actual(rows);
            for (auto* operations : {this->reference.get(), this->tested.get()}) {
                const auto layer =
                    operations->pack(of.shape(), lower.data(), point ? lower.data() : upper.data());
                operations->convolve_backward(
                    of.convolution, *layer, delta.view(point), z.view(point),
                    (operations == this->tested.get() ? actual : expected).view(point));
            }
            expect_same(expected, actual, point);
            for (const Real value : actual.lower) ASSERT_LE(std::abs(value), RealFormat<Real>::saturation);
        }
    });
}

// Sums with and without a selection, of a panel that is not full.
TYPED_TEST(ConvolutionOperations, AccumulatePositions) {
    using Real = TypeParam;
    this->with_cases([&](const ConvolutionCase& of, Draws<Real>& draws) {
        const std::size_t parameters = of.shape().parameters(), count = 101;
        Bounds<Real> x = draws.bounds(of.convolution.input.rows(), [&] { return draws.any(); });
        Bounds<Real> z = draws.bounds(of.convolution.input.rows(), [&] { return draws.nonnegative(); });
        Bounds<Real> delta = draws.bounds(of.out * of.positions(), [&] { return draws.any(); });
        for (std::size_t i = 0; i < delta.lower.size(); ++i) {
            if (i % panel_height >= count) delta.lower[i] = delta.upper[i] = 0;
        }
        const Clip clip{.kind = Clip::Kind::elementwise, .gamma = of.out % 2 == 0 ? 0.7 : 30.0};
        bool inside = false;
        for (const auto& [delta_is_point, image] : {std::pair{true, x.view(true)},
                                                    {true, z.view(true)},
                                                    {false, x.view(true)},
                                                    {false, z.view(false)}}) {
            std::vector<std::int64_t> expected(2 * parameters, 5), actual = expected, selected = expected;
            const auto to = [upper = delta_is_point ? 0 : parameters](std::vector<std::int64_t>& sums) {
                return SumBounds{sums.data(), sums.data() + upper};
            };
            const ConvolutionProduct<Real> product{
                of.convolution, of.shape(), clip, delta.view(delta_is_point), image, count};
            this->reference->accumulate_positions(product, to(expected));
            this->tested->accumulate_positions(product, to(actual));
            ASSERT_EQ(expected, actual);
            for (const std::int64_t sum : actual) inside |= (sum - 5) % clip.weight_units<Real>() != 0;
            if (delta_is_point) continue;
            for (const std::size_t kept : {1, 4, 300}) {
                LeastEntries wanted(parameters + 3, kept), found(parameters + 3, kept);
                const SelectionTarget to_wanted{wanted, 3}, to_found{found, 3};
                std::vector<std::int64_t> again(2 * parameters, 5);
                std::fill(selected.begin(), selected.end(), 5);
                this->reference->accumulate_positions(product, to(again), &to_wanted);
                this->tested->accumulate_positions(product, to(selected), &to_found);
                ASSERT_EQ(again, expected);
                ASSERT_EQ(selected, expected);
                ASSERT_EQ(sorted_values(wanted), sorted_values(found));
                EXPECT_EQ(found.upper.values(3).size(), std::min(kept, count));
            }
        }
        EXPECT_TRUE(inside) << "every sum was clamped";
    });
}

// Of points: the squares of every record's sums, and what its scale makes of them; 0 where delta is 0.
TYPED_TEST(ConvolutionOperations, NormsAndScales) {
    using Real = TypeParam;
    std::size_t shortened = 0;
    for (const std::string& target : simd_targets()) {
        SCOPED_TRACE(target);
        const SimdTargetOverride only(target);
        this->with_cases([&](const ConvolutionCase& of, Draws<Real>& draws) {
            const std::size_t parameters = of.shape().parameters(), count = 101;
            Bounds<Real> x = draws.bounds(of.convolution.input.rows(), [&] { return draws.any(); });
            Bounds<Real> delta = draws.bounds(of.out * of.positions(), [&] { return draws.any(); });
            for (std::size_t i = 0; i < delta.lower.size(); ++i) {
                if (i % panel_height >= count) delta.lower[i] = 0;
            }
            const Clip clip{.kind = Clip::Kind::norm, .norm_limit = 1.5};
            const NormRule<Real> rule(clip, parameters);
            ConvolutionProduct<Real> product{of.convolution,   of.shape(),   clip,
                                             delta.view(true), x.view(true), count};
            std::vector<double> expected(panel_height, 0.5), squares = expected, scales;
            this->reference->add_squares_of_positions(product, expected.data());
            this->tested->add_squares_of_positions(product, squares.data());
            ASSERT_EQ(squares, expected);
            for (std::size_t r = 0; r < panel_height; ++r) {
                ASSERT_TRUE(std::isfinite(squares[r]));
                ASSERT_TRUE(r < count || squares[r] == 0.5);
                scales.push_back(rule.scale_of(squares[r]));
                shortened += scales[r] < 1;
            }
            product.scales = scales.data();
            std::vector<std::int64_t> wanted(parameters, 5), found = wanted;
            this->reference->accumulate_positions(product, {wanted.data(), wanted.data()});
            this->tested->accumulate_positions(product, {found.data(), found.data()});
            ASSERT_EQ(wanted, found);
            ASSERT_NE(found, std::vector<std::int64_t>(parameters, 5));
        });
    }
    EXPECT_GT(shortened, 500U);
}

// In single precision such a sum is an infinity, and 0 times it no number.
TYPED_TEST(ConvolutionOperations, SumsBeyondAnyRealAreClippedToo) {
    using Real = TypeParam;
    const ConvolutionCase of{"large", {{1, 20, 20}, {1, 1}}, 1};
    Bounds<Real> x(400), delta(400);
    std::fill(x.lower.begin(), x.lower.end(), RealFormat<Real>::saturation);
    std::fill(delta.lower.begin(), delta.lower.end(), -RealFormat<Real>::saturation);
    const Clip clip{.kind = Clip::Kind::norm, .norm_limit = 1};
    for (const std::string& target : simd_targets()) {
        SCOPED_TRACE(target);
        const SimdTargetOverride only(target);
        for (auto* operations : {this->reference.get(), this->tested.get()}) {
            for (const bool left_out : {false, true}) {
                ConvolutionProduct<Real> product{of.convolution,   of.shape(),   clip,
                                                 delta.view(true), x.view(true), panel_height};
                std::vector<double> scales(panel_height);
                operations->add_squares_of_positions(product, scales.data());
                for (double& scale : scales) {
                    ASSERT_TRUE(std::isfinite(scale));
                    scale = left_out ? 0 : NormRule<Real>(clip, 2).scale_of(scale);
                }
                product.scales = scales.data();
                std::vector<std::int64_t> sums(2);
                operations->accumulate_positions(product, {sums.data(), sums.data()});
                const double most = static_cast<double>(panel_height * clip.weight_units<Real>()),
                             length = std::hypot(sums[0], sums[1]);
                ASSERT_TRUE(left_out ? length == 0 : 0.99 * most < length && length <= most) << length;
            }
        }
    }
}

// Persons whose rows lie in several vectors of lanes, in a panel that is not full.
TYPED_TEST(ConvolutionOperations, AccumulatePositionsOfPersons) {
    using Real = TypeParam;
    std::int64_t clamped = 0, inside = 0;
    this->with_cases([&](const ConvolutionCase& of, Draws<Real>& draws) {
        const std::size_t parameters = of.shape().parameters();
        Bounds<Real> x = draws.bounds(of.convolution.input.rows(), [&] { return draws.any(); });
        Bounds<Real> z = draws.bounds(of.convolution.input.rows(), [&] { return draws.nonnegative(); });
        const Bounds<Real> drawn = draws.bounds(of.out * of.positions(), [&] { return draws.any(); });
        for (const std::size_t rows : {2, 3, 21, 128}) {
            const Clip clip{.kind = Clip::Kind::elementwise,
                            .gamma = of.out % 2 == 0 ? 0.7 : 30.0,
                            .after = true,
                            .rows = rows};
            const std::size_t persons = (rows == 3 ? 101 : panel_height) / rows, count = persons * rows;
            Bounds<Real> delta = drawn;
            for (std::size_t i = 0; i < delta.lower.size(); ++i)
                if (i % panel_height >= count) delta.lower[i] = delta.upper[i] = 0;
            for (const auto& [delta_is_point, image] : {std::pair{true, x.view(true)},
                                                        {true, z.view(true)},
                                                        {false, x.view(true)},
                                                        {false, z.view(false)}}) {
                std::vector<std::int64_t> expected(2 * parameters, 5), actual = expected;
                const std::size_t upper = delta_is_point ? 0 : parameters;
                const ConvolutionProduct<Real> product{
                    of.convolution, of.shape(), clip, delta.view(delta_is_point), image, count};
                this->reference->accumulate_positions(product, {expected.data(), expected.data() + upper});
                this->tested->accumulate_positions(product, {actual.data(), actual.data() + upper});
                ASSERT_EQ(expected, actual) << rows;
                const auto most = static_cast<std::int64_t>(persons) * clip.weight_units<Real>();
                for (const std::int64_t sum : actual) {
                    ASSERT_LE(std::abs(sum - 5), most);
                    ++(std::abs(sum - 5) == most ? clamped : inside);
                }
            }
        }
    });
    EXPECT_GT(clamped, 0);
    EXPECT_GT(inside, 0);
}

/// The weights [out * positions, rows of the image + 1] of the dense layer that a convolution is.
std::vector<std::int64_t> as_dense(const ConvolutionCase& of, const std::vector<std::int64_t>& weights) {
    const Image& input = of.convolution.input;
    const Image positions = of.convolution.window.over(input, 1);
    const std::size_t in = of.shape().in, row = input.rows() + 1, taps = of.convolution.window.taps(),
                      pixels = input.height * input.width, channels = input.channels / of.convolution.groups,
                      of_group = of.out / of.convolution.groups;
    std::vector<std::int64_t> dense(of.out * positions.rows() * row);
    for (std::size_t o = 0; o < of.out; ++o) {
        for (std::size_t p = 0; p < positions.rows(); ++p) {
            std::int64_t* to = dense.data() + (o * positions.rows() + p) * row;
            const std::int64_t* from = weights.data() + o * (in + 1);
            to[input.rows()] = from[in];
            for_each_tap(input, of.convolution.window, p / positions.width, p % positions.width,
                         [&](std::size_t tap, std::size_t pixel) {
                             for (std::size_t c = 0; c < channels; ++c)
                                 to[(o / of_group * channels + c) * pixels + pixel] = from[c * taps + tap];
                         });
        }
    }
    return dense;
}

// The dense layer's sums go over more zeros and, per output, over the same products in the same order (rows
// of an image and weights are both ordered by channel, y, x): the same bits forward. Backward the order of
// its outputs is another one, so up to rounding.
TYPED_TEST(ConvolutionOperations, IsADenseLayerWithWeightsInCommon) {
    using Real = TypeParam;
    for (const ConvolutionCase& of : convolution_cases()) {
        SCOPED_TRACE(of.name);
        Draws<Real> draws(of.out);
        const auto [lower, upper] = draws.weights(of.shape().parameters());
        const auto dense_lower = as_dense(of, lower), dense_upper = as_dense(of, upper);
        const std::size_t rows = of.convolution.input.rows(), outputs = of.out * of.positions();
        Bounds<Real> z = draws.bounds(rows, [&] { return draws.nonnegative(); });
        Bounds<Real> x = draws.bounds(rows, [&] { return draws.any(); });
        Bounds<Real> delta = draws.bounds(outputs, [&] { return draws.any(); });
        for (auto* operations : {this->reference.get(), this->tested.get()}) {
            const auto layer = operations->pack(of.shape(), lower.data(), upper.data()),
                       dense = operations->pack({rows, outputs}, dense_lower.data(), dense_upper.data());
            Bounds<Real> a(outputs), expected(outputs), d(rows), expected_d(rows);
            operations->convolve(of.convolution, *layer, z.view(false), a.view(false));
            operations->forward(*dense, z.view(false), expected.view(false));
            expect_same(expected, a, false);
            operations->convolve_input(of.convolution, *layer, x.lower.data(), a.view(false));
            operations->forward_input(*dense, x.lower.data(), expected.view(false));
            expect_same(expected, a, false);
            operations->convolve_backward(of.convolution, *layer, delta.view(false), z.view(false),
                                          d.view(false));
            operations->backward(*dense, delta.view(false), z.view(false), expected_d.view(false));
            const Real rounding = 300 * std::numeric_limits<Real>::epsilon();
            for (std::size_t i = 0; i < d.lower.size(); ++i) {
                ASSERT_NEAR(d.lower[i], expected_d.lower[i], rounding * (1 + std::abs(d.lower[i])));
                ASSERT_NEAR(d.upper[i], expected_d.upper[i], rounding * (1 + std::abs(d.upper[i])));
            }
        }
    }
}

// Of one record, in a panel of one.
TEST(PoolingRule, AveragesCountWhatIsBesideTheImage) {
    const Pooling pooling{Pooling::Kind::average, {1, 2, 2}, {2, 2, 2, 1}};
    const std::vector<double> z{4, 8, 12, 16};
    std::vector<double> a(4), d(4);
    pool<double>(pooling, 1, {z.data(), z.data()}, {a.data(), a.data()});
    EXPECT_EQ(a, (std::vector<double>{1, 2, 3, 4}));
    const std::vector<double> delta{4, -4, 8, 0};
    pool_backward<double>(pooling, 1, {z.data(), z.data()}, {delta.data(), delta.data()},
                          {d.data(), d.data()});
    EXPECT_EQ(d, (std::vector<double>{1, -1, 2, 0}));
}
// At a point the windows are gone through another way than in a box of two equal ends.
TYPED_TEST(ConvolutionOperations, PoolingBackwardOfAPointIsThatOfEqualEnds) {
    using Real = TypeParam;
    for (const Pooling& pooling : pooling_cases()) {
        Draws<Real> draws(pooling.window.taps());
        Bounds<Real> z = draws.bounds(pooling.input.rows(), [&] { return std::round(draws.nonnegative()); });
        Bounds<Real> delta = draws.bounds(pooling.output().rows(), [&] { return draws.any(); });
        z.upper = z.lower;
        delta.upper = delta.lower;
        Bounds<Real> point(pooling.input.rows()), box(pooling.input.rows());
        pool_backward<Real>(pooling, panel_height, z.view(true), delta.view(true), point.view(true));
        pool_backward<Real>(pooling, panel_height, z.view(false), delta.view(false), box.view(false));
        ASSERT_EQ(point.lower, box.lower);
        ASSERT_EQ(box.upper, box.lower);
    }
}
TEST(PoolingRule, TheFirstOfEquallyGreatTapsIsChosen) {
    const Pooling pooling{Pooling::Kind::greatest, {1, 1, 4}, {1, 3}};
    std::vector<double> z{2, 5, 5, 1}, a(2), d(4);
    const std::vector<double> delta{10, 100};
    const auto backward = [&] {
        pool<double>(pooling, 1, {z.data(), z.data()}, {a.data(), a.data()});
        pool_backward<double>(pooling, 1, {z.data(), z.data()}, {delta.data(), delta.data()},
                              {d.data(), d.data()});
        return d;
    };
    EXPECT_EQ(backward(), (std::vector<double>{0, 110, 0, 0}));
    EXPECT_EQ(a, (std::vector<double>{5, 5}));
    z = {2, 5, 5, 5.5};
    EXPECT_EQ(backward(), (std::vector<double>{0, 10, 0, 100}));
    EXPECT_EQ(a, (std::vector<double>{5, 5.5}));
    z = {0, 0, 0, 0};
    EXPECT_EQ(backward(), (std::vector<double>{10, 100, 0, 0}));
}

}  // namespace
}  // namespace holdfast
