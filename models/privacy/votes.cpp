#include "models/privacy/votes.hpp"

#include <algorithm>
#include <numeric>

namespace holdfast {

std::vector<std::int64_t> count_votes(const std::vector<MemberAnswer>& members, int classes) {
    std::vector<std::int64_t> votes(static_cast<std::size_t>(classes), 0);
    for (const MemberAnswer& member : members) ++votes[static_cast<std::size_t>(member.label)];
    return votes;
}

bool wins_tie(int a, int b, int classes) {
    return classes == 2 ? a == 1 : a < b;
}

std::int64_t gain_needed(const std::vector<std::int64_t>& votes, int a, int b) {
    const int classes = static_cast<int>(votes.size());
    return votes[static_cast<std::size_t>(a)] - votes[static_cast<std::size_t>(b)] +
           (wins_tie(a, b, classes) ? 1 : 0);
}

Costs prefix_sums(Costs costs) {
    std::sort(costs.begin(), costs.end());
    Costs prefix(costs.size() + 1, 0);
    std::partial_sum(costs.begin(), costs.end(), prefix.begin() + 1);
    return prefix;
}

std::int64_t overtaking_cost(const std::vector<MemberAnswer>& members, const std::vector<std::int64_t>& votes,
                             int a, int b) {
    const std::int64_t needed = gain_needed(votes, a, b);
    if (needed <= 0) return 0;
    Costs from_a, from_others;
    for (const MemberAnswer& member : members) {
        if (member.label == a) from_a.push_back(member.distance + 1);
        if (member.label != a && member.label != b) from_others.push_back(member.distance + 1);
    }
    const Costs doubles = prefix_sums(std::move(from_a)), singles = prefix_sums(std::move(from_others));
    std::int64_t least = unreachable;
    for (std::size_t two = 0; two < doubles.size(); ++two) {
        const std::int64_t rest = std::max<std::int64_t>(0, needed - 2 * static_cast<std::int64_t>(two));
        if (rest < static_cast<std::int64_t>(singles.size())) {
            least = std::min(least, doubles[two] + singles[static_cast<std::size_t>(rest)]);
        }
    }
    return least;
}

}  // namespace holdfast
