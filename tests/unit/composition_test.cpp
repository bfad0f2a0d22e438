#include "models/privacy/composition.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// delta at `total` of k-fold randomised response, straight from its binomial law: an independent
/// implementation.
double delta_of(double epsilon, int answers, double total) {
    const double q = 1 / (1 + std::exp(epsilon));
    double delta = 0;
    for (int wrong = 0; wrong <= answers; ++wrong) {
        const double choices =
            std::lgamma(answers + 1.0) - std::lgamma(wrong + 1.0) - std::lgamma(answers - wrong + 1.0);
        const double loss = epsilon * (answers - 2 * wrong);
        if (loss > total)
            delta += std::exp(choices + (answers - wrong) * std::log1p(-q) + wrong * std::log(q)) *
                     -std::expm1(total - loss);
    }
    return delta;
}

TEST(Composition, BasicIsExact) {
    EXPECT_EQ(basic_composition(Rational(1, 10), 10), 1);
    EXPECT_EQ(basic_composition(Rational(1, 10), 0), 0);
}

TEST(Composition, OptimalIsTheLeastEpsilonWithThatDelta) {
    for (const double epsilon : {0.01, 0.1, 0.5, 2.0}) {
        for (const int answers : {1, 2, 3, 10, 101, 500}) {
            for (const double delta : {1e-9, 1e-5, 1e-2, 0.3}) {
                const double least = optimal_composition(decimal_value(epsilon, "epsilon"), answers,
                                                         decimal_value(delta, "delta"))
                                         .get_d();
                EXPECT_LE(delta_of(epsilon, answers, least), delta * (1 + 1e-9) + 1e-14)
                    << epsilon << " " << answers << " " << delta;
                if (least > 0) {
                    EXPECT_GT(delta_of(epsilon, answers, least - 1e-6), delta * (1 - 1e-9))
                        << epsilon << " " << answers << " " << delta;
                }
            }
        }
    }
}

// Most terms of so many answers weigh nothing and are not summed one by one.
TEST(Composition, OfManyAnswersIsTheLeastEpsilonToo) {
    for (const double epsilon : {0.001, 0.02}) {
        for (const int answers : {1601, 1700, 5000, 30000}) {
            for (const double delta : {1e-9, 1e-5, 0.3}) {
                const double least = optimal_composition(decimal_value(epsilon, "epsilon"), answers,
                                                         decimal_value(delta, "delta"))
                                         .get_d();
                const double slack = delta * 1e-7;  // of the plain sum below
                EXPECT_LE(delta_of(epsilon, answers, least), delta + slack) << epsilon << " " << answers;
                if (least > 0) {
                    EXPECT_GT(delta_of(epsilon, answers, least - 1e-5), delta - slack)
                        << epsilon << " " << answers;
                }
            }
        }
    }
}

// A delta below what those terms weigh together: they count again.
TEST(Composition, NoDeltaIsTooSmallForManyAnswers) {
    const Rational epsilon(1, 100);
    const auto cost = [&](unsigned long bits) {
        return optimal_composition(epsilon, 2500, Rational(1) / Rational(power_of_two(bits))).get_d();
    };
    EXPECT_LT(cost(100), cost(1000));
    EXPECT_LT(cost(1000), 24);
    EXPECT_NEAR(cost(4000), 25, 1e-9);  // below the weight of the first term, which loses 2500 epsilon
}

TEST(Composition, OneAnswerSavesWhatItsDeltaAllows) {
    // k = 1: (e^eps - delta (1 + e^eps)) is what remains of the ratio.
    const double epsilon = 1, delta = 0.01, growth = std::exp(epsilon);
    EXPECT_NEAR(optimal_composition(1, 1, Rational(1, 100)).get_d(), std::log(growth - delta * (1 + growth)),
                1e-12);
    EXPECT_EQ(optimal_composition(1, 1, 0), 1);
    EXPECT_EQ(optimal_composition(1, 0, Rational(1, 100)), 0);
    EXPECT_EQ(optimal_composition(Rational(1, 1000), 1, Rational(9, 10)), 0);  // delta alone covers it
}

TEST(Composition, OptimalIsBelowTheOthersAndAdvancedIsItsFormula) {
    for (const char* text : {"0.01", "0.1", "1"}) {
        const Rational epsilon = parse_rational(text, "epsilon"), delta(1, 100000);
        for (const std::int64_t answers : {1, 10, 1000}) {
            const Rational optimal = optimal_composition(epsilon, answers, delta),
                           advanced = advanced_composition(epsilon, answers, delta);
            EXPECT_LE(optimal, basic_composition(epsilon, answers));
            EXPECT_LE(optimal, advanced);
            EXPECT_EQ(least_composition(epsilon, answers, delta), optimal);
            const double e = epsilon.get_d(), k = static_cast<double>(answers);
            const double formula = k * e * std::tanh(e / 2) + e * std::sqrt(2 * k * std::log(1e5));
            EXPECT_NEAR(advanced.get_d(), formula, 1e-12 * formula);
        }
    }
}

TEST(Composition, WithoutDeltaOnlyTheSumHolds) {
    EXPECT_EQ(least_composition(Rational(1, 3), 300, 0), 100);
    EXPECT_EQ(advanced_composition(Rational(1, 3), 300, 0), 100);
}

TEST(Composition, GrowsWithEveryAnswerAndShrinksWithDelta) {
    Rational before = 0;
    for (std::int64_t answers = 1; answers <= 200; ++answers) {
        const Rational cost = least_composition(Rational(1, 20), answers, Rational(1, 1000000));
        EXPECT_GT(cost, before);
        before = cost;
        EXPECT_GE(cost, least_composition(Rational(1, 20), answers, Rational(1, 1000)));
    }
}

TEST(Composition, AMillionAnswersAreCounted) {
    const double cost = least_composition(Rational(1, 1000), 1000000, Rational(1, 1000000)).get_d();
    EXPECT_NEAR(cost, 0.5 + 4.4, 0.5);  // mean k eps^2/2, deviation sqrt(k) eps = 1 times a quantile
}

TEST(Composition, BadNumbersAreRefused) {
    EXPECT_THROW(basic_composition(0, 1), Error);
    EXPECT_THROW(basic_composition(-1, 1), Error);
    EXPECT_THROW(basic_composition(1, -1), Error);
    EXPECT_THROW(optimal_composition(1, 1, -1), Error);
    EXPECT_THROW(optimal_composition(1, 1, 1), Error);
    EXPECT_THROW(decimal_value(std::nan(""), "epsilon"), Error);
}

}  // namespace
}  // namespace holdfast
