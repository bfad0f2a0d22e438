#include "kernels/base/circle.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <random>
#include <vector>

#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

/// cos and sin of 2 pi turns, to 300 bits or so.
void exact_point(double turns, BigFloat& cosine, BigFloat& sine) {
    BigFloat pi(1400), angle(1400);  // pi to as many bits as the turns have before and behind the point
    mpfr_const_pi(pi.get(), MPFR_RNDN);
    mpfr_mul_d(angle.get(), pi.get(), 2 * turns, MPFR_RNDN);
    mpfr_sin_cos(sine.get(), cosine.get(), angle.get(), MPFR_RNDN);
}

std::vector<double> turns_to_try() {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> one_turn(-1, 1), power(-1074, 300);
    std::vector<double> turns{0.0, -0.0, 0x1p-1074, 0x1p52 + 0.5, 0x1p300, -1e90};
    for (int eighth = -16; eighth <= 16; ++eighth) {
        for (const double end : {-100.0, 100.0}) turns.push_back(std::nextafter(eighth / 8.0, end));
        turns.push_back(eighth / 8.0);
    }
    for (int i = 0; i < 20000; ++i) turns.push_back(one_turn(random));
    for (int i = 0; i < 2000; ++i)
        turns.push_back(std::ldexp(one_turn(random), static_cast<int>(power(random))));
    return turns;
}

TEST(CirclePoint, ErrsBelowTwoToTheMinus51AndIsAsFarFromTheCentre) {
    const Rational most(1, power_of_two(51));
    BigFloat cosine, sine;
    for (const double turns : turns_to_try()) {
        const CirclePoint point = circle_point(turns);
        exact_point(turns, cosine, sine);
        const Rational x(point.cosine), y(point.sine);
        ASSERT_LE(abs(x - cosine.rational()), most) << turns;
        ASSERT_LE(abs(y - sine.rational()), most) << turns;
        ASSERT_LE(abs(x * x + y * y - 1), 2 * most) << turns;
    }
}

TEST(CirclePoint, MeetsTheAxes) {
    for (const double whole : {0.0, 1.0, -3.0, 0x1p50}) {
        const auto at = [&](double quarter) { return circle_point(whole + quarter); };
        EXPECT_EQ(at(0).cosine, 1);
        EXPECT_EQ(at(0).sine, 0);
        EXPECT_EQ(at(0.25).cosine, 0);
        EXPECT_EQ(at(0.25).sine, 1);
        EXPECT_EQ(at(0.5).cosine, -1);
        EXPECT_EQ(at(-0.25).sine, -1);
    }
}

}  // namespace
}  // namespace holdfast
