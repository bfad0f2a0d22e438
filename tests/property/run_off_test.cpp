// The run-off's distance against brute force over everything that poisoned members may say.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <random>

#include "models/privacy/run_off.hpp"

namespace holdfast {
namespace {

constexpr int classes = 3;
using Ranking = std::array<int, classes>;  // best first

std::vector<Ranking> all_rankings() {
    std::vector<Ranking> all;
    Ranking ranking{0, 1, 2};
    do all.push_back(ranking);
    while (std::next_permutation(ranking.begin(), ranking.end()));
    return all;
}

/// Written again, from the rule in words.
int elected(const std::vector<Ranking>& members) {
    std::array<int, classes> votes{};
    for (const Ranking& member : members) ++votes[static_cast<std::size_t>(member.front())];
    std::array<int, classes> order{0, 1, 2};
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        return votes[static_cast<std::size_t>(a)] > votes[static_cast<std::size_t>(b)];
    });
    const int a = std::min(order[0], order[1]), b = std::max(order[0], order[1]);
    int for_a = 0;
    for (const Ranking& member : members)
        for_a += std::find(member.begin(), member.end(), a) < std::find(member.begin(), member.end(), b);
    return 2 * for_a >= static_cast<int>(members.size()) ? a : b;
}

struct Ensemble {
    std::vector<Ranking> rankings;
    std::vector<std::int64_t> distances;

    RunOff run_off() const {
        std::vector<MemberAnswer> members;
        std::vector<double> logits(rankings.size() * classes);
        for (std::size_t i = 0; i < rankings.size(); ++i) {
            members.push_back({rankings[i].front(), distances[i], {}});
            for (int place = 0; place < classes; ++place)
                logits[i * classes + static_cast<std::size_t>(rankings[i][static_cast<std::size_t>(place)])] =
                    -place;
        }
        return holdfast::run_off(members, logits, classes);
    }

    /// Least cost at which another class is elected: another label costs a member its distance and one,
    /// another order behind the same label one.
    std::int64_t least_cost() const {
        static const std::vector<Ranking> all = all_rankings();
        const int winner = elected(rankings);
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        std::vector<std::size_t> chosen(rankings.size(), 0);
        for (;;) {
            std::int64_t cost = 0;
            std::vector<Ranking> now;
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                now.push_back(all[chosen[i]]);
                if (now[i] != rankings[i])
                    cost += now[i].front() == rankings[i].front() ? 1 : distances[i] + 1;
            }
            if (elected(now) != winner) least = std::min(least, cost);
            std::size_t digit = 0;
            while (digit < chosen.size() && ++chosen[digit] == all.size()) chosen[digit++] = 0;
            if (digit == chosen.size()) return least;
        }
    }
};

/// How many of the ensembles' distances are the greatest that hold.
struct Tally {
    int ensembles = 0, exact = 0;
    void check(const Ensemble& ensemble) {
        const RunOff found = ensemble.run_off();
        ASSERT_EQ(found.label, elected(ensemble.rankings));
        const std::int64_t most = ensemble.least_cost() - 1;
        ASSERT_LE(found.distance, most);
        ++ensembles;
        exact += found.distance == most ? 1 : 0;
    }
};

TEST(RunOff, EverySmallEnsembleStandsAsLongAsItSays) {
    const std::vector<Ranking> all = all_rankings();
    constexpr std::size_t choices = 6 * 3;
    for (std::size_t members = 1; members <= 3; ++members) {
        Tally tally;
        std::size_t cases = 1;
        for (std::size_t i = 0; i < members; ++i) cases *= choices;
        for (std::size_t number = 0; number < cases; ++number) {
            Ensemble ensemble;
            for (std::size_t i = 0, rest = number; i < members; ++i, rest /= choices) {
                ensemble.rankings.push_back(all[rest % choices / 3]);
                ensemble.distances.push_back(static_cast<std::int64_t>(rest % 3));
            }
            ASSERT_NO_FATAL_FAILURE(tally.check(ensemble)) << "case " << number << " of " << members;
        }
        EXPECT_GT(2 * tally.exact, tally.ensembles) << members << " members: the bound has become useless";
    }
}

TEST(RunOff, LargerEnsemblesStandAsLongAsTheySay) {
    std::mt19937 random(1);
    const std::vector<Ranking> all = all_rankings();
    Tally tally;
    for (int trial = 0; trial < 300; ++trial) {
        Ensemble ensemble;
        for (int i = 0; i < 4 + trial % 2; ++i) {
            ensemble.rankings.push_back(all[random() % all.size()]);
            ensemble.distances.push_back(static_cast<std::int64_t>(random() % 4));
        }
        ASSERT_NO_FATAL_FAILURE(tally.check(ensemble)) << "trial " << trial;
    }
    EXPECT_GT(2 * tally.exact, tally.ensembles) << "the bound has become useless";
}

/// Of members that all say the same, whose orders behind it one record each changes.
TEST(RunOff, DistancesOfMembersCountInBothRounds) {
    const Ensemble ensemble{{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, {2, 4, 6}};
    EXPECT_EQ(ensemble.run_off().label, 0);
    EXPECT_EQ(ensemble.run_off().distance, 3 + 5 - 1);
}

TEST(RunOff, TiesGoToTheLeastIndexInEitherRound) {
    // Votes 1, 1, 1: 0 and 1 meet, and the member for 2 decides.
    const Ensemble ensemble{{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}}, {0, 0, 0}};
    EXPECT_EQ(ensemble.run_off().label, 1);
    const Ensemble even{{{1, 0, 2}, {0, 1, 2}}, {0, 0, 0}};
    EXPECT_EQ(even.run_off().label, 0);
}

}  // namespace
}  // namespace holdfast
