// The exact privacy loss of every mechanism over every pair of neighbouring evidence, in rational arithmetic:
// a pass is a proof for those parameters. Then: what the same check says of laws known to be wrong.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "models/privacy/aggregate.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/mechanisms/noise_table.hpp"
#include "tests/support/privacy_tester.hpp"

namespace holdfast {
namespace mechanism_privacy_test {

using test::is_private;
using test::privacy_loss;
using Law = std::vector<Rational>;

Evidence at_distance(std::int64_t distance, int classes, int label) {
    Evidence evidence;
    evidence.classes = classes;
    evidence.label = label;
    evidence.distance = distance;
    return evidence;
}

/// All neighbouring pairs of (label, h): |h - h'| <= 1, labels equal unless both distances are 0.
void expect_private_over_distances(const Mechanism& mechanism) {
    const int classes = mechanism.parameters().classes;
    const std::int64_t cap = mechanism.parameters().cap;
    const std::string name = mechanism.info().name + (" epsilon " + mechanism.epsilon().get_str());
    Law before = mechanism.exact_law(at_distance(0, classes, 0));
    ASSERT_TRUE(is_private(before, mechanism.exact_law(at_distance(0, classes, 1)), mechanism.epsilon(),
                           mechanism.delta()))
        << name;
    for (std::int64_t h = 1; h <= cap; ++h) {
        Law next = mechanism.exact_law(at_distance(h, classes, 0));
        ASSERT_TRUE(is_private(before, next, mechanism.epsilon(), mechanism.delta())) << name << " h " << h;
        before = std::move(next);
    }
}

constexpr double epsilons[] = {1e-6, 0.01, 0.1, 0.5, 1, 3, 20, 100, 1000};

/// Every mechanism that is proved private, by the evidence it draws from.
std::vector<MechanismInfo> private_mechanisms(bool (*chosen)(const MechanismInfo&)) {
    std::vector<MechanismInfo> mechanisms;
    for (const MechanismInfo& info : mechanism_table()) {
        if (info.releasable() && info.gap == nullptr && chosen(info)) mechanisms.push_back(info);
    }
    EXPECT_FALSE(mechanisms.empty());
    return mechanisms;
}
bool by_votes(const MechanismInfo& info) {
    return info.needs_votes;
}
bool by_class_distances(const MechanismInfo& info) {
    return info.needs_class_distances;
}
bool by_distance(const MechanismInfo& info) {
    return !by_votes(info) && !by_class_distances(info);
}

TEST(MechanismPrivacy, NoLawOfADistanceExceedsItsEpsilonAtAnyDistance) {
    for (const MechanismInfo& info : private_mechanisms(by_distance)) {
        for (const double epsilon : epsilons) {
            for (const int classes : {2, 3, 10, 1000}) {
                if (classes > 2 && info.binary_only) continue;
                for (const double delta : {0.0, 1e-30, 1e-6, 0.2, 0.9}) {
                    if (delta > 0 ? !info.takes_delta : info.needs_delta) continue;
                    expect_private_over_distances(Mechanism(info.name, {epsilon, delta, classes, 60, 0}));
                }
            }
        }
    }
}

TEST(MechanismPrivacy, DeepTablesWhereRoundingRulesStayPrivate) {
    // Distances at which 2^128 p(h) is a handful of units, and beyond.
    expect_private_over_distances(Mechanism("stable_rr", {0.1, 0, 2, 1200, 0}));
    expect_private_over_distances(Mechanism("stable_rr", {0.1, 0, 7, 1200, 0}));
    expect_private_over_distances(Mechanism("cauchy", {1e-6, 0, 2, 300, 0}));
    expect_private_over_distances(Mechanism("cauchy", {1.0, 0, 2, 1200, 0}));
    expect_private_over_distances(Mechanism("ptr", {0.1, 1e-30, 2, 2400, 0}));
}

TEST(MechanismPrivacy, StableRandomisedResponseSpendsAllOfItsEpsilon) {
    // Optimal: a smaller flip anywhere would break the ratio to its neighbour.
    const Mechanism mechanism("stable_rr", {0.5, 0, 2, 40, 0});
    for (std::int64_t h = 0; h < 40; ++h) {
        EXPECT_NEAR(privacy_loss(mechanism.exact_law(at_distance(h, 2, 0)),
                                 mechanism.exact_law(at_distance(h + 1, 2, 0))),
                    0.5, 1e-9);
    }
}

// Where a flip is some 2^-128, rounding it up from one distance to the next would be a factor of up to 2.
TEST(MechanismPrivacy, FlipsArePrivateDownToTheLastBit) {
    const Mechanism mechanism("cauchy", {0.5, 0, 2, 1200, 0});
    expect_private_over_distances(mechanism);
    EXPECT_LE(mechanism.exact_law(at_distance(1200, 2, 0))[1], Rational(3, power_of_two(128)));
}

// Delta is for neighbours of two labels: of one label neither release nor refusal needs any, in any bit.
TEST(MechanismPrivacy, ReleaseOrRefusalOfOneLabelCostsEpsilonAlone) {
    for (const double epsilon : {0.1, 0.5, 1.0}) {
        for (const double delta : {1e-6, 0.2}) {
            const Mechanism mechanism("ptr", {epsilon, delta, 2, 300, 0});
            for (std::int64_t h = 0; h < 300; ++h)
                ASSERT_TRUE(is_private(mechanism.exact_law(at_distance(h, 2, 0)),
                                       mechanism.exact_law(at_distance(h + 1, 2, 0)), mechanism.epsilon(), 0))
                    << epsilon << " " << delta << " h " << h;
        }
    }
}

TEST(MechanismPrivacy, OneRecordResponseNeedsNoMoreThanEqualLabelsWhereBothWithstandARecord) {
    // Distances jump as they like, and a label may differ wherever either distance is 0.
    for (const double epsilon : epsilons) {
        for (const int classes : {2, 3, 10, 1000}) {
            const Mechanism mechanism("one_record_rr", {epsilon, 0, classes, 120, 0});
            for (const std::int64_t h : {0, 1, 120}) {
                const Law law = mechanism.exact_law(at_distance(h, classes, 0));
                for (const std::int64_t other : {0, 1, 120}) {
                    const int label = h > 0 && other > 0 ? 0 : 1;
                    EXPECT_TRUE(is_private(law, mechanism.exact_law(at_distance(other, classes, label)),
                                           mechanism.epsilon(), 0))
                        << epsilon << " " << classes << ": " << h << " and " << other;
                }
            }
        }
    }
}

TEST(MechanismPrivacy, JoinedDistancesNeedEqualLabelsOnlyWhereBothAreOneOrMore) {
    for (const double epsilon : epsilons) {
        for (const int classes : {2, 3, 10, 1000}) {
            const Mechanism mechanism("unanimous_rr", {epsilon, 0, classes, 60, 0});
            expect_private_over_distances(mechanism);
            for (const std::int64_t h : {0, 1}) {  // one of them 0, and another label
                EXPECT_TRUE(is_private(mechanism.exact_law(at_distance(0, classes, 0)),
                                       mechanism.exact_law(at_distance(h, classes, 1)), mechanism.epsilon(),
                                       0))
                    << epsilon << " " << classes << " " << h;
            }
        }
    }
}

/// All vectors of `size` entries in [0, largest].
std::vector<std::vector<std::int64_t>> all_vectors(std::size_t size, std::int64_t largest) {
    std::vector<std::vector<std::int64_t>> vectors{{}};
    for (std::size_t i = 0; i < size; ++i) {
        std::vector<std::vector<std::int64_t>> longer;
        for (const auto& vector : vectors) {
            for (std::int64_t entry = 0; entry <= largest; ++entry) {
                longer.push_back(vector);
                longer.back().push_back(entry);
            }
        }
        vectors = std::move(longer);
    }
    return vectors;
}

TEST(MechanismPrivacy, ClassDistanceLawsHoldOverAllNeighbouringVectors) {
    for (const MechanismInfo& info : private_mechanisms(by_class_distances)) {
        for (const double epsilon : {0.1, 1.0, 6.0}) {
            const Mechanism mechanism(info.name, {epsilon, 0, 3, 4, 0});
            std::vector<std::pair<std::vector<std::int64_t>, Law>> laws;
            for (const auto& distances : all_vectors(3, 5)) {
                const auto winner = std::find(distances.begin(), distances.end(), 0);
                if (winner == distances.end()) continue;
                Evidence evidence = at_distance(0, 3, static_cast<int>(winner - distances.begin()));
                evidence.class_distances = distances;
                laws.emplace_back(distances, mechanism.exact_law(evidence));
            }
            std::size_t pairs = 0;
            for (const auto& [distances, law] : laws) {
                for (const auto& [others, other_law] : laws) {
                    bool neighbours = true;
                    for (std::size_t j = 0; j < 3; ++j)
                        neighbours = neighbours && std::abs(distances[j] - others[j]) <= 1;
                    if (!neighbours) continue;
                    ++pairs;
                    ASSERT_TRUE(is_private(law, other_law, mechanism.epsilon(), 0))
                        << info.name << " " << epsilon;
                }
            }
            EXPECT_GT(pairs, 500U);
        }
    }
}

TEST(MechanismPrivacy, PermuteAndFlipIsNeverWorseThanTheExponentialMechanism) {
    const Mechanism permute("permute_and_flip", {0.7, 0, 3, 9, 0}),
        exponential("class_exponential", {0.7, 0, 3, 9, 0});
    for (auto distances : all_vectors(2, 6)) {
        distances.insert(distances.begin(), 0);
        Evidence evidence = at_distance(0, 3, 0);
        evidence.class_distances = distances;
        EXPECT_GE(permute.exact_law(evidence)[0] + Rational(1, power_of_two(90)),
                  exponential.exact_law(evidence)[0]);
    }
}

TEST(MechanismPrivacy, NoisyVotesHoldWhenOneMemberChangesItsVote) {
    for (const MechanismInfo& info : private_mechanisms(by_votes)) {
        if (info.gaussian) continue;  // gaussian_votes_test
        for (const auto& [epsilon, members] : {std::pair{2.0, 1}, {2.0, 4}, {8.0, 1}, {8.0, 4}}) {
            const Mechanism mechanism(info.name, {epsilon, 0, 3, 0, members});
            std::vector<std::pair<std::vector<std::int64_t>, Law>> laws;
            for (const auto& votes : all_vectors(3, members)) {
                if (votes[0] + votes[1] + votes[2] != members) continue;
                Evidence evidence = at_distance(0, 3, 0);
                evidence.votes = votes;
                laws.emplace_back(votes, mechanism.exact_law(evidence));
            }
            for (const auto& [votes, law] : laws) {
                for (const auto& [others, other_law] : laws) {
                    std::int64_t moved = 0;
                    for (std::size_t j = 0; j < 3; ++j) moved += std::abs(votes[j] - others[j]);
                    ASSERT_TRUE(moved > 2 || is_private(law, other_law, mechanism.epsilon(), 0))
                        << info.name << " " << epsilon;
                }
            }
        }
    }
}

TEST(MechanismPrivacy, NoiseOnOneCountHoldsAtEveryNoisySum) {
    // The clamped sum's weights for counts n and n + 1, at interior sums and in both tails: ratio at most
    // e^rate.
    for (const char* rate_text : {"0.05", "0.5", "4"}) {
        const Rational rate = parse_rational(rate_text, "rate"), factor = exp_lower(rate);
        const NoiseTable table = noise_table(rate, 7);
        Integer previous = to_integer(table.total) - 2 * to_integer(table.tails[1]);  // weight of noise 0
        for (std::size_t k = 1; k + 1 < table.tails.size(); ++k) {
            const Integer weight = to_integer(table.tails[k]) - to_integer(table.tails[k + 1]);
            ASSERT_LE(Rational(previous), factor * Rational(weight));
            ASSERT_LE(weight, previous);
            ASSERT_LE(Rational(to_integer(table.tails[k])),
                      factor * Rational(to_integer(table.tails[k + 1])));
            previous = weight;
        }
    }
}

// What the check catches.

TEST(WrongLaws, SparseLevelsUsedAsDistancesAreFound) {
    // Levels {10, 50}: a neighbour of a point certified at 50 may fall to 10. The index moved by one only.
    const Mechanism mechanism("paper_sparse", {1.0, 0, 2, 100, 0});
    Evidence near = at_distance(1, 2, 0), far = at_distance(2, 2, 0);
    near.sparse_distance = 10;
    far.sparse_distance = 50;
    const Law p = mechanism.exact_law(near), q = mechanism.exact_law(far);
    EXPECT_FALSE(is_private(p, q, 1, 0));
    EXPECT_NEAR(privacy_loss(p, q), 5.99, 0.01);
    const Mechanism honest("cauchy", {1.0, 0, 2, 100, 0});  // the index instead
    EXPECT_TRUE(is_private(honest.exact_law(near), honest.exact_law(far), 1, 0));
}

TEST(WrongLaws, LeaveOneOutUnanimityFedToStableResponseIsFound) {
    // h = 1 where removing any record keeps the label. D + r may have the other label, and then h = 0.
    const Rational epsilon = 1;
    const Mechanism mechanism("stable_rr", {1.0, 0, 2, 1, 0});
    EXPECT_FALSE(is_private(mechanism.exact_law(at_distance(1, 2, 0)),
                            mechanism.exact_law(at_distance(0, 2, 1)), epsilon, 0));
    const Mechanism honest("one_record_rr", {1.0, 0, 2, 1, 0});  // the law that is private
    EXPECT_TRUE(is_private(honest.exact_law(at_distance(1, 2, 0)), honest.exact_law(at_distance(0, 2, 1)),
                           epsilon, 0));
}

TEST(WrongLaws, NoiseOnlyWhereARecordMattersIsFoundAtTheDeltaThatItsGapNames) {
    for (const int classes : {2, 5}) {
        const Mechanism published("idp_exponential", {1.0, 0, classes, 1, 0});
        const Law quiet = published.exact_law(at_distance(1, classes, 0)),
                  noisy = published.exact_law(at_distance(0, classes, 0));
        const double delta = (classes - 1) / (std::exp(0.5) + classes - 1);
        EXPECT_FALSE(is_private(quiet, noisy, 1000, 0)) << "for no epsilon at all";
        EXPECT_FALSE(is_private(quiet, noisy, 1, decimal_value(delta * 0.999, "delta")));
        EXPECT_TRUE(is_private(quiet, noisy, 1, decimal_value(delta * 1.001, "delta")));
        EXPECT_NE(published.guarantee("substitute").status().find("as published (gap: "), std::string::npos);
        EXPECT_FALSE(published.guarantee("substitute").is_proved());
    }
}

TEST(WrongLaws, JoinedDistancesFedToStableResponseAreFound) {
    const Mechanism stable("stable_rr", {1.0, 0, 2, 5, 0}), joined("unanimous_rr", {1.0, 0, 2, 5, 0});
    const auto lost = [](const Mechanism& by) {
        return is_private(by.exact_law(at_distance(1, 2, 0)), by.exact_law(at_distance(0, 2, 1)), 1, 0);
    };
    EXPECT_FALSE(lost(stable));
    EXPECT_TRUE(lost(joined));
}

TEST(WrongLaws, TheBinaryFormulaStretchedToTenClassesIsFound) {
    const double epsilon = 0.5;
    const auto stretched = [&](int h) {
        const Rational left = decimal_value(std::exp(-epsilon * h) / (std::exp(epsilon) + 9), "p");
        Law law(10, left);
        law[0] = 1 - 9 * left;
        return law;
    };
    bool found = false;
    for (int h = 0; h < 10; ++h)
        found = found || !is_private(stretched(h), stretched(h + 1), Rational(1, 2), 0);
    EXPECT_TRUE(found);
}

TEST(WrongLaws, RoundingEachProbabilityAloneIsFound) {
    const Rational epsilon(1, 10);
    const auto rounded = [&](int h) {
        const Rational p = exp_upper(-epsilon * h) / (1 + exp_lower(epsilon));
        Rational left(ceil(p * Rational(power_of_two(128))), power_of_two(128));
        left.canonicalize();
        return Law{1 - left, left};
    };
    bool found = false;
    double worst = 0;
    for (int h = 0; h < 1000; ++h) {
        found = found || !is_private(rounded(h), rounded(h + 1), epsilon, 0);
        worst = std::max(worst, privacy_loss(rounded(h), rounded(h + 1)));
    }
    EXPECT_TRUE(found);
    EXPECT_NEAR(worst, std::log(2.0), 1e-9);  // from two units to one
}

TEST(WrongLaws, PureResponseWithoutTheRecursionInDeltaIsFound) {
    // Using p(h0) = 0 one level early spends more than delta there.
    const Rational epsilon(1, 2), delta(1, 1000);
    const Mechanism mechanism("stable_rr", {0.5, 1e-3, 2, 100, 0});
    std::int64_t zero = 0;
    while (mechanism.exact_law(at_distance(zero, 2, 0))[1] != 0) ++zero;
    ASSERT_GE(zero, 3);
    const Law early{1, 0};
    EXPECT_FALSE(is_private(mechanism.exact_law(at_distance(zero - 2, 2, 0)), early, epsilon, delta));
}

TEST(WrongLaws, Theorem53OfThePaperIsNotSmooth) {
    // Six members, five certified far away and one on the edge: its vote moves K from 0 to 41.
    std::vector<MemberAnswer> members{{1, 40, {}}, {1, 40, {}}, {1, 40, {}},
                                      {0, 0, {}},  {1, 40, {}}, {0, 40, {}}};
    std::vector<MemberAnswer> neighbour = members;
    neighbour[3].label = 1;
    const Evidence before = aggregate(members, 2, 40, Aggregation::paper),
                   after = aggregate(neighbour, 2, 40, Aggregation::paper);
    EXPECT_EQ(before.distance, 0);
    EXPECT_EQ(after.distance, 41);
    const Mechanism mechanism("cauchy", {1.0, 0, 2, before.cap, 0});
    EXPECT_FALSE(is_private(mechanism.exact_law(before), mechanism.exact_law(after), 1, 0));
    const Evidence exact_before = aggregate(members, 2, 40), exact_after = aggregate(neighbour, 2, 40);
    EXPECT_TRUE(is_private(mechanism.exact_law(exact_before), mechanism.exact_law(exact_after), 1, 0));
    EXPECT_FALSE(aggregation_guarantee(Aggregation::paper).is_proved());
}

}  // namespace mechanism_privacy_test
}  // namespace holdfast
