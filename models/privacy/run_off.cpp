#include "models/privacy/run_off.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "models/privacy/votes.hpp"

namespace holdfast {
namespace {

/// The first round's votes, and every member's order of the classes.
class Election {
  public:
    Election(const std::vector<MemberAnswer>& members, std::span<const double> logits, int classes)
        : members_(members), logits_(logits), classes_(classes), votes_(count_votes(members, classes)) {}

    int winner() const {
        const int first = best_but(-1), second = best_but(first);
        return gain_in_second_round(first, second) > 0 ? first : second;
    }

    /// Least cost after which `winner` is not among the first two of the first round.
    std::int64_t cost_of_elimination(int winner) const {
        Costs costs;
        for (const MemberAnswer& member : members_) costs.push_back(member.distance + 1);
        const Costs cheapest = prefix_sums(std::move(costs));
        std::int64_t least = unreachable;
        for (int b = 0; b < classes_; ++b) {
            for (int c = 0; c < b; ++c) {
                if (b == winner || c == winner) continue;
                const std::size_t turns = turns_to_overtake(winner, b, c);
                if (turns < cheapest.size()) least = std::min(least, cheapest[turns]);
            }
        }
        return least;
    }

    /// Least cost after which c meets `winner` in the second round and wins it: no less than either.
    std::int64_t cost_of_losing(int winner, int c) const {
        std::int64_t cost = cost_in_second_round(winner, c);
        for (int other = 0; other < classes_; ++other) {
            if (other != winner && other != c)
                cost = std::max(cost, overtaking_cost(members_, votes_, other, c));
        }
        return cost;
    }

  private:
    int best_but(int excluded) const {
        int best = excluded == 0 ? 1 : 0;
        for (int c = best + 1; c < classes_; ++c) {
            if (c != excluded && votes_[static_cast<std::size_t>(c)] > votes_[static_cast<std::size_t>(best)])
                best = c;
        }
        return best;
    }

    bool prefers(std::size_t member, int a, int b) const {
        const auto row = logits_.subspan(member * static_cast<std::size_t>(classes_));
        const double of_a = row[static_cast<std::size_t>(a)], of_b = row[static_cast<std::size_t>(b)];
        return a < b ? of_a >= of_b : of_a > of_b;
    }

    /// Votes that b must gain on a in the second round to win it; <= 0 where it does.
    std::int64_t gain_in_second_round(int a, int b) const {
        std::int64_t gain = wins_tie(a, b, classes_) ? 1 : 0;
        for (std::size_t i = 0; i < members_.size(); ++i) gain += prefers(i, a, b) ? 1 : -1;
        return gain;
    }

    /// A member that prefers a and whose label is a does so while that stays; of any other label, one record
    /// may turn it.
    std::int64_t cost_in_second_round(int a, int b) const {
        const std::int64_t needed = gain_in_second_round(a, b);
        if (needed <= 0) return 0;
        Costs costs;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (prefers(i, a, b)) costs.push_back(members_[i].label == a ? members_[i].distance + 1 : 1);
        }
        return prefix_sums(std::move(costs))[static_cast<std::size_t>((needed + 1) / 2)];
    }

    /// Least number of turns after which both b and c stand before a: a turn gains one of them 2 votes on a
    /// and the other 1 at best.
    std::size_t turns_to_overtake(int a, int b, int c) const {
        const std::int64_t of_b = gain_needed(votes_, a, b), of_c = gain_needed(votes_, a, c);
        std::int64_t turns = 0;
        while (std::max<std::int64_t>(0, of_b - turns) + std::max<std::int64_t>(0, of_c - turns) > turns)
            ++turns;
        return static_cast<std::size_t>(turns);
    }

    const std::vector<MemberAnswer>& members_;
    std::span<const double> logits_;
    int classes_;
    std::vector<std::int64_t> votes_;  // [classes], of the first round
};

}  // namespace

RunOff run_off(const std::vector<MemberAnswer>& members, std::span<const double> logits, int classes) {
    ensure(classes > 2, "a run-off is between two classes of more");
    ensure(logits.size() == members.size() * static_cast<std::size_t>(classes),
           "every member has a logit a class");
    const Election election(members, logits, classes);
    const int winner = election.winner();
    std::int64_t cost = election.cost_of_elimination(winner);
    for (int c = 0; c < classes; ++c) {
        if (c != winner) cost = std::min(cost, election.cost_of_losing(winner, c));
    }
    return {winner, std::max<std::int64_t>(0, cost - 1)};
}

}  // namespace holdfast
