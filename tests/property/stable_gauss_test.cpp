// stable_gauss: no pair of neighbours is told apart better than two normal laws mu apart, by the exact laws
// that are drawn, alone and composed; and none of that is given away.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"

namespace holdfast {
namespace stable_gauss_test {

using Law = std::vector<Rational>;

Mechanism with_mu(double mu, int classes, std::int64_t cap) {
    return Mechanism("stable_gauss", {0, 0, classes, cap, 0, mu});
}

Law law_at(const Mechanism& mechanism, std::int64_t distance, int label) {
    Evidence evidence;
    evidence.classes = mechanism.parameters().classes;
    evidence.label = label;
    evidence.distance = distance;
    return mechanism.exact_law(evidence);
}

/// max(0, p - e^epsilon q), summed, from below.
Rational exceeds(const Law& p, const Law& q, const Rational& epsilon) {
    const Rational factor = exp_upper(epsilon);
    Rational delta = 0;
    for (std::size_t i = 0; i < p.size(); ++i) delta += std::max(Rational(0), Rational(p[i] - factor * q[i]));
    return delta;
}

/// Neyman and Pearson: is (1 - power, level) of every likelihood ratio test no better than between N(0, 1)
/// and N(mu, 1)? Its least type II error at level a is Phi(Phi^-1(1 - a) - mu): with a >= Phi(-z) that is at
/// least Phi(z - mu).
bool within_gaussian(Law p, Law q, const Rational& mu) {
    std::vector<std::size_t> order(p.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return q[a] * p[b] > q[b] * p[a]; });
    Rational level = 0, missed = 1;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        level += p[order[i]];
        missed -= q[order[i]];
        const std::size_t here = order[i], next = order[i + 1];
        if (q[here] * p[next] == q[next] * p[here]) continue;  // between them the errors lie on a line
        // The least z, to 2^-60, with Phi(-z) <= level.
        Rational low = -40, high = 40;
        while (high - low > Rational(1, power_of_two(60))) {
            const Rational middle = (low + high) / 2;
            (normal_tail_upper(middle) <= level ? high : low) = middle;
        }
        // Both errors are multiples of 2^-128: what bisection leaves open is far below one part in 2^50.
        if (missed * (1 + Rational(1, power_of_two(50))) < normal_tail_lower(mu - low)) return false;
    }
    return true;
}

TEST(StableGauss, NoTestTellsNeighboursApartBetterThanTwoNormalLaws) {
    for (const double mu : {0.3, 4.0}) {
        for (const int classes : {2, 3, 1000}) {
            const Mechanism mechanism = with_mu(mu, classes, 40);
            const Rational exact = decimal_value(mu, "mu");
            ASSERT_TRUE(within_gaussian(law_at(mechanism, 0, 0), law_at(mechanism, 0, 1), exact))
                << mu << " " << classes;
            for (std::int64_t h = 0; h < 40; ++h) {
                const Law near = law_at(mechanism, h, 0), far = law_at(mechanism, h + 1, 0);
                ASSERT_TRUE(within_gaussian(near, far, exact)) << mu << " " << classes << " h " << h;
                ASSERT_TRUE(within_gaussian(far, near, exact)) << mu << " " << classes << " h " << h;
            }
        }
    }
}

TEST(StableGauss, ATestThatTellsMoreIsFound) {
    const Mechanism mechanism = with_mu(0.3, 3, 60);
    const Rational less = decimal_value(0.2999999, "mu");
    EXPECT_FALSE(within_gaussian(law_at(mechanism, 0, 0), law_at(mechanism, 0, 1), less));
    EXPECT_FALSE(within_gaussian(law_at(mechanism, 4, 0), law_at(mechanism, 5, 0), less));
    // Two steps at once.
    EXPECT_FALSE(within_gaussian(law_at(mechanism, 4, 0), law_at(mechanism, 6, 0), decimal_value(0.3, "mu")));
}

TEST(StableGauss, OfTwoClassesFlipsWithThePublishedLaw) {
    const Mechanism mechanism = with_mu(0.25, 2, 80);
    for (std::int64_t h = 0; h <= 40; ++h) {
        const double flip = std::erfc(0.25 * (static_cast<double>(h) + 0.5) / std::sqrt(2.0)) / 2;
        EXPECT_NEAR(law_at(mechanism, h, 0)[1].get_d() / flip, 1, 1e-9) << h;
    }
    EXPECT_LE(law_at(mechanism, 80, 0)[1], Rational(16, power_of_two(128)));
}

TEST(StableGauss, OfSeveralClassesKeepsTheLabelMoreOftenThanTheGreatestOfNoisyNumbers) {
    // u + N(0, 1/mu^2), u = h sqrt(C/(C-1)) + 1/sqrt 2 for the label: mu-Gaussian private too.
    const double mu = 0.5;
    for (const int classes : {3, 10}) {
        const Mechanism mechanism = with_mu(mu, classes, 20);
        for (const std::int64_t h : {0, 1, 5, 12}) {
            const double u =
                static_cast<double>(h) * std::sqrt(classes / (classes - 1.0)) + 1 / std::sqrt(2.0);
            double kept = 0;
            for (double z = -9; z < 9; z += 0.001)
                kept += 0.001 * std::exp(-z * z / 2) / std::sqrt(2 * M_PI) *
                        std::pow(std::erfc(-(z + mu * u) / std::sqrt(2.0)) / 2, classes - 1);
            EXPECT_GE(law_at(mechanism, h, 0)[0].get_d(), kept - 1e-6) << classes << " " << h;
        }
    }
}

TEST(StableGauss, AnEpsilonAndADeltaAreSpentWhole) {
    const Mechanism mechanism("stable_gauss", {0.5, 1e-3, 2, 60, 0});
    EXPECT_EQ(mechanism.mu(), gaussian_mu(Rational(1, 2), Rational(1, 1000)));
    Rational most = 0;
    for (std::int64_t h = 0; h < 60; ++h) {
        const Law near = law_at(mechanism, h, 0), far = law_at(mechanism, h + 1, 0);
        most = std::max({most, exceeds(near, far, Rational(1, 2)), exceeds(far, near, Rational(1, 2))});
    }
    EXPECT_LE(most, Rational(1, 1000));
    EXPECT_GE(most, Rational(9, 10000));  // but for h being a whole number
}

// Answers that follow each other: all combinations of three, chosen to be as bad as they can.
TEST(StableGauss, ThreeAnswersComposeAsNormalLawsDo) {
    const double mu = 0.7;
    const Mechanism mechanism = with_mu(mu, 2, 10);
    using Pair = std::pair<Law, Law>;
    std::vector<Pair> pairs{{law_at(mechanism, 0, 0), law_at(mechanism, 0, 1)}};
    for (std::int64_t h = 0; h < 3; ++h) {
        pairs.push_back({law_at(mechanism, h, 0), law_at(mechanism, h + 1, 0)});
        pairs.push_back({pairs.back().second, pairs.back().first});
    }
    const Rational all = sqrt_upper(3) * decimal_value(mu, "mu"),
                   two = sqrt_upper(2) * decimal_value(mu, "mu");
    bool two_would_do = true;
    for (const Pair& a : pairs) {
        for (const Pair& b : pairs) {
            for (const Pair& c : pairs) {
                Law p, q;
                for (int i = 0; i < 8; ++i) {
                    const std::size_t x = i & 1, y = i >> 1 & 1, z = i >> 2;
                    p.push_back(a.first[x] * b.first[y] * c.first[z]);
                    q.push_back(a.second[x] * b.second[y] * c.second[z]);
                }
                for (const double epsilon : {0.0, 0.1, 0.5, 1.0, 2.0, 4.0}) {
                    const Rational e = decimal_value(epsilon, "epsilon"), delta = exceeds(p, q, e);
                    ASSERT_LE(delta, gaussian_delta(all, e)) << epsilon;
                    two_would_do &= delta <= gaussian_delta(two, e);
                }
            }
        }
    }
    EXPECT_FALSE(two_would_do);
}

TEST(StableGauss, AnAmountIsGivenOnceAndOfItsKind) {
    EXPECT_THROW(Mechanism("stable_rr", {0, 0, 2, 5, 0, 0.1}), Error);
    EXPECT_THROW(Mechanism("stable_gauss", {0.1, 1e-6, 2, 5, 0, 0.1}), Error);
    EXPECT_THROW(Mechanism("stable_gauss", {0, 0, 2, 5, 0, std::nan("")}), Error);
    EXPECT_THROW(Mechanism("stable_gauss", {0, 0, 2, 5, 0, 1e-7}), Error);
    EXPECT_THROW(Mechanism("stable_gauss", {0.1, 0, 2, 5, 0}), Error);
    EXPECT_NE(with_mu(0.1, 2, 5).guarantee("add_remove").statement().find("0.1-Gaussian"), std::string::npos);
}

TEST(GaussianMuOfPure, IsThatOfRandomisedResponse) {
    for (const double epsilon : {1e-6, 0.1, 1.0, 5.0, 100.0}) {
        const Rational e = decimal_value(epsilon, "epsilon"), mu = gaussian_mu_of_pure(e);
        const Rational flip = 1 / (1 + exp_lower(e));
        EXPECT_LE(normal_tail_lower(mu / 2), flip);
        EXPECT_GE(normal_tail_upper(mu * (1 - Rational(1, power_of_two(39))) / 2), flip);
        // Randomised response is epsilon-private, and no less a Gaussian may be said of it.
        const Law there{1 - flip, flip}, back{flip, 1 - flip};
        EXPECT_TRUE(within_gaussian(there, back, mu)) << epsilon;
        EXPECT_FALSE(within_gaussian(there, back, mu * Rational(999, 1000))) << epsilon;
    }
    EXPECT_EQ(gaussian_mu_of_pure(0), 0);
    EXPECT_GE(gaussian_mu_of_pure(5000), gaussian_mu_of_pure(1000));
    EXPECT_THROW(gaussian_mu_of_pure(-1), Error);
}

}  // namespace stable_gauss_test
}  // namespace holdfast
