#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"

namespace holdfast {
namespace {

const Rational fine = Rational(1) + Rational(1) / power_of_two(60);

TEST(RenyiOrders, AreAllUpTo64AndThenFourToEachDoubling) {
    const auto& orders = renyi_orders();
    for (std::size_t i = 0; i < 63; ++i) EXPECT_EQ(orders[i], static_cast<std::int64_t>(i) + 2);
    EXPECT_EQ(orders.size(), 63U + 4 * 5);
    EXPECT_EQ(orders.back(), 2048);
    for (std::size_t i = 63; i < orders.size(); ++i) {
        EXPECT_LT(orders[i - 1] * 11, orders[i] * 10);
        EXPECT_GT(orders[i - 1] * 13, orders[i] * 10);
    }
}

TEST(RenyiCurveOfPure, IsThatOfRandomisedResponseFromAbove) {
    for (const char* text : {"1e-9", "0.01", "1/3", "1", "7", "300"}) {
        const Rational epsilon = parse_rational(text, "epsilon");
        const auto curve = renyi_curve_of_pure(epsilon);
        ASSERT_EQ(curve.size(), renyi_orders().size());
        for (std::size_t i = 0; i < curve.size(); ++i) {
            // sum over both answers of p^a q^(1-a), p and q = 1/(1 + e^eps), e^eps/(1 + e^eps)
            const Rational a(static_cast<long>(renyi_orders()[i]));
            if (a * epsilon > 4000) {
                EXPECT_LE(curve[i], epsilon);
                continue;
            }
            const Rational under = exp_lower(a * epsilon) + exp_lower((1 - a) * epsilon);
            const Rational exact = log_lower(under / (1 + exp_upper(epsilon))) / (a - 1);
            EXPECT_GE(curve[i], exact) << text << " " << a;
            EXPECT_LE(curve[i], exact * fine) << text << " " << a;
        }
    }
}

TEST(RenyiCurveOfPure, RisesToEpsilonAndFallsToNothing) {
    for (const long epsilon : {0L, 1L, 1000000L, 1000000000L}) {
        Rational before = 0;
        for (const Rational& entry : renyi_curve_of_pure(epsilon)) {
            EXPECT_GE(entry, before);
            EXPECT_LE(entry, epsilon);
            before = entry;
        }
    }
    EXPECT_EQ(renyi_curve_of_pure(1000000000).front(), 1000000000);
}

TEST(RenyiCurveOfConcentrated, IsLinear) {
    const auto curve = renyi_curve_of_concentrated(Rational(1, 3));
    for (std::size_t i = 0; i < curve.size(); ++i)
        EXPECT_EQ(curve[i], Rational(static_cast<long>(renyi_orders()[i])) / 3);
}

TEST(RenyiConversion, IsTheFormulaOfCanonneKamathAndSteinke) {
    for (const int a : {2, 3, 17, 64, 2048}) {
        for (const double delta : {1e-12, 1e-5, 0.1}) {
            for (const double rho : {0.001, 0.4, 20.0}) {
                const double epsilon = rho + std::log1p(-1.0 / a) - std::log(delta * a) / (a - 1);
                EXPECT_NEAR(epsilon_of_renyi(a, Rational(rho), decimal_value(delta, "")).get_d(),
                            std::max(0.0, epsilon), 1e-12 * std::fabs(epsilon))
                    << a << " " << delta << " " << rho;
            }
        }
    }
}

TEST(RenyiConversion, ProvesTheDeltaItClaims) {
    // exp((a-1)(rho - eps)) (1 - 1/a)^a/(a - 1) <= delta, with bounds on the safe side of every rounding.
    for (const long a : {2L, 5L, 64L}) {
        const Rational order(a), rho(1, 7), delta(1, 100000);
        const Rational epsilon = epsilon_of_renyi(a, rho, delta);
        Rational share = 1;
        for (long i = 0; i < a; ++i) share *= (order - 1) / order;
        EXPECT_LE(exp_lower((order - 1) * (rho - epsilon)) * share / (order - 1), delta);
        EXPECT_GT(exp_upper((order - 1) * (rho - epsilon)) * share / (order - 1), delta / fine);
    }
}

TEST(RenyiConversion, TheBudgetIsItsExactInverse) {
    for (const std::int64_t order : renyi_orders()) {
        for (const char* text : {"0.01", "1", "30"}) {
            const Rational epsilon = parse_rational(text, "epsilon"), delta(1, 1000000);
            const Rational rho = renyi_budget(order, epsilon, delta);
            if (rho >= 0) {
                EXPECT_EQ(epsilon_of_renyi(order, rho, delta), epsilon);
                EXPECT_GT(epsilon_of_renyi(order, rho * fine, delta), epsilon);
            } else {
                EXPECT_GT(epsilon_of_renyi(order, 0, delta), epsilon);
            }
        }
    }
}

TEST(RenyiConversion, OfACurveTakesTheBestOrder) {
    const Rational delta(1, 100000);
    const auto curve = renyi_curve_of_concentrated(Rational(1, 50));
    Rational least = 1000;
    for (std::size_t i = 0; i < curve.size(); ++i)
        least = std::min(least, epsilon_of_renyi(renyi_orders()[i], curve[i], delta));
    EXPECT_EQ(epsilon_of_renyi_curve(curve, delta), least);
    EXPECT_THROW(epsilon_of_renyi_curve({1, 2}, delta), Error);
}

TEST(OrderForBudget, IsWhereTheLargestGaussianFits) {
    for (const char* text : {"0.05", "0.3", "1", "8", "40"}) {
        const Rational epsilon = parse_rational(text, "epsilon"), delta(1, 100000);
        const std::int64_t best = order_for_budget(epsilon, delta);
        const Rational rho = renyi_budget(best, epsilon, delta) / Rational(static_cast<long>(best));
        EXPECT_GT(rho, 0);
        for (const std::int64_t order : renyi_orders())
            EXPECT_GT(epsilon_of_renyi(order, rho * fine * Rational(static_cast<long>(order)), delta),
                      epsilon);
        // About 1 + sqrt(log(1/delta)/rho), up to the grid of orders.
        const double expected = 1 + std::sqrt(std::log(1e5) / rho.get_d());
        EXPECT_NEAR(static_cast<double>(best) / expected, 1, 0.35) << text;
    }
    EXPECT_EQ(order_for_budget(Rational(1, 1000000), Rational(1, 100000)), renyi_orders().back());
}

TEST(Renyi, ANegativeEpsilonIsRefused) {
    EXPECT_THROW(renyi_curve_of_pure(-1), Error);
    EXPECT_THROW(renyi_budget(2, -1, Rational(1, 2)), Error);
}
TEST(Renyi, ANegativeRhoIsRefused) {
    EXPECT_THROW(renyi_curve_of_concentrated(Rational(-1, 2)), Error);
    EXPECT_THROW(epsilon_of_renyi(2, -1, Rational(1, 2)), Error);
}
TEST(Renyi, AnOrderBelowTwoIsRefused) {
    EXPECT_THROW(epsilon_of_renyi(1, 1, Rational(1, 2)), Error);
    EXPECT_THROW(renyi_budget(0, 1, Rational(1, 2)), Error);
}
TEST(Renyi, ADeltaOutsideTheOpenUnitIntervalIsRefused) {
    for (const Rational& delta : {Rational(0), Rational(1), Rational(-1, 2), Rational(2)}) {
        EXPECT_THROW(epsilon_of_renyi(2, 1, delta), Error);
        EXPECT_THROW(renyi_budget(2, 1, delta), Error);
        EXPECT_THROW(order_for_budget(1, delta), Error);
    }
}

}  // namespace
}  // namespace holdfast
