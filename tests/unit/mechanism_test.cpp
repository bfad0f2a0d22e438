#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <random>

#include "kernels/base/error.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/mechanisms/flip_law.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace {

Evidence at_distance(std::int64_t distance, int classes = 2, int label = 0) {
    Evidence evidence;
    evidence.classes = classes;
    evidence.label = label;
    evidence.distance = distance;
    return evidence;
}

MechanismParameters parameters(double epsilon, double delta = 0, int classes = 2, std::int64_t cap = 100) {
    return {epsilon, delta, classes, cap, 0};
}

double flip(const Mechanism& mechanism, std::int64_t h) {
    return mechanism.law(at_distance(h))[1];
}

/// Relative: probabilities here go down to 1e-20.
void expect_close(double actual, double expected) {
    EXPECT_NEAR(actual, expected, 1e-12 * expected);
}

ExitCode code_of(const std::string& name, const MechanismParameters& parameters) {
    try {
        Mechanism mechanism(name, parameters);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        EXPECT_FALSE(error.where().empty());
        return error.code();
    }
    return ExitCode::success;
}

TEST(Mechanisms, StableRandomisedResponseIsItsFormula) {
    for (const double epsilon : {0.01, 0.1, 1.0, 5.0}) {
        const Mechanism mechanism("stable_rr", parameters(epsilon));
        for (const int h : {0, 1, 2, 10, 40, 100}) {
            const double expected = std::exp(-epsilon * h) / (1 + std::exp(epsilon));
            if (expected > 1e-20) expect_close(flip(mechanism, h), expected);
        }
    }
}

TEST(Mechanisms, StableRandomisedResponseWithDeltaReachesExactlyZeroAtTheStatedDistance) {
    for (const double epsilon : {0.05, 0.3, 1.0}) {
        for (const double delta : {1e-6, 1e-3, 0.1}) {
            const Mechanism mechanism("stable_rr", parameters(epsilon, delta, 2, 2000));
            const double exact = std::log1p((1 - delta) / delta * std::tanh(epsilon / 2)) / epsilon;
            const auto first_zero = static_cast<std::int64_t>(std::ceil(exact));
            EXPECT_EQ(flip(mechanism, first_zero), 0);
            EXPECT_GT(flip(mechanism, first_zero - 1), 0);
            expect_close(flip(mechanism, 0), (1 - delta) / (1 + std::exp(epsilon)));
        }
    }
}

TEST(Mechanisms, SeveralClassesFollowTheRecursion) {
    for (const int classes : {3, 10, 1000}) {
        for (const double delta : {0.0, 1e-4}) {
            const double epsilon = 0.5, growth = std::exp(epsilon);
            const Mechanism mechanism("stable_rr", parameters(epsilon, delta, classes, 60));
            double stay = (growth + delta * (classes - 1)) / (growth + classes - 1);
            for (int h = 0; h < 60; ++h) {
                const std::vector<double> law = mechanism.law(at_distance(h, classes, classes - 1));
                ASSERT_NEAR(law.back(), stay, 1e-9) << classes << " " << delta << " " << h;
                ASSERT_EQ(law.front(), law[1]);
                stay = std::min({1.0, growth * stay + delta, 1 - (1 - stay - delta) / growth});
            }
        }
    }
}

// The smallest epsilon and most classes that there may be have room; beside half of 2^128 for each of two
// there is none.
TEST(Mechanisms, RoundingTheFirstEntryUpHasRoom) {
    EXPECT_NO_THROW(Mechanism("stable_rr", parameters(1e-6, 0, 4096, 1)));
    EXPECT_NO_THROW(Mechanism("one_record_rr", parameters(1e-6, 0, 4096, 1)));
    const Integer half = power_of_two(127), beyond = half + 1;
    const Rational epsilon(1, power_of_two(130));
    EXPECT_NO_THROW(least_flip_table(half, epsilon, 0, 2, 1));
    EXPECT_THROW(least_flip_table(beyond, epsilon, 0, 2, 1), Error);
}

TEST(Mechanisms, PublishedFlipLawsAreTheirFormulas) {
    const double epsilon = 0.7, delta = 1e-5;
    const Mechanism cauchy("cauchy", parameters(epsilon)), global("laplace_global", parameters(epsilon)),
        smooth("laplace_smooth", parameters(epsilon, delta)), sparse("paper_sparse", parameters(epsilon));
    const double beta = epsilon / (2 * std::log(2 / delta));
    for (const int h : {0, 1, 5, 20}) {
        const double scale = 6 * std::exp(-epsilon * h / 6) / epsilon;
        expect_close(flip(cauchy, h), std::atan(2 * scale) / std::numbers::pi);
        expect_close(flip(global, h), std::exp(-epsilon / 2) / 2);
        expect_close(flip(smooth, h), std::exp(-epsilon / (4 * std::exp(-beta * h))) / 2);
        Evidence evidence = at_distance(0);
        evidence.sparse_distance = h;
        EXPECT_EQ(sparse.law(evidence)[1], flip(cauchy, h));
    }
}

TEST(Mechanisms, AccuracyOnCertifiedQueriesMatchesTheTableOfTheDesign) {
    expect_close(1 - flip(Mechanism("laplace_global", parameters(0.1)), 0), 1 - std::exp(-0.05) / 2);
    EXPECT_NEAR(1 - flip(Mechanism("laplace_global", parameters(0.3)), 0), 0.570, 5e-4);
    EXPECT_NEAR(1 - flip(Mechanism("laplace_global", parameters(0.1)), 0), 0.524, 5e-4);
    EXPECT_GT(1 - flip(Mechanism("stable_rr", parameters(0.1)), 100), 0.9999);
}

TEST(Mechanisms, OneRecordResponseIsUniformUntilTheLabelWithstandsOneRecord) {
    for (const double epsilon : {0.1, 2.0, 8.0}) {
        for (const int classes : {2, 3, 10}) {
            const Mechanism mechanism("one_record_rr", parameters(epsilon, 0, classes));
            const double share = 1.0 / classes;
            const double stay =
                std::min(1 - (classes - 1) * std::exp(-epsilon) * share, std::exp(epsilon) * share);
            expect_close(mechanism.law(at_distance(0, classes, 1))[1], share);
            for (const int h : {1, 2, 100}) expect_close(mechanism.law(at_distance(h, classes, 1))[1], stay);
        }
    }
}

TEST(Mechanisms, ProposeTestReleaseRefusesMoreOftenNearTheBoundary) {
    const double epsilon = 0.5, delta = 1e-4;
    const Mechanism ptr("ptr", parameters(epsilon, delta, 3));
    EXPECT_EQ(ptr.outcomes(), 4U);
    const double threshold = std::log(1 / (2 * delta)) / epsilon;
    for (const int h : {0, 1, 10, 17, 18, 30}) {
        const std::vector<double> law = ptr.law(at_distance(h, 3, 1));
        const double away = threshold - h;
        const double release = away >= 0 ? std::exp(-epsilon * away) / 2 : 1 - std::exp(epsilon * away) / 2;
        EXPECT_NEAR(law[1], release, 1e-12 * release);
        EXPECT_NEAR(law[3], 1 - release, 1e-12);
        EXPECT_EQ(law[0] + law[2], 0);
    }
}

TEST(Mechanisms, ClassDistancesGiveTheExponentialAndPermuteAndFlipLaws) {
    const double epsilon = 0.8;
    Evidence evidence = at_distance(2, 3, 1);
    evidence.class_distances = {3, 0, 7};
    const std::vector<double> exponential =
        Mechanism("class_exponential", parameters(epsilon, 0, 3)).law(evidence);
    const std::vector<double> permute =
        Mechanism("permute_and_flip", parameters(epsilon, 0, 3)).law(evidence);
    const double a = std::exp(-epsilon * 1.5), b = std::exp(-epsilon * 3.5), sum = 1 + a + b;
    expect_close(exponential[0], a / sum);
    expect_close(exponential[2], b / sum);
    // a integral of (1 - t)(1 - b t) dt
    expect_close(permute[0], a * (1 - (1 + b) / 2 + b / 3));
    expect_close(permute[1], 1 - (a + b) / 2 + a * b / 3);
    EXPECT_GT(permute[1], exponential[1]);
}

TEST(Mechanisms, ManyClassesKeepLawsThatSumToOne) {
    const int classes = 200;
    Evidence evidence = at_distance(0, classes, 3);
    evidence.class_distances.assign(classes, 1);
    evidence.class_distances[3] = 0;
    evidence.votes.assign(classes, 1);
    for (const MechanismInfo& info : mechanism_table()) {
        if (info.binary_only) continue;
        const Mechanism mechanism(info.name, {1.0, info.needs_delta ? 1e-3 : 0.0, classes, 10, classes});
        const std::vector<double> law = mechanism.law(evidence);
        EXPECT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1, 1e-12) << info.name;
    }
}

TEST(Mechanisms, NoisyArgmaxIsCloseToItsContinuousLaw) {
    // Difference of two Laplace variables of scale 2/epsilon; the discrete noise differs by O(epsilon^2).
    const double epsilon = 0.05;
    const Mechanism mechanism("noisy_argmax", {epsilon, 0, 2, 0, 100});
    for (const std::int64_t lead : {0, 10, 40, 100}) {
        Evidence evidence = at_distance(0);
        evidence.votes = {(100 + lead) / 2, (100 - lead) / 2};
        const double scaled = static_cast<double>(lead) * epsilon / 2;
        EXPECT_NEAR(mechanism.law(evidence)[1], (2 + scaled) / 4 * std::exp(-scaled), 1e-3);
    }
}

/// What answers at moved queries rest on (models/mathematics.md, joint distance).
TEST(Mechanisms, ThatAskForDistancesGiveTheLabelNoLessOftenFartherAway) {
    std::mt19937_64 engine(6);
    for (const MechanismInfo& info : mechanism_table()) {
        if (info.needs_votes || info.needs_sparse_levels || !info.releasable()) continue;
        for (const int classes : {2, 4}) {
            if (info.binary_only && classes > 2) continue;
            for (const double epsilon : {0.1, 3.0}) {
                const Mechanism mechanism(info.name, {epsilon, info.needs_delta ? 1e-3 : 0.0, classes, 10});
                for (int trial = 0; trial < 40; ++trial) {
                    Evidence near = at_distance(0, classes, 1), far = near;
                    std::int64_t least_near = 11, least_far = 11;
                    for (int j = 0; j < classes; ++j) {
                        const auto first = static_cast<std::int64_t>(j == 1 ? 0 : engine() % 12);
                        const auto then = std::min<std::int64_t>(
                            11, first + (j == 1 ? 0 : static_cast<std::int64_t>(engine() % 4)));
                        near.class_distances.push_back(first);
                        far.class_distances.push_back(then);
                        if (j != 1) least_near = std::min(least_near, first);
                        if (j != 1) least_far = std::min(least_far, then);
                    }
                    near.distance = std::max<std::int64_t>(0, least_near - 1);
                    far.distance = std::max<std::int64_t>(0, least_far - 1);
                    EXPECT_GE(mechanism.law(far)[1], mechanism.law(near)[1] - 1e-12)
                        << info.name << " at " << near.distance << " and " << far.distance;
                }
            }
        }
    }
}

TEST(Mechanisms, ExactLawsAreLawsAndAgreeWithTheDoubles) {
    Evidence evidence = at_distance(2, 3, 1);
    evidence.class_distances = {3, 0, 5};
    evidence.votes = {1, 3, 0};
    for (const MechanismInfo& info : mechanism_table()) {
        if (info.binary_only) continue;
        const Mechanism mechanism(info.name, {2.0, info.needs_delta ? 1e-3 : 0.0, 3, 10, 4});
        const std::vector<Rational> exact = mechanism.exact_law(evidence);
        const std::vector<double> law = mechanism.law(evidence);
        Rational sum = 0;
        ASSERT_EQ(exact.size(), mechanism.outcomes());
        for (std::size_t i = 0; i < law.size(); ++i) {
            EXPECT_GE(exact[i], 0);
            EXPECT_NEAR(exact[i].get_d(), law[i], 1e-14) << info.name;
            sum += exact[i];
        }
        EXPECT_EQ(sum, 1) << info.name;
    }
}

TEST(Mechanisms, EpsilonMeansItsDecimal) {
    EXPECT_EQ(Mechanism("stable_rr", parameters(0.1)).epsilon() * 10, 1);
}

TEST(Mechanisms, IllegalNumbersAreRefused) {
    const double nan = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
    for (const double epsilon : {nan, infinity, -infinity, 0.0, -0.0, -1.0, 1e-7, 1001.0, 1e300}) {
        EXPECT_EQ(code_of("stable_rr", parameters(epsilon)), ExitCode::usage) << epsilon;
    }
    for (const double delta : {nan, infinity, -1e-9, 1.0, 2.0, 1e-31}) {
        EXPECT_EQ(code_of("stable_rr", parameters(1, delta)), ExitCode::usage) << delta;
    }
    for (const int classes : {-1, 0, 1, 4097})
        EXPECT_EQ(code_of("stable_rr", parameters(1, 0, classes)), ExitCode::usage);
    EXPECT_EQ(code_of("stable_rr", parameters(1, 0, 2, -1)), ExitCode::usage);
    EXPECT_EQ(code_of("noisy_argmax", {1, 0, 2, 10, -5}), ExitCode::usage);
    EXPECT_EQ(code_of("stable_rr", parameters(1000)), ExitCode::success);
    EXPECT_EQ(code_of("stable_rr", parameters(1e-6)), ExitCode::success);
    EXPECT_EQ(code_of("stable_rr", parameters(1, 0.999)), ExitCode::success);
}

TEST(Mechanisms, MisfitsAreRefusedByName) {
    EXPECT_EQ(code_of("gauss", parameters(1)), ExitCode::usage);
    for (const MechanismInfo& info : mechanism_table()) {
        const double delta = info.needs_delta ? 1e-6 : 0;
        EXPECT_EQ(code_of(info.name, {1, delta, 2, 10, 5}), ExitCode::success) << info.name;
        EXPECT_EQ(code_of(info.name, {1, 1e-6, 2, 10, 5}),
                  info.takes_delta ? ExitCode::success : ExitCode::usage);
        EXPECT_EQ(code_of(info.name, {1, 0, 2, 10, 5}),
                  info.needs_delta ? ExitCode::usage : ExitCode::success);
        EXPECT_EQ(code_of(info.name, {1, delta, 3, 10, 5}),
                  info.binary_only ? ExitCode::usage : ExitCode::success)
            << info.name;
        EXPECT_EQ(code_of(info.name, {1, delta, 2, 10, 0}),
                  info.needs_votes ? ExitCode::usage : ExitCode::success)
            << info.name;
        EXPECT_NE(mechanism_help().find(info.name), std::string::npos);
    }
}

TEST(Mechanisms, WhatARunHasNotIsNamed) {
    const AvailableEvidence all{2, true, true, true, true};
    for (const MechanismInfo& info : mechanism_table()) {
        EXPECT_FALSE(misfit(info, all)) << info.name;
        EXPECT_EQ(misfit(info, {3, true, true, true, true}).has_value(), info.binary_only) << info.name;
        EXPECT_EQ(misfit(info, {2, false, true, true, true}).has_value(), info.needs_votes) << info.name;
        EXPECT_EQ(misfit(info, {2, true, false, true, true}).has_value(), info.needs_class_distances)
            << info.name;
        EXPECT_EQ(misfit(info, {2, true, true, false, true}).has_value(), info.needs_sparse_levels)
            << info.name;
        EXPECT_EQ(misfit(info, {2, true, true, true, false}).has_value(), info.needs_leave_one_out)
            << info.name;
        EXPECT_EQ(info.takes_delta || !info.needs_delta, true) << info.name;
    }
    const std::string hint = misfit(mechanism_info("cauchy"), {3, true, true, true})->hint();
    EXPECT_NE(hint.find("class_exponential, permute_and_flip"), std::string::npos) << hint;
    EXPECT_EQ(hint.find("paper_sparse"), std::string::npos) << hint;
    EXPECT_STREQ(default_mechanism().name, "stable_rr");
}

TEST(Mechanisms, EvidenceThatDoesNotFitIsRefused) {
    const Mechanism flip("stable_rr", parameters(1)), distances("class_exponential", parameters(1)),
        votes("noisy_argmax", {1, 0, 2, 10, 5});
    Evidence evidence = at_distance(101);
    EXPECT_THROW(flip.law(evidence), Error);
    evidence.distance = -1;
    EXPECT_THROW(flip.law(evidence), Error);
    evidence = at_distance(3, 3);
    EXPECT_THROW(flip.law(evidence), Error);
    evidence = at_distance(3, 2, 2);
    EXPECT_THROW(flip.law(evidence), Error);
    evidence = at_distance(3);
    EXPECT_THROW(distances.law(evidence), Error);
    EXPECT_THROW(votes.law(evidence), Error);
    evidence.class_distances = {1, 0};  // the label's own is not 0
    EXPECT_THROW(distances.law(evidence), Error);
    evidence.votes = {3, 3};
    EXPECT_THROW(votes.law(evidence), Error);
    evidence.votes = {6, -1};
    EXPECT_THROW(votes.law(evidence), Error);
}

TEST(Mechanisms, HugeDistancesAndCapsStayFlipsWithPositiveProbability) {
    const std::int64_t cap = std::int64_t{1} << 40;
    for (const double epsilon : {0.001, 1.0, 1000.0}) {
        const Mechanism mechanism("stable_rr", parameters(epsilon, 0, 2, cap));
        EXPECT_GT(mechanism.exact_law(at_distance(cap))[1], 0);  // pure privacy never reaches 0
        EXPECT_LT(flip(mechanism, cap), 1e-20);
    }
}

TEST(Mechanisms, DrawsTakeTheSameBitsWhateverTheEvidence) {
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.releasable()) continue;
        const Mechanism mechanism(info.name, {1.0, info.needs_delta ? 1e-3 : 0.0, 2, 50, 9});
        const bool normal_noise =
            info.gaussian && info.needs_votes;  // as many as the bits themselves ask for
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            std::size_t first = 0;
            for (const std::int64_t h : {0, 1, 49}) {
                Evidence evidence = at_distance(h, 2, h % 2 == 0 ? 0 : 1);
                evidence.class_distances = {h + 1, h + 1};
                evidence.class_distances[static_cast<std::size_t>(evidence.label)] = 0;
                evidence.votes = {h % 10, 9 - h % 10};
                test::SeededBits bits(seed), others(0);
                mechanism.draw(evidence, bits);
                mechanism.draw(evidence, others);
                if (first == 0) first = bits.drawn();
                ASSERT_EQ(bits.drawn(), first) << info.name;
                ASSERT_TRUE(normal_noise || others.drawn() == first) << info.name;
            }
        }
    }
}

TEST(Mechanisms, AThresholdIsAFractionForThoseThatTakeOne) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const MechanismInfo& info : mechanism_table()) {
        MechanismParameters asked{1, info.needs_delta ? 1e-6 : 0, 2, 10, 5};
        for (const double threshold : {0.0, 0.6, 1.0}) {
            asked.threshold = threshold;
            EXPECT_EQ(code_of(info.name, asked), info.takes_threshold ? ExitCode::success : ExitCode::usage);
        }
        for (const double threshold : {nan, -1e-9, 1.0000001, 1e300}) {
            asked.threshold = threshold;
            EXPECT_EQ(code_of(info.name, asked), ExitCode::usage) << threshold;
        }
    }
}

TEST(Mechanisms, WhatIsNotPrivateIsNeverDrawnAndSaysSo) {
    const Mechanism mechanism("paper_sparse", parameters(1));
    test::SeededBits bits(1);
    EXPECT_THROW(mechanism.draw(at_distance(0), bits), Error);
    EXPECT_EQ(mechanism.guarantee("add_remove").status(), "not differentially private");
    const Guarantee proved = Mechanism("stable_rr", parameters(1)).guarantee("substitute");
    EXPECT_EQ(proved.status(), "proved");
    EXPECT_EQ(proved.to_json()["relation"], "substitute");
    EXPECT_THROW(mechanism.guarantee("remove"), Error);
}

}  // namespace
}  // namespace holdfast
