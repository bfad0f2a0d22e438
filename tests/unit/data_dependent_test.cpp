// The bound that looks at the votes, against Renyi divergences computed from the laws of every vote and of
// all its neighbours.

#include "models/privacy/pate/data_dependent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"

namespace holdfast {
namespace {

using Votes = std::vector<std::int64_t>;
using Law = std::vector<double>;

Evidence of_votes(const Votes& votes) {
    Evidence evidence;
    evidence.classes = static_cast<int>(votes.size());
    evidence.votes = votes;
    return evidence;
}

double divergence(double order, const Law& p, const Law& q) {
    std::vector<double> logs;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (p[i] > 0) logs.push_back(order * std::log(p[i]) + (1 - order) * std::log(q[i]));
    }
    const double greatest = *std::max_element(logs.begin(), logs.end());
    double sum = 0;
    for (const double log : logs) sum += std::exp(log - greatest);
    return (greatest + std::log(sum)) / (order - 1);
}

double otherwise(const Law& law) {
    Law others = law;
    others.erase(std::max_element(others.begin(), others.end()));
    double sum = 0;
    for (const double p : others) sum += p;
    return sum;
}

/// Two or three classes and ten members.
std::vector<Votes> all_votes(std::size_t classes) {
    constexpr std::int64_t members = 10;
    std::vector<Votes> all;
    for (std::int64_t first = 0; first <= members; ++first) {
        if (classes == 2) all.push_back({first, members - first});
        for (std::int64_t second = 0; classes == 3 && second <= members - first; ++second)
            all.push_back({first, second, members - first - second});
    }
    return all;
}

struct DataDependentTest : testing::TestWithParam<const char*> {};

TEST_P(DataDependentTest, IsNeverBelowTheDivergenceFromAnyNeighbour) {
    std::size_t compared = 0, gained = 0;
    for (const std::size_t classes : {2, 3}) {
        for (const double epsilon : {0.5, 2.0, 8.0, 40.0}) {
            const Mechanism mechanism(GetParam(), {epsilon, 1e-3, static_cast<int>(classes), 0, 10});
            const double mu = mechanism.mu().get_d();
            for (const Votes& votes : all_votes(classes)) {
                const Law law = mechanism.law(of_votes(votes));
                for (const double order : {1.25, 2.0, 5.0, 17.0, 64.0}) {
                    const double bound = data_dependent_divergence(order, mu, otherwise(law));
                    EXPECT_LE(bound, order * mu * mu / 2 * (1 + 1e-12));
                    gained += bound < order * mu * mu / 2;
                    for (std::size_t from = 0; from < classes; ++from) {
                        for (std::size_t to = 0; to < classes; ++to) {
                            if (from == to || votes[from] == 0) continue;
                            Votes others = votes;
                            --others[from];
                            ++others[to];
                            const Law other = mechanism.law(of_votes(others));
                            if (*std::min_element(other.begin(), other.end()) < 1e-280) continue;
                            ASSERT_GE(bound * (1 + 1e-9), divergence(order, law, other))
                                << epsilon << " order " << order << " votes " << votes[0] << " " << votes[1];
                            ++compared;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(compared, 5000U);
    EXPECT_GT(gained, 20U) << "the bound is of use somewhere";
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, DataDependentTest,
                         testing::Values("gaussian_argmax", "confident_argmax"));

TEST(DataDependentCost, RisesWithDoubtAndFallsToNearlyNothing) {
    const double mu = 0.05;
    double last = 0;
    for (const double q : {0.0, 1e-300, 1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.5, 1.0}) {
        const double bound = data_dependent_divergence(8, mu, q);
        EXPECT_GE(bound, last) << q;
        last = bound;
    }
    EXPECT_LT(data_dependent_divergence(8, mu, 1e-30), 1e-20);
    EXPECT_EQ(last, 8 * mu * mu / 2);
}

// q = 1e-12, variance 800, order 8: the published analysis's own code gives this figure.
TEST(DataDependentCost, IsTheTheoremsFormula) {
    const double mu = 0.05, q = 1e-12, order = 8, variance = 2 / (mu * mu);
    const double second = std::sqrt(variance * -std::log(q)), first = second + 1;
    const double a = (1 - q) / (1 - std::pow(q * std::exp(second / variance), (second - 1) / second)),
                 b = std::exp(first / variance) / std::pow(q, 1 / (first - 1));
    const double expected =
        std::log((1 - q) * std::pow(a, order - 1) + q * std::pow(b, order - 1)) / (order - 1);
    EXPECT_NEAR(data_dependent_divergence(order, mu, q), expected, 1e-4 * expected);
}

TEST(DataDependentCost, OfAnswersAddsUpAndIsConverted) {
    DataDependentCost unsure(0.1), sure(0.1), none(0.1);
    for (int i = 0; i < 50; ++i) {
        unsure.add({0.5, 0.5});
        sure.add({1 - 1e-40, 1e-40});
    }
    EXPECT_EQ(unsure.answers(), 50);
    DataDependentCost at_once(0.1);
    at_once.add({0.5, 0.5}, 50);
    EXPECT_EQ(at_once.answers(), 50);
    EXPECT_NEAR(at_once.epsilon(Rational(1, 100000)), unsure.epsilon(Rational(1, 100000)), 1e-6);
    const Rational delta(1, 100000);
    const double any =
        epsilon_of_renyi_curve(renyi_curve_of_concentrated(Rational(1, 200) * 50), delta).get_d();
    EXPECT_NEAR(unsure.epsilon(delta), any, 1e-5 * any);
    EXPECT_LT(sure.epsilon(delta), 0.1 * any);
    EXPECT_GE(sure.epsilon(delta), 0);
    EXPECT_LE(none.epsilon(delta), sure.epsilon(delta));
    EXPECT_FALSE(DataDependentCost::guarantee().is_proved());
}

}  // namespace
}  // namespace holdfast
