// The scalar arithmetic under every certificate (kernels/base/arithmetic.hpp, monotone_exp.hpp): each claim
// of these headers, measured against MPFR where it is about accuracy, exhaustively over neighbours where it
// is about order.

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/arithmetic.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "kernels/base/next.hpp"
#include "kernels/base/random.hpp"
#include "tests/support/effort.hpp"

namespace holdfast {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double grid_step = 0x1p-40;  // of the argument of monotone_exp

/// Uniform draws one after the other.
class Draws {
  public:
    explicit Draws(std::uint64_t seed) : hash_{seed} {}
    double uniform(double low, double high) { return low + (high - low) * hash_.uniform(0, next_++); }
    std::uint64_t below(std::uint64_t count) { return hash_(1, next_++) % count; }
    std::uint64_t bits() { return hash_(2, next_++); }
    double sign() { return bits() % 2 == 0 ? 1.0 : -1.0; }

  private:
    KeyedHash hash_;
    std::uint64_t next_ = 0;
};

/// 160 bits of exp, far beyond what a double can be wrong by.
class ExactExp {
  public:
    ExactExp() { mpfr_inits2(160, exact_, difference_, nullptr); }
    ~ExactExp() { mpfr_clears(exact_, difference_, nullptr); }
    ExactExp(const ExactExp&) = delete;
    ExactExp& operator=(const ExactExp&) = delete;

    /// (value - exp(x)) / exp(x).
    double relative_error(double value, double x) {
        mpfr_set_d(exact_, x, MPFR_RNDN);
        mpfr_exp(exact_, exact_, MPFR_RNDN);
        mpfr_d_sub(difference_, value, exact_, MPFR_RNDN);
        mpfr_div(difference_, difference_, exact_, MPFR_RNDN);
        return mpfr_get_d(difference_, MPFR_RNDN);
    }
    /// value - 1 / (1 + exp(-x)).
    double sigmoid_error(double value, double x) {
        mpfr_set_d(exact_, -x, MPFR_RNDN);
        mpfr_exp(exact_, exact_, MPFR_RNDN);
        mpfr_add_ui(exact_, exact_, 1, MPFR_RNDN);
        mpfr_ui_div(exact_, 1, exact_, MPFR_RNDN);
        mpfr_d_sub(difference_, value, exact_, MPFR_RNDN);
        return mpfr_get_d(difference_, MPFR_RNDN);
    }

  private:
    mpfr_t exact_, difference_;
};

double on_grid(double x) {
    return std::nearbyint(x / grid_step) * grid_step;
}

TEST(MonotoneExp, ErrsBelowTwoToTheMinus52OnItsGrid) {
    ExactExp exact;
    Draws draws(1);
    double worst = 0;
    const auto measure = [&](double x) {
        const double error = std::abs(exact.relative_error(monotone_exp(x), x));
        worst = std::max(worst, error);
    };
    for (std::uint64_t i = 0; i < cases_of(300000); ++i) {
        const double range = i % 4 == 0 ? 700.0 : i % 4 == 1 ? 30.0 : i % 4 == 2 ? 1.0 : 0x1p-20;
        measure(on_grid(draws.uniform(-range, range)));
    }
    // The largest reduced arguments, on both sides of each switch of the power of two.
    for (int power = -1010; power < 1010; ++power) {
        const double middle = on_grid((power + 0.5) * std::log(2.0));
        if (std::abs(middle) > 699.0) continue;
        for (int step = -20; step <= 20; ++step) measure(middle + step * grid_step);
    }
    for (const double x : {0.0, -0.0, grid_step, -grid_step, 700.0, -700.0, 1.0, -1.0}) measure(x);
    std::printf("monotone_exp: worst relative error on the grid %.3g = 2^%.2f\n", worst, std::log2(worst));
    EXPECT_GT(worst, 0);  // not correctly rounded, so the measurement measures something
    EXPECT_LT(worst, 0x1p-52);
}

TEST(MonotoneExp, RoundingTheArgumentCostsTwoToTheMinus41) {
    ExactExp exact;
    Draws draws(2);
    double worst = 0;
    const auto measure = [&](double x) {
        worst = std::max(worst, std::abs(exact.relative_error(monotone_exp(x), x)));
    };
    for (std::uint64_t i = 0; i < cases_of(100000); ++i) measure(draws.uniform(-700, 700));
    for (int i = 0; i < 20000; ++i) {  // as far from the grid as can be
        measure((std::floor(draws.uniform(-1, 1) * 0x1p40) + 0.5) * grid_step);
        measure(draws.sign() * std::ldexp(draws.uniform(1, 2), -static_cast<int>(draws.below(1074))));
    }
    std::printf("monotone_exp: worst relative error off the grid %.6g = 2^%.6f\n", worst, std::log2(worst));
    EXPECT_GT(worst, 0.99 * 0x1p-41);
    EXPECT_LT(worst, 0x1p-41 + 0x1p-51);  // exp(2^-41) - 1, and the error on the grid
}

TEST(MonotoneExp, ClampsWhatIsFarAndTellsNothingApartThatIsTiny) {
    for (const double x :
         {700.0, std::nextafter(700.0, 800.0), 710.0, 1e30, std::numeric_limits<double>::max(), infinity}) {
        EXPECT_EQ(monotone_exp(x), monotone_exp(700.0)) << x;
        EXPECT_EQ(monotone_exp(-x), monotone_exp(-700.0)) << x;
    }
    EXPECT_TRUE(std::isfinite(monotone_exp(infinity)));
    EXPECT_GE(monotone_exp(-infinity),
              std::numeric_limits<double>::min());  // normal, so every bit of it counts
    for (const double x : {0.0, 5e-324, 0x1p-1030, std::numeric_limits<double>::min(), 0x1p-42}) {
        EXPECT_EQ(monotone_exp(x), 1.0) << x;
        EXPECT_EQ(monotone_exp(-x), 1.0) << x;
    }
    EXPECT_LT(monotone_exp(-grid_step), 1.0);
    EXPECT_GT(monotone_exp(grid_step), 1.0);
    EXPECT_EQ(monotone_exp(1.0 + 0.49 * grid_step), monotone_exp(1.0));
}

TEST(MonotoneExp, NanStaysNan) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_TRUE(std::isnan(monotone_exp(nan)));
    EXPECT_TRUE(std::isnan(monotone_sigmoid(nan)));
}

/// exp grows strictly, and the sigmoid does not fall, over `count` neighbouring grid points from `first` on.
void expect_order_from(double first, int count) {
    double exp_before = monotone_exp(first - grid_step), sigmoid_before = monotone_sigmoid(first - grid_step);
    for (int i = 0; i < count; ++i) {
        const double x = first + i * grid_step, exp_here = monotone_exp(x),
                     sigmoid_here = monotone_sigmoid(x);
        ASSERT_GT(exp_here, exp_before) << std::hexfloat << x;
        ASSERT_GE(sigmoid_here, sigmoid_before) << std::hexfloat << x;
        exp_before = exp_here;
        sigmoid_before = sigmoid_here;
    }
}

TEST(MonotoneExp, GrowsBetweenAllNeighboursOfRandomWindows) {
    Draws draws(3);
    for (int window = 0; window < 2000; ++window) {
        const double range = window % 2 == 0 ? 699.0 : 2.0;
        expect_order_from(on_grid(draws.uniform(-range, range)), 2000);
        if (HasFatalFailure()) return;
    }
}

TEST(MonotoneExp, GrowsAcrossEverySwitchOfTheRangeReduction) {
    int switches = 0;
    for (int power = -1010; power < 1010; ++power) {
        // argument * log2(e) rounds to `power` before and to power + 1 behind: the reduced argument jumps its
        // sign.
        const double middle = on_grid((power + 0.5) * std::log(2.0));
        if (std::abs(middle) > 699.9) continue;
        ++switches;
        expect_order_from(middle - 700 * grid_step, 1400);
        if (HasFatalFailure()) return;
    }
    EXPECT_GE(switches, 2000);
    // The ends of the clamp, where it becomes constant.
    expect_order_from(-700.0 + grid_step, 2000);
    expect_order_from(700.0 - 1999 * grid_step, 2000);
    // Where the spacing of doubles crosses that of the grid, and around powers of two of the argument.
    for (int exponent = -38; exponent < 10; ++exponent) {
        const double x = std::ldexp(1.0, exponent);
        if (x > 699.0) continue;
        expect_order_from(x - 1000 * grid_step, 2000);
        expect_order_from(-x - 1000 * grid_step, 2000);
        if (HasFatalFailure()) return;
    }
}

TEST(MonotoneExp, KeepsTheOrderOfAnyPair) {
    Draws draws(4);
    std::vector<double> points{-infinity, infinity, 0.0, -0.0, 700.0, -700.0};
    for (int i = 0; i < 400000; ++i) {
        const double x = i % 2 == 0 ? draws.uniform(-720, 720)
                                    : draws.sign() * std::ldexp(draws.uniform(1, 2),
                                                                static_cast<int>(draws.below(60)) - 50);
        points.insert(points.end(), {x, std::nextafter(x, infinity)});
    }
    std::sort(points.begin(), points.end());
    for (std::size_t i = 1; i < points.size(); ++i) {
        ASSERT_LE(monotone_exp(points[i - 1]), monotone_exp(points[i])) << std::hexfloat << points[i];
        ASSERT_LE(monotone_sigmoid(points[i - 1]), monotone_sigmoid(points[i])) << std::hexfloat << points[i];
    }
}

TEST(MonotoneSigmoid, IsAccurateAndStaysInTheUnitInterval) {
    ExactExp exact;
    Draws draws(5);
    for (int i = 0; i < 100000; ++i) {
        const double x = draws.uniform(-1, 1) * (i % 2 == 0 ? 700 : 10), value = monotone_sigmoid(x);
        const double slope = value * (1 - value);
        ASSERT_LE(std::abs(exact.sigmoid_error(value, x)), 1.001 * slope * 0x1p-41 + 0x1p-52) << x;
    }
    EXPECT_GT(monotone_sigmoid(-infinity), 0.0);
    EXPECT_EQ(monotone_sigmoid(infinity), 1.0);
    EXPECT_EQ(monotone_sigmoid(0.0), 0.5);
}

template <typename Real>
struct SoftmaxBox : testing::Test {};
using Reals = testing::Types<double, float>;
TYPED_TEST_SUITE(SoftmaxBox, Reals);

TYPED_TEST(SoftmaxBox, HoldsTheSoftmaxOfEveryCornerAndIsAttained) {
    using Real = TypeParam;
    constexpr std::size_t outputs = 4, corners = 1 << outputs;
    const auto operations = make_operations<Real>("reference");
    const std::vector<double> labels(panel_height, 2);
    Draws draws(6);
    for (int box = 0; box < 2000; ++box) {
        const double scale = std::ldexp(1.0, static_cast<int>(draws.below(14)) - 3);
        AlignedVector<Real> lower(outputs * panel_height), upper(lower.size()), point(lower.size());
        for (std::size_t c = 0; c < outputs; ++c) {
            const auto a = static_cast<Real>(draws.uniform(-scale, scale)),
                       b = box % 5 == 0 ? a : static_cast<Real>(draws.uniform(-scale, scale));
            for (std::size_t r = 0; r < panel_height; ++r) {
                lower[c * panel_height + r] = std::min(a, b);
                upper[c * panel_height + r] = std::max(a, b);
                // The first records are the corners, the others anywhere.
                const auto t =
                    r < corners ? static_cast<Real>(r >> c & 1) : static_cast<Real>(draws.uniform(0, 1));
                point[c * panel_height + r] =
                    t == 1 ? std::max(a, b) : std::min(std::min(a, b) + t * std::abs(a - b), std::max(a, b));
            }
        }
        AlignedVector<Real> least(lower.size()), greatest(lower.size()), at_point(lower.size());
        operations->loss_gradient(Loss::cross_entropy, outputs, {lower.data(), upper.data()}, labels.data(),
                                  panel_height, {least.data(), greatest.data()});
        operations->loss_gradient(Loss::cross_entropy, outputs, {point.data(), point.data()}, labels.data(),
                                  panel_height, {at_point.data(), at_point.data()});
        for (std::size_t c = 0; c < outputs; ++c) {
            for (std::size_t r = 0; r < panel_height; ++r) {
                const std::size_t at = c * panel_height + r;
                ASSERT_LE(least[at], at_point[at]);
                ASSERT_LE(at_point[at], greatest[at]);
            }
            // p_c is least where z_c is least and the others greatest: the bound is that corner's own value.
            const std::size_t worst = (corners - 1) ^ (std::size_t{1} << c), best = std::size_t{1} << c;
            ASSERT_EQ(at_point[c * panel_height + worst], least[c * panel_height + worst]);
            ASSERT_EQ(at_point[c * panel_height + best], greatest[c * panel_height + best]);
        }
    }
}

// The composition is monotone in double, and so are both conversions: from every float logit to the next.
TEST(LossGradientInSinglePrecision, DoesNotFallBetweenNeighbouringFloats) {
    const auto operations = make_operations<float>("reference");
    const std::vector<double> targets(panel_height, 0);
    AlignedVector<float> logit(panel_height), gradient(panel_height);
    for (const float start : {-120.0F, -17.0F, -1.0F, -1e-3F, -1e-38F, 0.0F, 1e-6F, 0.5F, 16.0F, 88.0F}) {
        float x = start, before = -2;
        for (int panel = 0; panel < 4000; ++panel) {
            for (float& value : logit) value = x = std::nextafter(x, HUGE_VALF);
            operations->loss_gradient(Loss::binary_cross_entropy, 1, {logit.data(), logit.data()},
                                      targets.data(), panel_height, {gradient.data(), gradient.data()});
            for (const float value : gradient) {
                ASSERT_LE(before, value) << std::hexfloat << x;
                before = value;
            }
        }
    }
}

TEST(MakeOdd, KeepsTheOrderAndMovesByAnUlpAtMost) {
    Draws draws(7);
    for (int i = 0; i < 2000000; ++i) {
        // Any finite double, then its neighbour.
        double x = std::bit_cast<double>(draws.bits());
        if (!std::isfinite(x)) continue;
        if (i % 16 == 0) x = std::ldexp(draws.sign(), static_cast<int>(draws.below(2000)) - 1000);
        const double next = std::nextafter(x, infinity);
        if (std::isinf(next)) continue;
        ASSERT_LE(make_odd(x), make_odd(next)) << std::hexfloat << x;
        if (x == 0) continue;
        ASSERT_EQ(std::bit_cast<std::uint64_t>(make_odd(x)) & 1, 1U);
        ASSERT_TRUE(make_odd(x) == x || make_odd(x) == std::nextafter(x, std::copysign(infinity, x)))
            << std::hexfloat << x;
    }
    EXPECT_EQ(make_odd(0.0), 0.0);
    EXPECT_EQ(make_odd(-0.0), 0.0);
}

TEST(ParameterUnits, RoundToNearestAndStopAtTheLimit) {
    Draws draws(8);
    for (int i = 0; i < 200000; ++i) {
        const double value = draws.uniform(-1, 1) * std::ldexp(1.0, static_cast<int>(draws.below(60)) - 55);
        const std::int64_t units = parameter_units(value);
        ASSERT_LE(std::abs(static_cast<double>(units) - value * 0x1p50), 0.5);
        ASSERT_LE(units, parameter_units(std::nextafter(value, infinity)));
        if (std::abs(units) < std::int64_t{1} << 53) {
            ASSERT_EQ(parameter_units(parameter_value(units)), units);
        }
        ASSERT_LE(parameter_value(units), parameter_value(units + 1));
    }
    EXPECT_EQ(parameter_units(1e300), parameter_limit_units);
    EXPECT_EQ(parameter_units(-infinity), -parameter_limit_units);
    EXPECT_EQ(parameter_value(parameter_limit_units), 1024.0);
}

TEST(ParameterValue, OfAFloatIsRoundedOnceAndKeepsTheOrder) {
    Draws draws(16);
    for (std::uint64_t i = 0; i < cases_of(300000); ++i) {
        // About where neighbouring integers round to neighbouring floats, and anywhere.
        const std::int64_t near = (std::int64_t{1} << 24 << draws.below(37)) +
                                  static_cast<std::int64_t>(draws.below(200)) - 100,
                           anywhere = static_cast<std::int64_t>(draws.bits() >> (1 + draws.below(62)));
        const std::int64_t units = (i % 2 == 0 ? near : anywhere) * (draws.below(2) == 0 ? 1 : -1);
        const float value = parameter_value<float>(units);
        ASSERT_LE(value, parameter_value<float>(units + 1)) << units;
        const __int128 exact = units, computed = static_cast<__int128>(static_cast<double>(value) * 0x1p50),
                       half_ulp = static_cast<__int128>(
                           (std::nextafter(std::abs(value), HUGE_VALF) - std::abs(value)) * 0x1p49);
        ASSERT_LE(exact > computed ? exact - computed : computed - exact, half_ulp) << units;
    }
}

TEST(NextAbove, IsTheNextDouble) {
    Draws draws(18);
    std::vector<double> values{0.0, -0.0, infinity, -infinity, std::nan("")};
    for (const double size : {std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max()})
        values.insert(values.end(), {size, -size});
    for (int i = 0; i < 100000; ++i) values.push_back(std::bit_cast<double>(draws.bits()));
    for (const double value : values) {
        const double above = std::nextafter(value, infinity), below = std::nextafter(value, -infinity);
        if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(next_above(value)) && std::isnan(next_below(value)));
        } else {
            ASSERT_EQ(next_above(value), above) << value;
            ASSERT_EQ(next_below(value), below) << value;
        }
    }
}

TEST(RoundedDown, IsTheGreatestFloatBelow) {
    Draws draws(17);
    for (int i = 0; i < 100000; ++i) {
        const double limit = std::ldexp(draws.uniform(1, 2), static_cast<int>(draws.below(200)) - 100);
        const auto rounded = rounded_down<float>(limit);
        ASSERT_LE(static_cast<double>(rounded), limit);
        ASSERT_GT(static_cast<double>(std::nextafter(rounded, HUGE_VALF)), limit);
        ASSERT_EQ(rounded_down<float>(rounded), rounded);
        ASSERT_EQ(rounded_down<double>(limit), limit);
    }
}

/// Calls visit(x) for every float of a few binades: the subnormals, the least and the greatest, and those
/// about 1.
template <typename Visit>
void for_every_significand(Visit visit) {
    for (const std::uint32_t exponent : {0U, 1U, 2U, 100U, 126U, 127U, 128U, 254U}) {
        for (std::uint32_t bits = exponent << 23; bits < (exponent + 1) << 23; ++bits)
            visit(std::bit_cast<float>(bits));
    }
}

TEST(MakeOdd, OfEverySignificandOfAFloat) {
    std::int64_t wrong = 0;
    float before = 0;
    for_every_significand([&](float x) {
        const float odd = make_odd(x);
        const std::uint32_t moved = std::bit_cast<std::uint32_t>(odd) - std::bit_cast<std::uint32_t>(x);
        wrong += odd < before || make_odd(-x) != -odd || moved > 1 ||
                 (std::bit_cast<std::uint32_t>(odd) & 1) != (x == 0 ? 0 : 1);
        before = odd;
    });
    EXPECT_EQ(wrong, 0);
}

/// Every float from a quarter of a unit to the bound of an entry, of three grids.
TEST(GradientGridOfFloats, RoundsEveryEntryToNearestAndNoneAboveGamma) {
    for (const float gamma : {0.06F, 1.0F, 0x1.fffffep-100F}) {
        const BasicGradientGrid<float> grid(gamma);
        const std::int64_t bound = grid.units_above(gamma);
        std::int64_t wrong = 0, before = 0;
        for (float entry = grid.unit() / 4; entry <= gamma; entry = std::nextafter(entry, HUGE_VALF)) {
            const std::int64_t units = grid.units(entry);
            // Exact in double; of two equally near, the even one.
            const double in_units = static_cast<double>(entry) / static_cast<double>(grid.unit());
            wrong += units != std::llrint(in_units) || units < before || units > bound ||
                     grid.units(-entry) != -units;
            before = units;
        }
        EXPECT_EQ(wrong, 0) << gamma;
        EXPECT_EQ(before, grid.units(gamma));
    }
}

/// The exact product of two odd floats fits a double: it is never halfway between two points of the grid, and
/// the fma onto any biased sum rounds it to the nearest.
TEST(GradientGridOfFloats, FactoredProductsAreNeverTies) {
    Draws draws(18);
    for (const auto& [delta_limit, activation_limit] :
         {std::pair{0.2, 0.3}, {1.0, 2.0}, {1e-29, 1e6}, {1e6, 1e-29}, {1e-29, 1e-29}, {1e6, 1e6}}) {
        const Clip clip{.kind = Clip::Kind::factored,
                        .gamma = 1,
                        .delta_limit = delta_limit,
                        .activation_limit = activation_limit};
        const BasicGradientGrid<float> grid = clip.grid<float>();
        const auto draw = [&](double limit) {
            const auto greatest = rounded_down<float>(limit);
            // Short significands are what makes ties; powers of two and subnormals among them.
            const double shrink =
                std::ldexp(1.0, -static_cast<int>(draws.below(draws.below(2) == 0 ? 30 : 130)));
            const double bits = static_cast<double>(1 + draws.below(draws.below(2) == 0 ? 4 : 1 << 24));
            const double value = std::ldexp(bits, std::ilogb(limit) - std::ilogb(bits)) * shrink;
            return make_odd(std::min(draws.below(8) == 0 ? greatest : static_cast<float>(value), greatest));
        };
        for (std::uint64_t i = 0; i < cases_of(200000); ++i) {
            const auto delta = static_cast<float>(draws.sign()) * draw(delta_limit),
                       z = draw(activation_limit);
            const double in_units = static_cast<double>(delta) * z / static_cast<double>(grid.unit());
            const std::int64_t expected = std::llround(in_units);
            ASSERT_NE(std::abs(in_units - std::trunc(in_units)), 0.5) << std::hexfloat << delta << " " << z;
            const auto sum = static_cast<float>(static_cast<std::int64_t>(draws.below(1 << 21)) - (1 << 20));
            const float biased = grid.bias() + sum * grid.unit();
            ASSERT_EQ(grid.units_of_biased(std::fma(delta, z, biased)),
                      static_cast<std::int64_t>(sum) + expected)
                << std::hexfloat << delta << " " << z;
            ASSERT_LE(std::abs(expected), clip.weight_units<float>());
            const double bias_units = static_cast<double>(delta) / static_cast<double>(grid.unit());
            ASSERT_NE(std::abs(bias_units - std::trunc(bias_units)), 0.5);
            ASSERT_LE(std::abs(grid.units_of_biased(std::fma(delta, 1.0F, grid.bias()))),
                      clip.bias_units<float>());
        }
    }
}

TEST(GradientScale, SaysWhatIsCharged) {
    for (const Clip& clip :
         {Clip{.kind = Clip::Kind::elementwise, .gamma = 0.06},
          Clip{.kind = Clip::Kind::factored, .gamma = 1, .delta_limit = 0.2, .activation_limit = 3}}) {
        const GradientScale in_double = clip.scale<double>(), in_single = clip.scale<float>();
        EXPECT_EQ(in_double.exponent - in_single.exponent, 14 - 40);
        EXPECT_EQ(in_single.record_limit, std::int64_t{1} << 48);
        // A unit of at least 2^(bits - 1); of the smaller bound of a factored clip, a third of that.
        const double fewer = clip.kind == Clip::Kind::elementwise ? 1 : 4;
        EXPECT_LE(in_double.rounding, fewer * 0x1p-39);
        EXPECT_LE(in_single.rounding, fewer * 0x1p-13);
        EXPECT_GT(in_single.rounding, 0x1p-20);
        // A float limit is not above that of the setting, and its units are not below it.
        EXPECT_LE(clip.weight_bound<float>(), clip.weight_bound() * (1 + 0x1p-20));
        EXPECT_GE(std::ldexp(static_cast<double>(in_single.weight_units), in_single.exponent),
                  clip.weight_bound<float>());
        EXPECT_EQ(in_single.weight_units, clip.weight_units<float>());
        EXPECT_EQ(in_double.bias_units, clip.bias_units());
    }
}

/// Gammas of every kind: powers of two, just below, just above, and anything, of many magnitudes.
template <typename Real>
std::vector<Real> gammas() {
    Draws draws(9);
    constexpr int range = sizeof(Real) == sizeof(double) ? 100 : 98;
    std::vector<Real> values{Real(0.06), Real(0.04), 1, Real(1e-29), Real(1e29)};
    for (int i = 0; i < 300; ++i) {
        const Real power = std::ldexp(Real{1}, static_cast<int>(draws.below(2 * range)) - range);
        values.push_back(i % 4 == 0   ? power
                         : i % 4 == 1 ? std::nextafter(power, Real{0})
                         : i % 4 == 2 ? std::nextafter(power, Real(infinity))
                                      : power * Real(draws.uniform(1, 2)));
    }
    return values;
}

/// An entry within +-gamma: at the ends, halfway between grid points, beside such a tie, tiny, or anywhere.
template <typename Real>
Real draw_entry(Draws& draws, const BasicGradientGrid<Real>& grid, Real gamma) {
    const auto anywhere = static_cast<Real>(draws.uniform(-gamma, gamma));
    const Real tie = (std::floor(anywhere / grid.unit()) + Real{0.5}) * grid.unit();
    Real entry = anywhere;
    switch (draws.below(8)) {
        case 0:
            entry = Real(draws.sign()) * gamma;
            break;
        case 1:
            entry = tie;
            break;
        case 2:
            entry = std::nextafter(tie, Real(draws.sign() * infinity));
            break;
        case 3:
            entry = anywhere * std::ldexp(Real{1}, -static_cast<int>(draws.below(80)));
            break;
        case 4:
            entry = Real(draws.sign()) * 64 * std::numeric_limits<Real>::denorm_min();
            break;
        case 5:
            entry = Real(draws.sign()) * 0;
            break;
        default:
            break;
    }
    return std::clamp(entry, -gamma, gamma);
}

template <typename Real>
struct GradientGridOf : testing::Test {};
TYPED_TEST_SUITE(GradientGridOf, Reals);

TYPED_TEST(GradientGridOf, RoundsToNearest) {
    using Real = TypeParam;
    using Grid = BasicGradientGrid<Real>;
    Draws draws(10);
    for (const Real gamma : gammas<Real>()) {
        const Grid grid(gamma);
        ASSERT_EQ(grid.unit(), std::ldexp(Real{1}, grid.exponent()));
        std::int64_t before = 0;
        Real entry_before = 0;
        for (int i = 0; i < 2000; ++i) {
            const Real entry = draw_entry(draws, grid, gamma);
            const std::int64_t units = grid.units(entry);
            // The scaling is exact or leaves next to nothing; a tie goes to the even one, as nearbyint's
            // does.
            ASSERT_EQ(units, std::llrint(std::ldexp(static_cast<double>(entry), -grid.exponent())))
                << std::hexfloat << gamma << " " << entry;
            ASSERT_TRUE(entry < entry_before   ? units <= before
                        : entry > entry_before ? units >= before
                                               : units == before);
            before = units;
            entry_before = entry;
        }
    }
}

TYPED_TEST(GradientGridOf, UnitAndBiasAreNormalAndSubnormalFactorsVanish) {
    using Real = TypeParam;
    const Real normal = std::numeric_limits<Real>::min();
    constexpr double least = RealFormat<Real>::least_limit;
    for (const double largest : {least, 1.5 * least, 1.0, 1 / least}) {
        const BasicGradientGrid<Real> grid(largest);
        EXPECT_GE(grid.unit(), normal) << largest;
        EXPECT_TRUE(std::isfinite(2 * grid.bias())) << largest;
    }
    // The greatest subnormal times the other factor's limit is less than half a unit.
    const Real subnormal = std::nextafter(normal, Real{0});
    for (const double delta_limit : {least, 1.0}) {
        for (const double z_limit : {least, 1.0, 1 / least}) {
            const Clip clip{
                .kind = Clip::Kind::factored, .delta_limit = delta_limit, .activation_limit = z_limit};
            const double half_unit = clip.grid<Real>().unit() / 2;
            EXPECT_LT(double{subnormal} * double{make_odd(rounded_down<Real>(z_limit))}, half_unit);
            EXPECT_LT(double{subnormal} * double{make_odd(rounded_down<Real>(delta_limit))}, half_unit);
            EXPECT_LT(subnormal, half_unit);
        }
    }
}

TYPED_TEST(GradientGridOf, GammaInUnitsBoundsEveryEntry) {
    using Real = TypeParam;
    using Grid = BasicGradientGrid<Real>;
    Draws draws(11);
    for (const Real largest : gammas<Real>()) {
        const Grid grid(largest);
        EXPECT_LE(grid.units_above(largest), std::int64_t{1} << Grid::significant_bits);
        EXPECT_GE(grid.units_above(largest), std::int64_t{1} << (Grid::significant_bits - 1));
        // The greatest Gamma of a network makes the grid; a smaller one of another parameter counts on the
        // same.
        for (const Real gamma : {largest, Real(0.37) * largest, Real(1e-3) * largest}) {
            const std::int64_t bound = grid.units_above(gamma);
            EXPECT_LE(grid.units(gamma), bound);
            EXPECT_GE(grid.units(-gamma), -bound);
            for (int i = 0; i < 300; ++i)
                ASSERT_LE(std::abs(grid.units(draw_entry(draws, grid, gamma))), bound)
                    << std::hexfloat << gamma;
        }
    }
}

TYPED_TEST(GradientGridOf, GammaInUnitsBoundsEveryFactoredProduct) {
    using Real = TypeParam;
    using Grid = BasicGradientGrid<Real>;
    Draws draws(12);
    for (int i = 0; i < 3000; ++i) {
        Clip clip{.kind = Clip::Kind::factored};
        clip.delta_limit = std::ldexp(draws.uniform(1, 2), static_cast<int>(draws.below(20)) - 10);
        clip.activation_limit =
            std::ldexp(i % 3 == 0 ? 1.0 : draws.uniform(1, 2), static_cast<int>(draws.below(20)) - 10);
        clip.gamma = clip.delta_limit * clip.activation_limit;
        const Grid grid = clip.grid<Real>();
        const auto units = [&](Real delta, Real z) {
            return grid.units_of_biased(std::fma(make_odd(delta), z, grid.bias()));
        };
        const Real delta_limit = rounded_down<Real>(clip.delta_limit),
                   odd_limit = make_odd(rounded_down<Real>(clip.activation_limit));
        for (const Real sign : {-1, 1}) {
            ASSERT_LE(std::abs(units(sign * delta_limit, odd_limit)), clip.weight_units<Real>()) << i;
            ASSERT_LE(std::abs(units(sign * delta_limit, 1.0)), clip.bias_units<Real>()) << i;
        }
        // The bound is not just safe but within a unit or the slack of the odd factors.
        const double slack =
            8.0 * std::numeric_limits<Real>::epsilon() * static_cast<double>(clip.weight_units<Real>());
        ASSERT_GE(static_cast<double>(units(delta_limit, odd_limit)),
                  static_cast<double>(clip.weight_units<Real>()) - 1 - slack);
    }
}

template <typename T>
void shuffle(std::vector<T>& values, Draws& draws) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[draws.below(i)]);
}

// An elementwise entry is the fma onto the bias, clamped between points of the grid: whatever the product,
// infinite even, it does not fall as the product grows, and it stays within Gamma.
TYPED_TEST(GradientGridOf, ClampedProductsAreMonotoneAndWithinGamma) {
    using Real = TypeParam;
    using Grid = BasicGradientGrid<Real>;
    const Real endless = std::numeric_limits<Real>::infinity();
    Draws draws(13);
    for (const Real gamma : gammas<Real>()) {
        const Clip clip{.kind = Clip::Kind::elementwise, .gamma = gamma};
        const Grid grid = clip.grid<Real>();
        const std::int64_t most = clip.weight_units<Real>();
        const Real limit = static_cast<Real>(most) * grid.unit();
        std::vector<Real> deltas{-endless, endless, 0, -Real{0}};
        for (int i = 0; i < 500; ++i) {
            deltas.push_back(draw_entry(draws, grid, gamma));
            deltas.push_back(Real(draws.sign()) * gamma *
                             std::ldexp(Real(draws.uniform(1, 2)), static_cast<int>(draws.below(60))));
        }
        std::sort(deltas.begin(), deltas.end());
        for (const Real z : {Real(1), Real(0.3), Real(1e-9), Real(1e9)}) {
            std::int64_t before = -most;
            for (const Real delta : deltas) {
                const Real biased =
                    std::clamp(std::fma(delta, z, grid.bias()), grid.bias() - limit, grid.bias() + limit);
                const std::int64_t units = grid.units_of_biased(biased);
                ASSERT_GE(units, before) << std::hexfloat << delta << " * " << z;
                ASSERT_LE(units, most);
                before = units;
            }
            EXPECT_EQ(before, most);  // the last was infinite
        }
    }
}

TYPED_TEST(GradientGridOf, FactoredSumsDoNotDependOnOrder) {
    using Real = TypeParam;
    using Grid = BasicGradientGrid<Real>;
    constexpr auto count = static_cast<std::size_t>(Grid::block_limit);
    const Clip clip{.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3};
    const Grid grid = clip.grid<Real>();
    Draws draws(15);
    std::vector<std::pair<Real, Real>> factors(count);
    std::int64_t expected = 0;
    for (auto& [delta, z] : factors) {
        // Powers of two with a unit's half as product are ties before they are made odd.
        const bool tie = draws.below(2) == 0;
        delta = make_odd(Real(tie ? draws.sign() * 0x1p-5 : draws.uniform(-0.199, 0.199)));
        z = make_odd(Real(tie ? (static_cast<double>(draws.below(100)) + 0.5) * grid.unit() * 0x1p5
                              : draws.uniform(0, 0.299)));
        expected += grid.units_of_biased(std::fma(delta, z, grid.bias()));
    }
    for (int repeat = 0; repeat < 100; ++repeat) {
        shuffle(factors, draws);
        Real biased = grid.bias();
        for (const auto& [delta, z] : factors) biased = std::fma(delta, z, biased);
        ASSERT_EQ(grid.units_of_biased(biased), expected);
    }
}

TYPED_TEST(GradientGridOf, WorstCaseSumsFit) {
    using Real = TypeParam;
    using Grid = BasicGradientGrid<Real>;
    for (const Real gamma : gammas<Real>()) {
        const Grid grid(gamma);
        const __int128 units = grid.units_above(gamma);
        EXPECT_LE(units * Grid::block_limit, __int128{1} << (std::numeric_limits<Real>::digits -
                                                             2));  // the biased Real keeps its exponent
        EXPECT_LE(units * Grid::record_limit, __int128{1} << 62);  // an int64, with as much again for charges
        Real highest = grid.bias(), lowest = grid.bias();
        for (std::int64_t i = 0; i < Grid::block_limit; ++i) {
            highest += make_odd(gamma);
            lowest += make_odd(-gamma);
        }
        EXPECT_EQ(grid.units_of_biased(highest), Grid::block_limit * grid.units(make_odd(gamma)));
        EXPECT_EQ(grid.units_of_biased(lowest), -Grid::block_limit * grid.units(make_odd(gamma)));
    }
}

}  // namespace
}  // namespace holdfast
