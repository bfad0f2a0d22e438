#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"

namespace holdfast {
namespace {

long double normal_tail(long double x) {
    return std::erfc(x / std::sqrt(2.0L)) / 2;
}

long double delta_of(long double mu, long double epsilon) {
    return normal_tail(epsilon / mu - mu / 2) - std::exp(epsilon) * normal_tail(epsilon / mu + mu / 2);
}

TEST(GaussianDelta, IsTheFormulaOfBalleAndWang) {
    for (const double mu : {0.01, 0.5, 1.0, 4.0, 30.0}) {
        for (const double epsilon : {0.0, 0.01, 1.0, 10.0, 100.0}) {
            const long double expected = delta_of(mu, epsilon);
            if (expected < 1e-12L) continue;  // long double has lost it
            const double found = gaussian_delta(Rational(mu), Rational(epsilon)).get_d();
            EXPECT_NEAR(found / static_cast<double>(expected), 1, 1e-6) << mu << " " << epsilon;
        }
    }
    EXPECT_EQ(gaussian_delta(0, 1), 0);
    EXPECT_EQ(gaussian_delta(5000, 1), 1);
}

TEST(GaussianDelta, KeepsItsDigitsFarOut) {
    // Phi(-x) = phi(x)/x (1 - 1/x^2 + …): at mu = 1, eps = 20 the two tails agree to their first digits.
    const double x = 19.5, y = 20.5, density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    const auto mills = [](double t) {
        return 1 / t - 1 / (t * t * t) + 3 / std::pow(t, 5) - 15 / std::pow(t, 7);
    };
    EXPECT_NEAR(gaussian_delta(1, 20).get_d() / (density * (mills(x) - mills(y))), 1, 1e-6);
}

TEST(GaussianEpsilon, IsTheLeastWithItsDelta) {
    for (const double mu : {0.003, 0.1, 1.0, 7.0, 100.0, 3000.0}) {
        for (const char* text : {"1e-12", "1e-5", "1e-3", "0.3"}) {
            const Rational delta = parse_rational(text, "delta");
            const Rational epsilon = gaussian_epsilon(Rational(mu), delta);
            EXPECT_LE(gaussian_delta(Rational(mu), epsilon), delta);
            if (epsilon > 0) {
                const Rational less = epsilon * (1 - Rational(1, 1000000000));
                EXPECT_GT(gaussian_delta(Rational(mu), less), delta) << mu << " " << text;
            }
        }
    }
}

// Where doubles tell nothing of it.
TEST(GaussianEpsilon, OfHardlyAnything) {
    const Rational mu = parse_rational("1e-25", "mu"), delta = parse_rational("1e-30", "delta");
    const Rational epsilon = gaussian_epsilon(mu, delta);
    EXPECT_LE(gaussian_delta(mu, epsilon), delta);
    EXPECT_GT(gaussian_delta(mu, epsilon * (1 - Rational(1, 1000000000))), delta);
}

TEST(GaussianEpsilon, IsNothingWhereDeltaCoversAll) {
    EXPECT_EQ(gaussian_epsilon(Rational(1, 1000), Rational(1, 10)), 0);
    EXPECT_EQ(gaussian_epsilon(0, Rational(1, 10)), 0);
}

TEST(GaussianEpsilon, BeyondAllBudgetsIsThatOfConcentratedPrivacy) {
    EXPECT_NEAR(gaussian_epsilon(10000, Rational(1, 100000)).get_d(),
                5e7 + 1e4 * std::sqrt(2 * std::log(1e5)), 1e-3);
}

TEST(GaussianMu, InvertsEpsilon) {
    for (const char* text : {"0", "0.1", "1", "10", "1000"}) {
        for (const double level : {1e-12, 1e-5, 0.2}) {
            const Rational epsilon = parse_rational(text, "epsilon"), delta(level);
            const Rational mu = gaussian_mu(epsilon, delta);
            EXPECT_LE(gaussian_delta(mu, epsilon), delta);
            EXPECT_GT(gaussian_delta(mu * (1 + Rational(1, 1000000000)), epsilon), delta) << text;
            EXPECT_LE(gaussian_epsilon(mu, delta), epsilon * (1 + Rational(1, 1000000000)));
        }
    }
}

TEST(GaussianMu, OfAHugeBudgetIsTheLargest) {
    EXPECT_GT(gaussian_mu(parse_rational("1e9", ""), Rational(1, 100000)), 4095);
}

TEST(Gaussian, ADeltaOfNothingIsNoFractionOfABillionDigits) {
    const Rational far = gaussian_delta(Rational(1, 1000000000), 1);
    EXPECT_GT(far, 0);
    EXPECT_LT(mpz_sizeinbase(far.get_den_mpz_t(), 2), 70000U);
}

TEST(Gaussian, ANegativeMuIsRefused) {
    EXPECT_THROW(gaussian_delta(-1, 1), Error);
    EXPECT_THROW(gaussian_epsilon(-1, Rational(1, 2)), Error);
}
TEST(Gaussian, ANegativeEpsilonIsRefused) {
    EXPECT_THROW(gaussian_delta(1, -1), Error);
    EXPECT_THROW(gaussian_mu(-1, Rational(1, 2)), Error);
}
TEST(Gaussian, ADeltaOutsideTheOpenUnitIntervalIsRefused) {
    for (const Rational& delta : {Rational(0), Rational(1), Rational(-1, 2)}) {
        EXPECT_THROW(gaussian_epsilon(1, delta), Error);
        EXPECT_THROW(gaussian_mu(1, delta), Error);
    }
}

}  // namespace
}  // namespace holdfast
