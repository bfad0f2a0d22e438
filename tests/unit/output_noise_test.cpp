// The noise of a publication costs no more than was asked for, exactly, and hardly less.

#include "models/privacy/noise/output_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/arithmetic.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "tests/support/secret_keys.hpp"

namespace holdfast {
namespace {

const Rational sensitivities[] = {Rational(1, 3), Rational(7), Rational(123456789, 1000),
                                  Rational(power_of_two(45)) + Rational(1, 7)};

TEST(OutputNoise, AGaussianCostsWhatWasAskedForAndHardlyLess) {
    for (const Rational& epsilon : {Rational(1, 10), Rational(1), Rational(8)}) {
        for (const Rational& delta : {Rational(1, 100), Rational(1, 100000), Rational(1, 1000000000)}) {
            for (const Rational& sensitivity : sensitivities) {
                const OutputNoise noise = OutputNoise::of(epsilon, delta, sensitivity, 10);
                EXPECT_EQ(noise.law(), "gaussian");
                const Rational mu = sensitivity / Rational(noise.scale());
                EXPECT_LE(gaussian_delta(mu, epsilon), delta);
                EXPECT_GT(gaussian_delta(mu * Rational(1001, 1000), epsilon), delta);
                ASSERT_EQ(noise.curve().size(), renyi_orders().size());
                for (std::size_t i = 0; i < noise.curve().size(); ++i)
                    EXPECT_GE(noise.curve()[i], renyi_orders()[i] * mu * mu / 2);
                EXPECT_LE(epsilon_of_renyi_curve(noise.curve(), delta), epsilon * 2);
            }
        }
    }
}

// Neighbours differ by any integers of 2-norm `sensitivity` at most: those of the greatest 1-norm lose most.
TEST(OutputNoise, OfLaplaceLosesNoMoreThanEpsilonAtAnyPointAndAlmostAllAtSome) {
    for (const Rational& epsilon : {Rational(1, 10), Rational(1), Rational(8)}) {
        for (const std::size_t values : {1UL, 2UL, 9UL, 100UL}) {
            for (const Rational& sensitivity : sensitivities) {
                const OutputNoise noise = OutputNoise::of(epsilon, 0, sensitivity, values);
                EXPECT_EQ(noise.law(), "laplace");
                const Rational scale(noise.scale()), count(static_cast<unsigned long>(values));
                // The loss of a difference d is at most sum |d_i| / scale, sum |d_i| <= sqrt(values) |d|_2.
                const Rational loss = sensitivity / scale;
                EXPECT_LE(loss * loss * count, epsilon * epsilon);
                if (scale > 1) {
                    const Rational more = sensitivity / (scale - 1);
                    EXPECT_GT(more * more * count, epsilon * epsilon) << noise.scale();
                }
                EXPECT_EQ(noise.curve(), renyi_curve_of_pure(epsilon));
            }
        }
    }
}

TEST(OutputNoise, TermsThatNoNoiseServesAreRefused) {
    const auto code_of = [](const Rational& epsilon, const Rational& delta, const Rational& sensitivity) {
        try {
            OutputNoise::of(epsilon, delta, sensitivity, 4);
        } catch (const Error& error) {
            return error.code();
        }
        return ExitCode::success;
    };
    EXPECT_EQ(code_of(0, 0, 1), ExitCode::usage);
    EXPECT_EQ(code_of(-1, Rational(1, 10), 1), ExitCode::usage);
    EXPECT_EQ(code_of(1, -1, 1), ExitCode::usage);
    EXPECT_EQ(code_of(1, 1, 1), ExitCode::usage);
    for (const Rational& delta : {Rational(0), Rational(1, 100000)}) {
        EXPECT_EQ(code_of(1, delta, power_of_two(40)), ExitCode::success);
        EXPECT_EQ(code_of(Rational(1, 1000000), delta, power_of_two(50)), ExitCode::usage);
        EXPECT_EQ(code_of(1000000, delta, Rational(1, 1000)), ExitCode::success);
    }
}

TEST(OutputNoise, IsAddedFromItsKeyAndClampedToWhatParametersHold) {
    for (const Rational& delta : {Rational(0), Rational(1, 100000)}) {
        const OutputNoise noise = OutputNoise::of(1, delta, power_of_two(50), 2000);
        std::vector<std::int64_t> zero(2000, 0), some(2000, 12345), again(2000, 12345), other(2000, 12345);
        noise.add_to(zero, test::known_key(1));
        noise.add_to(some, test::known_key(1));
        noise.add_to(again, test::known_key(1));
        noise.add_to(other, test::known_key(2));
        EXPECT_EQ(some, again);
        EXPECT_NE(some, other);
        double square = 0;
        for (std::size_t i = 0; i < zero.size(); ++i) {
            EXPECT_EQ(some[i], std::min(zero[i] + 12345, parameter_limit_units));
            square += std::pow(static_cast<double>(zero[i]) / noise.scale(), 2);
        }
        EXPECT_NEAR(square / 2000, delta == 0 ? 2 : 1, 0.5);

        std::vector<std::int64_t> high(2000, parameter_limit_units), low(2000, -parameter_limit_units);
        noise.add_to(high, test::known_key(3));
        noise.add_to(low, test::known_key(3));
        for (std::size_t i = 0; i < high.size(); ++i) {
            EXPECT_LE(high[i], parameter_limit_units);
            EXPECT_GE(low[i], -parameter_limit_units);
            EXPECT_TRUE(high[i] == parameter_limit_units || low[i] == -parameter_limit_units);
        }
    }
}

}  // namespace
}  // namespace holdfast
