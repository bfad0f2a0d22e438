#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/gaussian_steps.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "tests/support/sampled_pair.hpp"

namespace holdfast {
namespace {

const Rational delta(1, 100000);

GaussianSteps steps_of(const Rational& rate, double multiplier, std::int64_t steps,
                       Relation relation = Relation::add_remove) {
    return {rate, multiplier, steps, relation};
}

/// By the trapezoidal rule, which has all digits for such functions.
long double integral(const std::function<long double(long double)>& f, long double low, long double high) {
    constexpr int points = 40000;
    long double sum = 0;
    for (int i = 0; i <= points; ++i) sum += f(low + (high - low) * i / points);
    return sum * (high - low) / points;
}

TEST(RenyiCurve, IsTheMomentOfTheLikelihoodRatio) {
    for (const double rate : {0.0078125, 0.25, 0.9375}) {
        for (const double sigma : {0.8, 3.0}) {
            const auto curve = renyi_curve(steps_of(Rational(rate), sigma, 1));
            const testing_support::SampledPair pair{rate, sigma};
            for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{14}}) {
                const auto a = static_cast<long double>(renyi_orders()[i]);
                const long double moment =
                    integral([&](long double x) { return pair.density(x, 0) * std::pow(pair.ratio(x), a); },
                             -40 * sigma, 40 * sigma + a);
                const auto expected = static_cast<double>(std::log(moment) / (a - 1));
                EXPECT_NEAR(curve[i].get_d(), expected, 1e-11 * expected + 1e-15) << rate << " " << sigma;
            }
        }
    }
}

TEST(RenyiCurve, OfOrderTwoIsItsClosedFormFromAbove) {
    for (const char* text : {"1/3", "1/1024", "1e-12"}) {
        for (const double sigma : {0.25, 1.0, 1e6}) {
            const Rational rate = parse_rational(text, "rate"), variance = Rational(sigma) * Rational(sigma);
            const Rational exact = log_lower(1 + rate * rate * (exp_lower(1 / variance) - 1));
            const Rational found = renyi_curve(steps_of(rate, sigma, 1)).front();
            EXPECT_GE(found, exact);
            EXPECT_LE(found, exact * (1 + Rational(1) / power_of_two(60))) << text << " " << sigma;
        }
    }
}

TEST(RenyiCurve, WithoutSamplingIsThatOfTheGaussianExactly) {
    const auto one = renyi_curve(steps_of(1, 4, 7)),
               two = renyi_curve(steps_of(1, 4, 7, Relation::substitute));
    for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i], Rational(static_cast<long>(renyi_orders()[i])) * 7 / 32);
        EXPECT_EQ(two[i], 4 * one[i]);
    }
}

TEST(RenyiCurve, OfASubstitutionIsARemovalAndAnAddition) {
    const auto single = renyi_curve(steps_of(Rational(1, 16), 1.5, 3));
    const auto twice = renyi_curve(steps_of(Rational(1, 16), 1.5, 3, Relation::substitute));
    // Of order 4: (4 - 1/2)/(4 - 1) of order 8 and order 7.
    EXPECT_EQ(twice[2], Rational(7, 6) * single[6] + single[5]);
}

TEST(RenyiCurve, StepsAddUpAndNoiseAndSamplingHelp) {
    const auto base = renyi_curve(steps_of(Rational(1, 32), 1, 10));
    const auto longer = renyi_curve(steps_of(Rational(1, 32), 1, 20));
    const auto louder = renyi_curve(steps_of(Rational(1, 32), 1.001, 10));
    const auto rarer = renyi_curve(steps_of(Rational(1, 33), 1, 10));
    for (std::size_t i = 0; i < base.size(); ++i) {
        EXPECT_EQ(longer[i], 2 * base[i]);
        EXPECT_LT(louder[i], base[i]);
        EXPECT_LT(rarer[i], base[i]);
        EXPECT_LE(base[i], Rational(static_cast<long>(10 * renyi_orders()[i]), 2));
    }
}

TEST(RenyiCurve, StandsWhereNoiseIsSoLittleThatMomentsOverflow) {
    const auto curve = renyi_curve(steps_of(Rational(1, 2), least_multiplier, 1));
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const double unsampled = 2048.0 * static_cast<double>(renyi_orders()[i]);
        EXPECT_LE(curve[i].get_d(), unsampled);
        EXPECT_GT(curve[i].get_d(), unsampled - 1.5);  // log 2 a/(a - 1) at the most
    }
}

TEST(CostOf, WithoutSamplingIsTheExactGaussian) {
    const StepsCost cost = cost_of(steps_of(1, 10, 100), delta);
    EXPECT_EQ(cost.accountant, "gdp");
    EXPECT_EQ(cost.epsilon, gaussian_epsilon(1, delta));
    EXPECT_EQ(cost_of(steps_of(1, 10, 25, Relation::substitute), delta).epsilon, cost.epsilon);
}

TEST(CostOf, TwoStepsAtOneHalfLoseWhatTheIntegralSays) {
    const StepsCost cost = cost_of(steps_of(Rational(1, 2), 4, 2), delta);
    EXPECT_EQ(cost.accountant, "pld");
    const auto worst = [](double epsilon) {
        const testing_support::SampledPair removal{0.5L, 4, false, false}, addition{0.5L, 4, false, true};
        return static_cast<double>(std::max(removal.delta_of_two(epsilon), addition.delta_of_two(epsilon)));
    };
    EXPECT_LE(worst(cost.epsilon.get_d()), 1e-5);
    EXPECT_GT(worst(cost.epsilon.get_d() * 0.9995), 1e-5);
}

TEST(CostOf, IsTheLeastOfAll) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
        const GaussianSteps steps = steps_of(Rational(1, 16), 2, 50, relation);
        const Rational cost = cost_of(steps, delta).epsilon;
        EXPECT_LT(cost, epsilon_of_renyi_curve(renyi_curve(steps), delta));
        EXPECT_LT(cost, cost_of(steps_of(1, 2, 50, relation), delta).epsilon);
    }
}

TEST(CostOf, RisesWithStepsRateAndRelationAndFallsWithNoiseAndDelta) {
    const Rational base = cost_of(steps_of(Rational(1, 16), 2, 50), delta).epsilon;
    EXPECT_GT(cost_of(steps_of(Rational(1, 16), 2, 55), delta).epsilon, base);
    EXPECT_GT(cost_of(steps_of(Rational(1, 15), 2, 50), delta).epsilon, base);
    EXPECT_GT(cost_of(steps_of(Rational(1, 16), 2, 50, Relation::substitute), delta).epsilon, base);
    EXPECT_LT(cost_of(steps_of(Rational(1, 16), 2.02, 50), delta).epsilon, base);
    EXPECT_LT(cost_of(steps_of(Rational(1, 16), 2, 50), 2 * delta).epsilon, base);
}

TEST(CostOf, IsNothingWhereDeltaCoversEveryDraw) {
    // A record is never drawn with probability 1 - 2^-20, and that covers it.
    EXPECT_EQ(cost_of(steps_of(Rational(1, 1 << 20), 1, 1), Rational(1, 1 << 20)).epsilon, 0);
}

TEST(CostOf, IsNothingWhereDeltaCoversWhomAnyStepTakes) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
        const Rational rate(1, power_of_two(32));
        EXPECT_EQ(cost_of(steps_of(rate, least_multiplier, 1, relation), delta).epsilon, 0);
        EXPECT_EQ(cost_of(steps_of(rate, least_multiplier, 42949, relation), delta).epsilon, 0);
        EXPECT_GT(cost_of(steps_of(rate, least_multiplier, 42950, relation), delta).epsilon, 1);
    }
}

TEST(CostOf, OfOneSampledStepIsNoMoreThanItsGaussianSampled) {
    // With so little noise that nothing else comes near: log(1 + (e^e - 1)/8) for e at 8 delta.
    const Rational of_taken = gaussian_epsilon(16, 8 * delta);
    const Rational sampled = log_upper(1 + (exp_upper(of_taken) - 1) / 8);
    EXPECT_LE(cost_of(steps_of(Rational(1, 8), 0x1p-4, 1), delta).epsilon,
              sampled * (1 + Rational(1) / power_of_two(60)));
    // Of a removal it is exact, also where losses would be counted in whole numbers.
    EXPECT_NEAR(cost_of(steps_of(Rational(1, 8), 0x1p-6, 1), delta).epsilon.get_d(),
                Rational(gaussian_epsilon(64, 8 * delta)).get_d() - std::log(8), 1e-6);
}

TEST(CostOf, RisesSmoothlyWhereStepsAreMany) {
    // Noise that grows with their root: so many steps are a Gaussian, and cost the same.
    const auto cost = [](std::int64_t steps, double multiplier) {
        const StepsCost found = cost_of(steps_of(Rational(1, 1024), multiplier, steps), delta);
        EXPECT_EQ(found.accountant, "pld") << steps;
        return found.epsilon.get_d();
    };
    const std::int64_t most = std::int64_t{1} << 24;
    const double at_most = cost(most, 20), beyond = cost(most + 1, 20);
    EXPECT_LE(at_most, beyond);
    EXPECT_NEAR(beyond / at_most, 1, 1e-4);
    const double of_few = cost(most / 64, 2.5);
    EXPECT_GT(of_few, at_most);
    EXPECT_NEAR(cost(std::int64_t{1} << 30, 160) / at_most, 1, 2e-3);
}

TEST(CostOf, StandsAtTheEndsOfItsRanges) {
    EXPECT_GT(cost_of(steps_of(Rational(1, 2), least_multiplier, 1), delta).epsilon, 2048);
    EXPECT_LT(cost_of(steps_of(Rational(1, 2), largest_multiplier, 1), delta).epsilon, Rational(1, 1000000));
    const Rational many = cost_of(steps_of(Rational(1, 2), 1e9, std::int64_t{1} << 40), delta).epsilon;
    EXPECT_GT(many, 0);
    EXPECT_LE(many, gaussian_epsilon(Rational(1 << 20) / 1000000000, delta));
}

TEST(NoiseMultiplierFor, HoldsAndALittleLessDoesNot) {
    const double multiplier = noise_multiplier_for(1, delta, 1, 200, Relation::substitute);
    EXPECT_LE(cost_of(steps_of(1, multiplier, 200, Relation::substitute), delta).epsilon, 1);
    EXPECT_GT(cost_of(steps_of(1, multiplier * 0.9997, 200, Relation::substitute), delta).epsilon, 1);
    EXPECT_LE(decimal_text(Rational(multiplier)).size(), 6U) << "a decimal of 5 digits";
}

TEST(NoiseMultiplierFor, AHugeBudgetTakesTheLeastOfTheRange) {
    EXPECT_EQ(noise_multiplier_for(100000, delta, 1, 1, Relation::add_remove), least_multiplier);
    EXPECT_EQ(noise_multiplier_for(1000000000, delta, Rational(1, 64), 10, Relation::add_remove),
              least_multiplier);
}

TEST(NoiseMultiplierFor, ARecordThatHardlyAnyStepTakesNeedsNoMoreNoiseForALaxerBudget) {
    const auto multiplier = [](const Rational& epsilon) {
        return noise_multiplier_for(epsilon, delta, Rational(1, power_of_two(32)), 1000000,
                                    Relation::add_remove);
    };
    EXPECT_EQ(multiplier(1), 0.1865);
    EXPECT_LE(multiplier(2), 0.1865);
}

// Of losses laid out by such an epsilon one alone would have 2^30 places and more.
TEST(NoiseMultiplierFor, ABudgetThatIsAlmostAllDeltaIsAsGoodAsNoEpsilon) {
    const auto multiplier = [](const char* epsilon) {
        return noise_multiplier_for(parse_rational(epsilon, ""), delta, Rational(1, 64), 300,
                                    Relation::add_remove);
    };
    const double least = multiplier("1e-13");
    EXPECT_LE(cost_of(steps_of(Rational(1, 64), least, 300), delta).epsilon, parse_rational("1e-13", ""));
    EXPECT_NEAR(multiplier("1e-7") / least, 1, 0.01);
}

void expect_refused(const std::function<void()>& call, const std::string& where) {
    try {
        call();
        FAIL() << where << " was not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.where(), where);
        EXPECT_FALSE(error.hint().empty());
    }
}

void expect_steps_refused(const GaussianSteps& steps, const std::string& where) {
    expect_refused([&] { cost_of(steps, delta); }, where);
    expect_refused([&] { renyi_curve(steps); }, where);
}

TEST(GaussianSteps, ARateOutsideTheUnitIntervalIsRefused) {
    for (const Rational& rate : {Rational(0), Rational(-1, 2), Rational(3, 2)}) {
        expect_steps_refused(steps_of(rate, 1, 1), "sampling_rate");
        expect_refused([&] { noise_multiplier_for(1, delta, rate, 1, Relation::add_remove); },
                       "sampling_rate");
    }
}
TEST(GaussianSteps, ANoiseMultiplierOutsideItsRangeIsRefused) {
    for (const double multiplier : {0.0, -1.0, 0.015, 2e12, std::nan(""), double{INFINITY}})
        expect_steps_refused(steps_of(1, multiplier, 1), "noise_multiplier");
}
TEST(GaussianSteps, NoStepsAndTooManyAreRefused) {
    for (const std::int64_t steps : {std::int64_t{0}, std::int64_t{-5}, (std::int64_t{1} << 40) + 1}) {
        expect_steps_refused(steps_of(1, 1, steps), "steps");
        expect_refused([&] { noise_multiplier_for(1, delta, 1, steps, Relation::add_remove); }, "steps");
    }
}
TEST(GaussianSteps, TheOneSidedRelationIsRefused) {
    expect_steps_refused(steps_of(1, 1, 1, Relation::remove), "relation");
    expect_refused([&] { noise_multiplier_for(1, delta, 1, 1, Relation::remove); }, "relation");
}
TEST(GaussianSteps, ADeltaOutsideTheOpenUnitIntervalIsRefused) {
    for (const Rational& bad : {Rational(0), Rational(1), Rational(-1, 2)}) {
        expect_refused([&] { cost_of(steps_of(1, 1, 1), bad); }, "delta");
        expect_refused([&] { noise_multiplier_for(1, bad, 1, 1, Relation::add_remove); }, "delta");
    }
}
TEST(NoiseMultiplierFor, ABudgetOfNothingIsRefused) {
    for (const Rational& epsilon : {Rational(0), Rational(-1)})
        expect_refused([&] { noise_multiplier_for(epsilon, delta, 1, 1, Relation::add_remove); }, "epsilon");
}
TEST(NoiseMultiplierFor, ABudgetThatNoNoiseKeepsIsRefused) {
    expect_refused(
        [&] {
            noise_multiplier_for(parse_rational("1e-9", ""), parse_rational("1e-12", ""), 1,
                                 std::int64_t{1} << 40, Relation::add_remove);
        },
        "epsilon");
}

}  // namespace
}  // namespace holdfast
