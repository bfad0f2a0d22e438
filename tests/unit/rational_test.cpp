#include "models/privacy/rational.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

TEST(Rationals, AreReadAsTheirDecimals) {
    EXPECT_EQ(decimal_value(1e-5, "delta") * 100000, 1);
    EXPECT_EQ(parse_rational("1/3", "epsilon") * 3, 1);
    EXPECT_EQ(parse_rational("-2.5e1", "epsilon"), -25);
    for (const char* text : {"", "x", "1.2.3", "--1", "1/0", "1e", "1e999", "nan", ".", "1 "}) {
        EXPECT_THROW(parse_rational(text, "epsilon"), Error) << text;
    }
}

TEST(Bounds, EncloseTheFunctionsAndRoundUp) {
    for (const char* text : {"-30", "-0.1", "0.3", "12.5"}) {
        const Rational x = parse_rational(text, "x");
        EXPECT_LT(exp_lower(x), exp_upper(x));
        EXPECT_NEAR(exp_upper(x).get_d(), std::exp(x.get_d()), 1e-14 * std::exp(x.get_d()));
        // e^x e^-x = 1 lies between the products of the bounds.
        EXPECT_LT(exp_lower(x) * exp_lower(-x), 1);
        EXPECT_GT(exp_upper(x) * exp_upper(-x), 1);
    }
    EXPECT_EQ(exp_lower(-5000), 0);
    EXPECT_GT(exp_upper(-1000000000), 0);
    EXPECT_LE(exp_lower(1000000000), exp_upper(4096));
    const Rational tenth(1, 10);
    EXPECT_GE(Rational(round_up(tenth)), tenth);
    EXPECT_GE(Rational(round_up(Rational(1, 3))), Rational(1, 3));
    EXPECT_LT(Rational(std::nextafter(round_up(Rational(1, 3)), 0.0)), Rational(1, 3));
    for (const char* text : {"0", "0.1", "3.9", "1e-06", "1e+06", "7.1"}) {
        EXPECT_EQ(decimal_text(parse_rational(text, "x")), text);
        EXPECT_EQ(decimal_value(shown(parse_rational(text, "x")), "x"), parse_rational(text, "x"));
    }
    EXPECT_EQ(shown(Rational(1, 3)), round_up(Rational(1, 3)));
    EXPECT_EQ(ceil(Rational(-7, 2)), -3);
    EXPECT_EQ(floor(Rational(-7, 2)), -4);
}

}  // namespace
}  // namespace holdfast
