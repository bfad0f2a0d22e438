#include "models/certify/forgetting.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using Members = std::vector<MemberAnswer>;

/// Every vote that the members may come to, one label a member.
void for_each_vote(const std::vector<std::vector<int>>& open, std::vector<int>& votes,
                   const std::function<void(const std::vector<int>&)>& use) {
    if (votes.size() == open.size()) return use(votes);
    for (const int label : open[votes.size()]) {
        votes.push_back(label);
        for_each_vote(open, votes, use);
        votes.pop_back();
    }
}

int winner_of(const std::vector<int>& votes, int classes) {
    Members members;
    for (const int vote : votes) members.push_back({vote, 0, {}});
    return aggregate(members, classes, 0).label;
}

/// By all votes there may be. Label j stays shut as long as a level that holds it beaten covers the removals.
bool stays_by_all_votes(const Members& members, const std::vector<std::int64_t>& forgotten,
                        const std::vector<std::int64_t>& levels, int classes) {
    std::vector<std::vector<int>> open;
    for (std::size_t i = 0; i < members.size(); ++i) {
        std::vector<int> labels;
        for (int j = 0; j < classes; ++j) {
            bool shut = j != members[i].label &&
                        levels[static_cast<std::size_t>(members[i].distance)] >= forgotten[i];
            for (std::size_t level = 0; level < levels.size() && !members[i].class_distances.empty();
                 ++level) {
                const bool beaten = static_cast<std::int64_t>(level) <
                                    members[i].class_distances[static_cast<std::size_t>(j)];
                if (j != members[i].label && beaten && levels[level] >= forgotten[i]) shut = true;
            }
            if (!shut) labels.push_back(j);
        }
        open.push_back(labels);
    }
    std::vector<int> nominal, votes;
    for (const MemberAnswer& member : members) nominal.push_back(member.label);
    const int winner = winner_of(nominal, classes);
    bool stays = true;
    for_each_vote(open, votes,
                  [&](const std::vector<int>& each) { stays = stays && winner_of(each, classes) == winner; });
    return stays;
}

TEST(Forgetting, IsExactForEveryVoteThatMembersMayComeTo) {
    std::mt19937 random(3);
    const auto draw = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
    int stay = 0, move = 0;
    for (int trial = 0; trial < 6000; ++trial) {
        const int classes = 2 + draw(2), count = 1 + draw(5), cap = draw(4);
        std::vector<std::int64_t> levels{0}, forgotten;
        for (int k = 1; k <= cap; ++k) levels.push_back(levels.back() + 1 + (trial % 3 == 0 ? draw(3) : 0));
        const bool by_class = trial % 2 == 0;
        Members members;
        for (int i = 0; i < count; ++i) {
            MemberAnswer member{draw(classes - 1), draw(cap), {}};
            for (int j = 0; by_class && j < classes; ++j)
                member.class_distances.push_back(
                    j == member.label ? 0 : std::min<std::int64_t>(cap + 1, member.distance + 1 + draw(2)));
            members.push_back(member);
            forgotten.push_back(draw(2) == 0 ? 0 : draw(6));
        }
        const bool found = winner_stays(members, forgotten, levels, classes);
        ASSERT_EQ(found, stays_by_all_votes(members, forgotten, levels, classes)) << "trial " << trial;
        ++(found ? stay : move);
    }
    EXPECT_GT(stay, 1000);
    EXPECT_GT(move, 1000);
}

TEST(Forgetting, AMemberIsSafeWhereItsLevelCoversItsOwnRecords) {
    const std::vector<std::int64_t> levels{0, 1, 5};
    const Members one{{1, 1, {}}}, wide{{1, 2, {}}};
    EXPECT_TRUE(winner_stays(one, {0}, levels, 2));
    EXPECT_TRUE(winner_stays(one, {1}, levels, 2));
    EXPECT_FALSE(winner_stays(one, {2}, levels, 2));
    EXPECT_TRUE(winner_stays(wide, {5}, levels, 2));
    EXPECT_FALSE(winner_stays(wide, {6}, levels, 2));
}

TEST(Forgetting, OnlyMembersWithForgottenRecordsMayTurn) {
    const std::vector<std::int64_t> levels{0};
    const Members members{{1, 0, {}}, {1, 0, {}}, {0, 0, {}}};
    EXPECT_TRUE(winner_stays(members, {0, 0, 9}, levels, 2));
    EXPECT_FALSE(winner_stays(members, {1, 0, 0}, levels, 2));
    // Of two classes a tie is won by 1, of more by the least.
    EXPECT_TRUE(winner_stays({{1, 0, {}}, {1, 0, {}}}, {1, 0}, levels, 2));
    EXPECT_FALSE(winner_stays({{0, 0, {}}, {0, 0, {}}}, {1, 0}, levels, 2));
    EXPECT_TRUE(winner_stays({{0, 0, {}}, {0, 0, {}}}, {1, 0}, levels, 3));
}

TEST(Forgetting, WantsOneCountAMember) {
    EXPECT_THROW(winner_stays({{0, 0, {}}}, {1, 1}, {0}, 2), Error);
    EXPECT_THROW(winner_stays({{0, 1, {}}}, {1}, {0}, 2), Error);
}

}  // namespace
}  // namespace holdfast
