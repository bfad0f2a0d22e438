#include "models/privacy/session/total_route.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/composition.hpp"

namespace holdfast {
namespace total_route_test {

const Rational delta(1, 100000);

TotalRoute route(std::int64_t answers, const std::string& mechanism = "auto", std::int64_t cap = 1000,
                 int classes = 2) {
    return route_for_total(1, delta, answers, classes, cap, mechanism);
}

TEST(TotalRoute, AnswersByResponseComposeToTheTotalAndHardlyLess) {
    for (const std::int64_t answers : {1, 2, 7, 100, 3000}) {
        const TotalRoute found = route(answers, "stable_rr");
        EXPECT_EQ(found.mechanism, "stable_rr");
        const auto cost = [&](double factor) {
            return least_composition(decimal_value(factor * found.epsilon, "epsilon"), answers, delta);
        };
        EXPECT_LE(cost(1), 1) << answers;
        EXPECT_GT(cost(1.001), 1) << answers;
    }
}

TEST(TotalRoute, AnswersByGaussKeepToTheirShareToTheLastBit) {
    const Rational all = gaussian_mu(1, delta);
    for (const std::int64_t answers : {1, 2, 7, 100, 3000}) {
        const TotalRoute found = route(answers, "stable_gauss");
        EXPECT_EQ(found.mechanism, "stable_gauss");
        EXPECT_EQ(found.epsilon, 0);
        EXPECT_LE(found.mu_squared(), all * all);
        const Rational next = decimal_value(std::nextafter(found.mu, 2.0), "mu");
        EXPECT_GT(next * next * as_rational(answers), all * all);
    }
}

TEST(TotalRoute, FewAnswersAreByResponseAndManyByGauss) {
    EXPECT_EQ(route(1).mechanism, "stable_rr");
    EXPECT_EQ(route(5).mechanism, "stable_rr");
    EXPECT_EQ(route(30).mechanism, "stable_gauss");
    EXPECT_EQ(route(30, "auto", 1000, 10).mechanism, "stable_gauss");
    EXPECT_EQ(route(3000).mechanism, "stable_gauss");
    EXPECT_EQ(route(3000, "auto", 2).mechanism, "stable_rr");  // near the boundary a response flips less
    EXPECT_EQ(route_for_total(1, 0, 3000, 2, 1000, "auto").mechanism, "stable_rr");
    EXPECT_EQ(route_for_total(1, 0, 4, 2, 1000, "auto").epsilon, 0.25);
}

TEST(TotalRoute, HasTheCurveOfAllItsAnswers) {
    const TotalRoute gauss = route(50, "stable_gauss"), response = route(50, "stable_rr");
    EXPECT_EQ(gauss.curve()[3], gauss.mu_squared() / 2 * as_rational(renyi_orders()[3]));
    EXPECT_EQ(response.curve()[3], 50 * renyi_curve_of_pure(decimal_value(response.epsilon, "epsilon"))[3]);
    const Rational one = gaussian_mu_of_pure(decimal_value(response.epsilon, "epsilon"));
    EXPECT_EQ(response.mu_squared(), 50 * one * one);
}

TEST(TotalRoute, WhatCannotBeIsRefusedByName) {
    const auto where = [](auto action) {
        try {
            action();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            return error.where();
        }
        return std::string("nothing");
    };
    EXPECT_EQ(where([] { route_for_total(0, delta, 1, 2, 5, "auto"); }), "--total-epsilon");
    EXPECT_EQ(where([] { route_for_total(1, 1, 1, 2, 5, "auto"); }), "--total-delta");
    EXPECT_EQ(where([] { route_for_total(1, 0, 1, 2, 5, "stable_gauss"); }), "--total-delta");
    EXPECT_EQ(where([] { route_for_total(1, delta, 1, 2, 5, "cauchy"); }), "--by");
    EXPECT_EQ(where([] { route_for_total(1, 0, 10000000, 2, 5, "auto"); }), "--total-epsilon");
    EXPECT_EQ(where([] { mu_for_answers(1, delta, 0); }), "answers");
    EXPECT_EQ(where([] { epsilon_for_answers(1, delta, 0); }), "answers");
    EXPECT_EQ(where([] { epsilon_for_answers(0, delta, 1); }), "epsilon");
}

}  // namespace total_route_test
}  // namespace holdfast
