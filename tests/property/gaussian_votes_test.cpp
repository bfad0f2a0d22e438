// Votes with normal noise: their laws against brute force, and their privacy by the most powerful test of
// every pair of neighbours: for every set O of outcomes P(O) <= Phi(Phi^-1(P'(O)) + mu), which is what
// mu-Gaussian differential privacy says (Dong, Roth, Su 2022).

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/mechanisms/gaussian_votes.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace {

using Votes = std::vector<std::int64_t>;
using Law = std::vector<double>;

double below(double x) {
    return std::erfc(-x / std::sqrt(2.0)) / 2;
}

double normal_quantile(double p) {
    double low = -40, high = 40;
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (below(middle) < p ? low : high) = middle;
    }
    return high;
}

Rational exact_mu_of(double epsilon, double delta) {
    return gaussian_mu(decimal_value(epsilon, ""), decimal_value(delta, ""));
}
double mu_of(double epsilon, double delta) {
    return exact_mu_of(epsilon, delta).get_d();
}

Mechanism confident(double epsilon, double delta, std::size_t classes, std::int64_t members,
                    std::optional<double> threshold = std::nullopt) {
    MechanismParameters parameters{epsilon, delta, static_cast<int>(classes), 0, members};
    parameters.threshold = threshold;
    return Mechanism("confident_argmax", parameters);
}

Evidence of_votes(const Votes& votes) {
    Evidence evidence;
    evidence.classes = static_cast<int>(votes.size());
    evidence.votes = votes;
    return evidence;
}

/// All ways in which so many members can vote.
std::vector<Votes> all_votes(std::size_t classes, std::int64_t members) {
    if (classes == 1) return {{members}};
    std::vector<Votes> all;
    for (std::int64_t first = 0; first <= members; ++first) {
        for (Votes& rest : all_votes(classes - 1, members - first)) {
            rest.insert(rest.begin(), first);
            all.push_back(std::move(rest));
        }
    }
    return all;
}

/// Those that one member's other vote leads to.
std::vector<Votes> neighbours_of(const Votes& votes) {
    std::vector<Votes> all;
    for (std::size_t from = 0; from < votes.size(); ++from) {
        for (std::size_t to = 0; votes[from] > 0 && to < votes.size(); ++to) {
            if (to == from) continue;
            all.push_back(votes);
            --all.back()[from];
            ++all.back()[to];
        }
    }
    return all;
}

/// The least mu for which the two laws are mu-GDP, this way: over all sets of outcomes.
double separation(const Law& p, const Law& q) {
    double greatest = 0;
    for (std::size_t set = 1; set + 1 < std::size_t{1} << p.size(); ++set) {
        double in_p = 0, in_q = 0, out_p = 0, out_q = 0;
        for (std::size_t i = 0; i < p.size(); ++i) {
            ((set >> i & 1) != 0 ? in_p : out_p) += p[i];
            ((set >> i & 1) != 0 ? in_q : out_q) += q[i];
        }
        // From whichever side keeps its digits.
        const auto quantile = [](double in, double out) {
            return in < out ? normal_quantile(in) : -normal_quantile(out);
        };
        if (in_p > 1e-200 && in_q > 1e-200 && out_p > 1e-200 && out_q > 1e-200)
            greatest = std::max(greatest, quantile(in_p, out_p) - quantile(in_q, out_q));
    }
    return greatest;
}

/// Over all votes of up to so many members, and all neighbours.
template <typename LawOf>
double greatest_separation(std::size_t classes, std::int64_t members, const LawOf& law_of) {
    double greatest = 0;
    for (const Votes& votes : all_votes(classes, members)) {
        for (const Votes& others : neighbours_of(votes))
            greatest = std::max(greatest, separation(law_of(votes), law_of(others)));
    }
    return greatest;
}

constexpr std::pair<double, double> prices[] = {{0.1, 1e-5}, {1, 1e-5}, {1, 0.05}, {8, 1e-6}, {20, 1e-3}};

TEST(GaussianVotes, TwoClassesAreTheIntegralOfOneNormal) {
    for (const auto& [epsilon, delta] : prices) {
        const Mechanism mechanism("gaussian_argmax", {epsilon, delta, 2, 0, 9});
        const double mu = mu_of(epsilon, delta);
        for (const std::int64_t first : {0, 4, 5, 9}) {
            const double lead = static_cast<double>(2 * first - 9);
            const Law law = mechanism.law(of_votes({first, 9 - first}));
            // sigma sqrt 2 = 2/mu
            EXPECT_NEAR(law[0], below(lead * mu / 2), 1e-12 * below(lead * mu / 2)) << epsilon << " " << lead;
            EXPECT_NEAR(law[1], below(-lead * mu / 2), 1e-12 * below(-lead * mu / 2));
        }
    }
}

TEST(GaussianVotes, SeveralClassesAreWhatEveryPairOfNoisesComesTo) {
    // Noise in steps of a fiftieth of sigma at most, a whole number of them to a vote: every pair of the
    // first two counts gone through.
    const double sigma = std::sqrt(2.0) / mu_of(2, 1e-2), steps = std::ceil(50 / sigma),
                 pitch = 1 / (sigma * steps);
    const int reach = static_cast<int>(7 / pitch);
    for (const Votes& votes : {Votes{3, 3, 3}, Votes{5, 3, 1}, Votes{9, 0, 0}, Votes{4, 4, 1}}) {
        const Mechanism mechanism("gaussian_argmax", {2, 1e-2, 3, 0, 9});
        Law expected(3, 0);
        for (int i = -reach; i <= reach; ++i) {
            for (int j = -reach; j <= reach; ++j) {
                const auto weight = [&](int k) {
                    return below((k + 0.5) * pitch) - below((k - 0.5) * pitch);
                };
                const double a = static_cast<double>(votes[0]) / sigma + i * pitch,
                             b = static_cast<double>(votes[1]) / sigma + j * pitch,
                             c = static_cast<double>(votes[2]) / sigma, both = weight(i) * weight(j),
                             third = both * below(c - std::max(a, b));
                const double share = std::abs(a - b) < 1e-9 ? 0.5 : a > b ? 1 : 0;
                expected[2] += third;
                expected[0] += (both - third) * share;
                expected[1] += (both - third) * (1 - share);
            }
        }
        const Law law = mechanism.law(of_votes(votes));
        for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(law[j], expected[j], 1e-4) << j;
    }
}

TEST(GaussianVotes, ManyEqualCountsHaveEqualChancesAndLawsKeepSmallOnes) {
    const Mechanism many("gaussian_argmax", {1, 1e-3, 100, 0, 100});
    for (const double p : many.law(of_votes(Votes(100, 1)))) EXPECT_NEAR(p, 0.01, 1e-13);
    const GaussianCounts thousands(gaussian_deviation(1, 2, 1), 4096);
    for (const double p : thousands.greatest(Votes(4096, 1))) ASSERT_NEAR(p * 4096, 1, 1e-12);
    const Mechanism sharp("gaussian_argmax", {100, 1e-3, 3, 0, 8});
    const Law law = sharp.law(of_votes({8, 0, 0}));
    const double alone = below(-8 * mu_of(100, 1e-3) / 2);  // against the first; the other never wins
    EXPECT_LT(alone, 1e-100);
    EXPECT_NEAR(law[1], alone, 0.01 * alone);
}

TEST(GaussianVotes, NoTestTellsNeighboursApartBetterThanMu) {
    for (const auto& [epsilon, delta] : prices) {
        const double mu = mu_of(epsilon, delta);
        for (const auto& [classes, members] :
             {std::pair<std::size_t, std::int64_t>{2, 1}, {2, 2}, {2, 7}, {3, 1}, {3, 4}, {4, 3}}) {
            const Mechanism argmax("gaussian_argmax",
                                   {epsilon, delta, static_cast<int>(classes), 0, members});
            const double found = greatest_separation(
                classes, members, [&](const Votes& votes) { return argmax.law(of_votes(votes)); });
            EXPECT_LE(found, mu * (1 + 1e-9)) << epsilon << " " << classes << " " << members;
            EXPECT_TRUE(classes > 2 || found > mu * (1 - 1e-9)) << "of two classes all is spent: " << found;
            for (const double threshold : {0.5, 0.7}) {
                const Mechanism mechanism = confident(epsilon, delta, classes, members, threshold);
                EXPECT_LE(
                    greatest_separation(classes, members,
                                        [&](const Votes& votes) { return mechanism.law(of_votes(votes)); }),
                    mu * (1 + 1e-9))
                    << epsilon << " " << classes << " " << members << " " << threshold;
            }
        }
    }
}

TEST(GaussianVotes, EveryAnswerKeepsToItsEpsilonAndDelta) {
    for (const char* name : {"gaussian_argmax", "confident_argmax"}) {
        for (const auto& [epsilon, delta] : prices) {
            const Mechanism mechanism(name, {epsilon, delta, 3, 0, 4});
            for (const Votes& votes : all_votes(3, 4)) {
                for (const Votes& others : neighbours_of(votes)) {
                    ASSERT_TRUE(test::is_private(mechanism.exact_law(of_votes(votes)),
                                                 mechanism.exact_law(of_votes(others)), mechanism.epsilon(),
                                                 mechanism.delta() * Rational(1'000'000'001, 1'000'000'000)))
                        << name << " " << epsilon;
                }
            }
        }
    }
}

TEST(WrongVotes, NoiseForOneCountOnBothIsFound) {
    const double mu = mu_of(1, 1e-5);
    const GaussianCounts little(gaussian_deviation(exact_mu_of(1, 1e-5), 1, 1), 7);
    EXPECT_GT(greatest_separation(2, 7, [&](const Votes& votes) { return little.greatest(votes); }),
              1.4 * mu);
}

TEST(WrongVotes, ATestThatIsNotPaidForIsFound) {
    // All of mu^2 for the greatest count, and again for the test.
    const double mu = mu_of(1, 1e-5);
    const Rational exact = exact_mu_of(1, 1e-5);
    const GaussianCounts counts(gaussian_deviation(exact, 2, 1), 2), test(gaussian_deviation(exact, 1, 1), 2);
    const auto law_of = [&](const Votes& votes) {
        Law law = counts.greatest(votes);
        const double lead = static_cast<double>(std::max(votes[0], votes[1])) - 1.5;
        for (double& p : law) p *= below(lead / test.sigma());
        law.push_back(below(-lead / test.sigma()));
        return law;
    };
    EXPECT_GT(greatest_separation(2, 2, law_of), 1.01 * mu);
}

TEST(ConfidentVotes, RefuseHalfWhereTheGreatestCountIsTheThreshold) {
    const auto refusal = [](double threshold, const Votes& votes) {
        const Mechanism mechanism = confident(1, 1e-3, votes.size(), 10, threshold);
        return mechanism.law(of_votes(votes)).back();
    };
    EXPECT_DOUBLE_EQ(refusal(0.7, {7, 3}), 0.5);
    EXPECT_DOUBLE_EQ(refusal(0.7, {0, 7, 3}), 0.5);
    EXPECT_DOUBLE_EQ(refusal(0, {10, 0}), below(-10 * mu_of(1, 1e-3) / std::sqrt(5.0)));
    EXPECT_DOUBLE_EQ(refusal(1, {10, 0}), 0.5);
    EXPECT_GT(refusal(0.7, {5, 5}), 0.5);
    const Mechanism unset = confident(1, 1e-3, 2, 10);
    EXPECT_EQ(unset.law(of_votes({8, 2})).back(), refusal(0.7, {8, 2}));
    EXPECT_EQ(unset.outcomes(), 3U);
}

TEST(ConfidentVotes, AnswerLikeTheArgmaxOfFourFifths) {
    const double mu = mu_of(1, 1e-3);
    const Mechanism mechanism = confident(1, 1e-3, 2, 10);
    for (const std::int64_t first : {5, 6, 10}) {
        const Law law = mechanism.law(of_votes({first, 10 - first}));
        const double lead = static_cast<double>(2 * first - 10);
        EXPECT_NEAR(law[0] / (law[0] + law[1]), below(lead * mu * std::sqrt(0.8) / 2), 1e-12);
    }
}

// Refusals and labels as often as the law says, at counts on and beside the threshold.
TEST(ConfidentVotes, AreDrawnByTheirLaw) {
    constexpr int draws = 200000;
    test::SeededBits bits(31);
    for (const double threshold : {0.5, 0.6, 1.0}) {
        const Mechanism mechanism = confident(3, 1e-2, 2, 5, threshold);
        for (const std::int64_t first : {3, 5}) {
            std::vector<double> counts(3, 0);
            for (int i = 0; i < draws; ++i) {
                const int label = mechanism.draw(of_votes({first, 5 - first}), bits);
                ++counts[label == refused ? 2 : static_cast<std::size_t>(label)];
            }
            const Law law = mechanism.law(of_votes({first, 5 - first}));
            for (std::size_t j = 0; j < 3; ++j)
                EXPECT_GT(test::log_false_alarm(counts[j], draws, law[j]), std::log(1e-12)) << j;
        }
    }
}

TEST(GaussianCounts, HaveTheDeviationTheyAreAskedForAndNoLess) {
    for (const auto& [epsilon, delta, members] :
         {std::tuple<double, double, std::int64_t>{1e-6, 1e-30, 1 << 20},
          {1e-6, 0.5, 1},
          {1, 1e-5, 250},
          {1000, 0.99, 1 << 20},
          {1000, 1e-30, 3}}) {
        const Rational deviation = gaussian_deviation(exact_mu_of(epsilon, delta), 2, 1);
        const GaussianCounts counts(deviation, members);
        EXPECT_GE(Rational(counts.sigma()), deviation);
        EXPECT_LE(Rational(counts.sigma()), deviation * (1 + Rational(1, power_of_two(50))));
        EXPECT_GE(deviation.get_d() * mu_of(epsilon, delta), std::sqrt(2.0) * (1 - 1e-15));
        // A count and noise of a few sigma stay far from the ends.
        const double unit = static_cast<double>(counts.in_units(1));
        EXPECT_LE(static_cast<double>(members) * unit, 0x1p60);
        EXPECT_LE(counts.sigma() * unit, 0x1p55);
        EXPECT_GE(counts.sigma() * unit, 0x1p30) << "ties would show";
        test::SeededBits bits(7);
        for (int i = 0; i < 100; ++i) {
            const std::int64_t drawn = counts.draw(members, bits);
            EXPECT_NEAR(static_cast<double>(drawn), static_cast<double>(members) * unit,
                        8 * counts.sigma() * unit);
        }
    }
}

}  // namespace
}  // namespace holdfast
