// The ensemble's distances against brute force over every way of turning votes, and over every neighbouring
// ensemble.

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/base/error.hpp"
#include "models/privacy/aggregate.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "tests/support/privacy_tester.hpp"

namespace holdfast {
namespace {

using Members = std::vector<MemberAnswer>;

/// Written again, from the rule in words: most votes; two classes: 1 wins a tie, more: the first of the tied.
int winner_by_rule(const std::vector<int>& labels, int classes) {
    std::vector<int> votes(static_cast<std::size_t>(classes), 0);
    for (const int label : labels) ++votes[static_cast<std::size_t>(label)];
    if (classes == 2) return votes[1] >= votes[0] ? 1 : 0;
    return static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

std::int64_t turning_cost(const MemberAnswer& member, int target) {
    if (!member.class_distances.empty()) return member.class_distances[static_cast<std::size_t>(target)];
    return target == member.label ? 0 : member.distance + 1;
}

/// Least cost at which each class wins, over all classes^T outcomes of the vote.
std::vector<std::int64_t> winning_costs(const Members& members, int classes) {
    std::vector<std::int64_t> costs(static_cast<std::size_t>(classes),
                                    std::numeric_limits<std::int64_t>::max());
    std::vector<int> labels(members.size(), 0);
    for (;;) {
        std::int64_t cost = 0;
        for (std::size_t i = 0; i < members.size(); ++i) cost += turning_cost(members[i], labels[i]);
        std::int64_t& least = costs[static_cast<std::size_t>(winner_by_rule(labels, classes))];
        least = std::min(least, cost);
        std::size_t digit = 0;
        while (digit < labels.size() && ++labels[digit] == classes) labels[digit++] = 0;
        if (digit == labels.size()) return costs;
    }
}

/// Least cost at which any class but the winner wins, less one.
std::int64_t distance_by_rule(const Members& members, int classes, int winner) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> costs = winning_costs(members, classes);
    for (int c = 0; c < classes; ++c) {
        if (c != winner) least = std::min(least, costs[static_cast<std::size_t>(c)]);
    }
    return std::max<std::int64_t>(0, least - 1);
}

/// Everything one changed record can make of one member: the distance moves by at most one; the label only
/// from 0 to 0.
std::vector<MemberAnswer> neighbours_of(const MemberAnswer& member, int classes, std::int64_t cap) {
    std::vector<MemberAnswer> result;
    for (std::int64_t distance = std::max<std::int64_t>(0, member.distance - 1);
         distance <= std::min(cap, member.distance + 1); ++distance) {
        result.push_back({member.label, distance, {}});
    }
    for (int label = 0; member.distance == 0 && label < classes; ++label) {
        if (label != member.label) result.push_back({label, 0, {}});
    }
    return result;
}

/// Calls visit on every ensemble of `count` members.
template <typename Visit>
void for_each_ensemble(int count, int classes, std::int64_t cap, const Visit& visit) {
    Members members(static_cast<std::size_t>(count));
    const std::int64_t states = classes * (cap + 1);
    std::int64_t total = 1;
    for (int i = 0; i < count; ++i) total *= states;
    for (std::int64_t code = 0; code < total; ++code) {
        std::int64_t rest = code;
        for (MemberAnswer& member : members) {
            member = {static_cast<int>(rest % states / (cap + 1)), rest % states % (cap + 1), {}};
            rest /= states;
        }
        visit(members);
    }
}

void expect_neighbours(const Evidence& a, const Evidence& b) {
    ASSERT_LE(std::abs(a.distance - b.distance), 1);
    ASSERT_TRUE(a.label == b.label || (a.distance == 0 && b.distance == 0));
    for (std::size_t j = 0; j < a.class_distances.size(); ++j) {
        ASSERT_LE(std::abs(a.class_distances[j] - b.class_distances[j]), 1);
    }
}

struct Size {
    int members, classes;
    std::int64_t cap;
};
void PrintTo(const Size& size, std::ostream* out) {
    *out << size.members << " members, " << size.classes << " classes, cap " << size.cap;
}
class EverySmallEnsemble : public ::testing::TestWithParam<Size> {};

TEST_P(EverySmallEnsemble, HasTheLeastCostsAndMovesByOneARecord) {
    const auto [count, classes, cap] = GetParam();
    std::size_t pairs = 0;
    for_each_ensemble(count, classes, cap, [&, classes = classes, cap = cap](const Members& members) {
        const Evidence evidence = aggregate(members, classes, cap);
        std::vector<int> labels;
        for (const MemberAnswer& member : members) labels.push_back(member.label);
        ASSERT_EQ(evidence.label, winner_by_rule(labels, classes));
        ASSERT_EQ(evidence.distance, distance_by_rule(members, classes, evidence.label));
        ASSERT_EQ(evidence.class_distances, winning_costs(members, classes));
        ASSERT_LE(evidence.distance, evidence.cap);
        for (std::size_t i = 0; i < members.size(); ++i) {
            for (const MemberAnswer& changed : neighbours_of(members[i], classes, cap)) {
                Members others = members;
                others[i] = changed;
                expect_neighbours(evidence, aggregate(others, classes, cap));
                ++pairs;
            }
        }
    });
    EXPECT_GT(pairs, 0U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, EverySmallEnsemble,
                         ::testing::Values(Size{1, 2, 3}, Size{2, 2, 3}, Size{3, 2, 3}, Size{4, 2, 2},
                                           Size{5, 2, 2}, Size{6, 2, 1}, Size{1, 3, 2}, Size{2, 3, 2},
                                           Size{3, 3, 2}, Size{4, 3, 1}, Size{5, 3, 1}, Size{3, 4, 1}));

/// A member drawn at random that has distances to every class.
MemberAnswer random_member(std::mt19937& generator, int classes, std::int64_t cap) {
    MemberAnswer member;
    member.class_distances.resize(static_cast<std::size_t>(classes));
    for (std::int64_t& distance : member.class_distances)
        distance = static_cast<std::int64_t>(generator() % static_cast<unsigned>(cap + 2));
    member.label = static_cast<int>(generator() % static_cast<unsigned>(classes));
    member.class_distances[static_cast<std::size_t>(member.label)] = 0;
    std::int64_t nearest = cap + 1;
    for (int c = 0; c < classes; ++c) {
        if (c != member.label)
            nearest = std::min(nearest, member.class_distances[static_cast<std::size_t>(c)]);
    }
    member.distance = std::max<std::int64_t>(0, nearest - 1);
    return member;
}

bool may_be_neighbours(const MemberAnswer& a, const MemberAnswer& b) {
    for (std::size_t c = 0; c < a.class_distances.size(); ++c) {
        if (std::abs(a.class_distances[c] - b.class_distances[c]) > 1) return false;
    }
    return a.label == b.label || (a.distance == 0 && b.distance == 0);
}

TEST(PerClassDistances, AgreeWithBruteForceAndMoveByOneARecord) {
    std::mt19937 generator(20240607);
    std::size_t pairs = 0, above_zero = 0;
    for (int round = 0; round < 4000; ++round) {
        const int classes = 2 + round % 3, count = 1 + round % 5;
        const std::int64_t cap = 1 + round % 4;
        Members members;
        for (int i = 0; i < count; ++i) members.push_back(random_member(generator, classes, cap));
        const Evidence evidence = aggregate(members, classes, cap);
        ASSERT_EQ(evidence.distance, distance_by_rule(members, classes, evidence.label));
        const std::vector<std::int64_t> exact = winning_costs(members, classes);
        for (std::size_t j = 0; j < exact.size(); ++j)
            ASSERT_LE(evidence.class_distances[j], exact[j]);  // a lower bound
        ASSERT_EQ(evidence.class_distances[static_cast<std::size_t>(evidence.label)], 0);
        ASSERT_TRUE(classes > 2 || evidence.class_distances == exact);
        above_zero += evidence.distance > 0;
        for (int attempt = 0; attempt < 60; ++attempt) {
            Members others = members;
            MemberAnswer& changed = others[generator() % others.size()];
            const MemberAnswer candidate = random_member(generator, classes, cap);
            if (!may_be_neighbours(changed, candidate)) continue;
            changed = candidate;
            expect_neighbours(evidence, aggregate(others, classes, cap));
            ++pairs;
        }
    }
    EXPECT_GT(pairs, 5000U);
    EXPECT_GT(above_zero, 500U);
}

TEST(PerClassDistances, NeverGiveASmallerDistanceThanTheGlobalOne) {
    std::mt19937 generator(7);
    for (int round = 0; round < 500; ++round) {
        Members members, global;
        for (int i = 0; i < 5; ++i) {
            members.push_back(random_member(generator, 3, 4));
            for (std::int64_t& distance : members.back().class_distances) distance += distance == 0 ? 1 : 0;
            members.back().class_distances[static_cast<std::size_t>(members.back().label)] =
                0;  // no ties inside a member
            global.push_back({members.back().label, members.back().distance, {}});
        }
        EXPECT_GE(aggregate(members, 3, 4).distance, aggregate(global, 3, 4).distance);
    }
}

TEST(OffByOneInTheFlips, IsFound) {
    // One flip too many in n: a distance that is not stable, and a pair of neighbours that proves it.
    bool violated = false;
    const Mechanism mechanism("stable_rr", {1.0, 0, 2, 50, 0});
    const auto law_with_one_more = [&](const Members& members, std::int64_t cap) {
        Evidence evidence = aggregate(members, 2, cap);
        std::vector<std::int64_t> costs;
        for (const MemberAnswer& member : members) {
            if (member.label == evidence.label) costs.push_back(member.distance + 1);
        }
        std::sort(costs.begin(), costs.end());
        const std::int64_t lead = evidence.votes[1] - evidence.votes[0];
        const std::int64_t flips = 1 + (evidence.label == 1 ? lead / 2 + 1 : (1 - lead) / 2);
        evidence.distance = -1;
        for (std::int64_t i = 0; i < std::min<std::int64_t>(flips, static_cast<std::int64_t>(costs.size()));
             ++i) {
            evidence.distance += costs[static_cast<std::size_t>(i)];
        }
        return mechanism.exact_law(evidence);
    };
    for_each_ensemble(3, 2, 2, [&](const Members& members) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            for (const MemberAnswer& changed : neighbours_of(members[i], 2, 2)) {
                Members others = members;
                others[i] = changed;
                violated = violated || !test::is_private(law_with_one_more(members, 2),
                                                         law_with_one_more(others, 2), 1, 0);
                ASSERT_TRUE(test::is_private(mechanism.exact_law(aggregate(members, 2, 2)),
                                             mechanism.exact_law(aggregate(others, 2, 2)), 1, 0));
            }
        }
    });
    EXPECT_TRUE(violated);
}

/// Least cost after which class j wins, from the rule in words: for every number of turns the cheapest voters
/// that each other class has too many, then the cheapest of the rest.
std::int64_t winning_cost_by_rule(const Members& members, int classes, int j) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::vector<std::vector<std::int64_t>> voters(static_cast<std::size_t>(classes));
    for (const MemberAnswer& member : members)
        voters[static_cast<std::size_t>(member.label)].push_back(member.distance + 1);
    for (auto& of_class : voters) std::sort(of_class.begin(), of_class.end());
    const std::size_t own = voters[static_cast<std::size_t>(j)].size();
    for (std::size_t turns = 0; own + turns <= members.size(); ++turns) {
        std::vector<std::int64_t> taken, rest;
        bool possible = true;
        for (int c = 0; c < classes; ++c) {
            if (c == j) continue;
            const auto& of_class = voters[static_cast<std::size_t>(c)];
            const std::size_t wins_from =
                c < j ? own + turns : own + turns + 1;  // votes with which c beats j
            possible = possible && wins_from > 0;
            const std::size_t kept = std::min(of_class.size(), wins_from > 0 ? wins_from - 1 : 0);
            const auto middle = of_class.end() - static_cast<std::ptrdiff_t>(kept);
            taken.insert(taken.end(), of_class.begin(), middle);
            rest.insert(rest.end(), middle, of_class.end());
        }
        if (!possible || taken.size() > turns) continue;
        std::sort(rest.begin(), rest.end());
        taken.insert(taken.end(), rest.begin(),
                     rest.begin() + static_cast<std::ptrdiff_t>(turns - taken.size()));
        least = std::min(least, std::accumulate(taken.begin(), taken.end(), std::int64_t{0}));
    }
    return least;
}

TEST(Aggregate, CountsTheCheapestTurnsOfManyMembers) {
    std::mt19937 generator(3);
    for (int trial = 0; trial < 400; ++trial) {
        const int classes = 3 + trial % 4, count = 1 + static_cast<int>(generator() % 70), cap = trial % 9;
        Members members;
        for (int i = 0; i < count; ++i) {
            const int label =
                static_cast<int>(generator() % 5 == 0 ? generator() : generator() % 2) % classes;
            members.push_back({std::abs(label), static_cast<std::int64_t>(generator()) % (cap + 1), {}});
        }
        const Evidence evidence = aggregate(members, classes, cap);
        for (int j = 0; j < classes; ++j) {
            ASSERT_EQ(evidence.class_distances[static_cast<std::size_t>(j)],
                      winning_cost_by_rule(members, classes, j))
                << "trial " << trial << ", class " << j;
        }
    }
}

TEST(Aggregate, BadMembersAreRefused) {
    EXPECT_THROW(aggregate({}, 2, 5), Error);
    EXPECT_THROW(aggregate({{2, 0, {}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{-1, 0, {}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{0, 6, {}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{0, -1, {}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{0, 1, {0, 2}}, {0, 1, {}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{0, 1, {1, 2}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{0, 1, {0, 7}}}, 2, 5), Error);
    EXPECT_THROW(aggregate({{0, 1, {}}}, 3, 5, Aggregation::paper), Error);
    EXPECT_EQ(aggregation_from_name("stable"), Aggregation::stable);
    EXPECT_EQ(aggregation_from_name("paper"), Aggregation::paper);
    EXPECT_THROW(aggregation_from_name("best"), Error);
}

TEST(Aggregate, AnEnsembleOfOneIsItsMember) {
    const Evidence evidence = aggregate({{2, 7, {}}}, 4, 9);
    EXPECT_EQ(evidence.label, 2);
    EXPECT_EQ(evidence.distance, 7);
    EXPECT_EQ(evidence.class_distances, (std::vector<std::int64_t>{8, 8, 0, 8}));
    EXPECT_EQ(evidence.cap, 9);
}

}  // namespace
}  // namespace holdfast
