// A black-box tester of differential privacy over pairs of neighbours: it sees draws only. An alarm compares
// confidence bounds (Chernoff, 1e-12 each); with at most 400 of them a private mechanism is accused with
// probability below 1e-9. The wrong mechanisms are wrong by enough that they are found with certainty for all
// practical purposes.

#include <gtest/gtest.h>

#include <cmath>

#include "models/privacy/aggregate.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/samplers.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace privacy_loss_test {

constexpr int draws = 300000;
const double log_level = std::log(1e-12);

Evidence at_distance(std::int64_t distance, int classes, int label) {
    Evidence evidence;
    evidence.classes = classes;
    evidence.label = label;
    evidence.distance = distance;
    evidence.class_distances.assign(static_cast<std::size_t>(classes), distance + 1);
    evidence.class_distances[static_cast<std::size_t>(label)] = 0;
    return evidence;
}

template <typename Draw>
std::vector<double> count_outcomes(std::size_t outcomes, const Draw& draw) {
    std::vector<double> counts(outcomes, 0);
    for (int i = 0; i < draws; ++i) {
        const int label = draw();
        ++counts[label == refused ? outcomes - 1 : static_cast<std::size_t>(label)];
    }
    return counts;
}

bool accused(const Mechanism& mechanism, const Evidence& a, const Evidence& b, RandomBits& bits) {
    const auto counts = [&](const Evidence& evidence) {
        return count_outcomes(mechanism.outcomes(), [&] { return mechanism.draw(evidence, bits); });
    };
    return test::shows_violation(counts(a), counts(b), draws, mechanism.parameters().epsilon,
                                 mechanism.parameters().delta, log_level);
}

TEST(StochasticTester, AccusesNoMechanism) {
    test::SeededBits bits(21);
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.releasable() || info.needs_votes) continue;
        const int classes = info.binary_only ? 2 : 3;
        const Mechanism mechanism(info.name, {1.0, info.needs_delta ? 1e-3 : 0.0, classes, 5, 0});
        EXPECT_FALSE(accused(mechanism, at_distance(0, classes, 0), at_distance(0, classes, 1), bits))
            << info.name;
        EXPECT_FALSE(accused(mechanism, at_distance(1, classes, 0), at_distance(2, classes, 0), bits))
            << info.name;
    }
    Evidence before = at_distance(0, 3, 0), after = before;
    before.votes = {4, 3, 0};
    after.votes = {3, 4, 0};
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.needs_votes) continue;
        const Mechanism votes(info.name, {1.0, info.needs_delta ? 1e-3 : 0.0, 3, 0, 7});
        EXPECT_FALSE(accused(votes, before, after, bits)) << info.name;
    }
}

TEST(StochasticTester, FindsARecordThatSitsInSixMembers) {
    // Members on overlapping records: one record turns six votes, the noise is for one.
    test::SeededBits bits(22);
    const Mechanism votes("noisy_argmax", {1.0, 0, 2, 0, 20});
    Evidence before = at_distance(0, 2, 0), after = before;
    before.votes = {20, 0};
    after.votes = {14, 6};
    EXPECT_TRUE(accused(votes, before, after, bits));
}

TEST(StochasticTester, FindsLeaveOneOutUnanimityFedToStableResponse) {
    test::SeededBits bits(23);
    const Mechanism mechanism("stable_rr", {1.0, 0, 2, 1, 0});
    EXPECT_TRUE(accused(mechanism, at_distance(1, 2, 0), at_distance(0, 2, 1), bits));
}

TEST(StochasticTester, FindsSparseLevelsUsedAsDistances) {
    test::SeededBits bits(24);
    const Mechanism cauchy("cauchy", {1.0, 0, 2, 100, 0});  // what paper_sparse draws, which refuses to
    EXPECT_TRUE(accused(cauchy, at_distance(50, 2, 0), at_distance(10, 2, 0), bits));
}

TEST(StochasticTester, FindsTheBinaryFormulaStretchedToTenClasses) {
    test::SeededBits bits(25);
    const double epsilon = 0.5;
    const auto counts = [&](double h) {
        const Rational each = decimal_value(std::exp(-epsilon * h) / (std::exp(epsilon) + 9), "p");
        return count_outcomes(10, [&] {
            return bernoulli(each * 9, bits) ? 1 + static_cast<int>(uniform_below(9, bits).get_si()) : 0;
        });
    };
    EXPECT_TRUE(test::shows_violation(counts(0), counts(1), draws, epsilon, 0, log_level));
}

TEST(StochasticTester, FindsAnOffByOneInTheFlipsOfAnEnsemble) {
    // Three members at distance 0, votes 2 to 1: one turn changes the label, so h = 0. Counting two turns
    // gives h = 1, while the neighbour, on the other side, gets h = 1 too.
    test::SeededBits bits(26);
    const Evidence honest = aggregate({{0, 0, {}}, {1, 0, {}}, {1, 0, {}}}, 2, 3);
    const Evidence other = aggregate({{0, 0, {}}, {0, 0, {}}, {1, 0, {}}}, 2, 3);
    ASSERT_EQ(honest.distance, 0);
    ASSERT_NE(honest.label, other.label);
    Evidence wrong = honest, wrong_other = other;
    wrong.distance = wrong_other.distance = 1;
    const Mechanism mechanism("stable_rr", {1.0, 0, 2, honest.cap, 0});
    EXPECT_TRUE(accused(mechanism, wrong, wrong_other, bits));
    EXPECT_FALSE(accused(mechanism, honest, other, bits));
}

}  // namespace privacy_loss_test
}  // namespace holdfast
