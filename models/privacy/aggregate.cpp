#include "models/privacy/aggregate.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/privacy/votes.hpp"

namespace holdfast {
namespace {

using Members = std::vector<MemberAnswer>;

Error bad_member(std::size_t member, const std::string& message) {
    return Error(ExitCode::input, message, "compute the stable distances again with this program",
                 "ensemble member " + std::to_string(member));
}

void check(const Members& members, int classes, std::int64_t member_cap) {
    if (members.empty())
        throw Error(ExitCode::input, "an ensemble without members", "train at least one member");
    if (classes < 2)
        throw Error(ExitCode::input, "fewer than two classes", "train on labels of two classes or more");
    const bool per_class = !members.front().class_distances.empty();
    for (std::size_t i = 0; i < members.size(); ++i) {
        const MemberAnswer& member = members[i];
        if (member.label < 0 || member.label >= classes) throw bad_member(i, "label out of range");
        if (member.distance < 0 || member.distance > member_cap)
            throw bad_member(i, "distance out of [0, K]");
        const std::size_t expected = per_class ? static_cast<std::size_t>(classes) : 0;
        if (member.class_distances.size() != expected) throw bad_member(i, "wrong number of class distances");
        for (const std::int64_t distance : member.class_distances) {
            if (distance < 0 || distance > member_cap + 1)
                throw bad_member(i, "class distance out of [0, K + 1]");
        }
        if (per_class && member.class_distances[static_cast<std::size_t>(member.label)] != 0) {
            throw bad_member(i, "the class distance of the label itself is not 0");
        }
    }
}

int winner_of(const std::vector<std::int64_t>& votes) {
    const int classes = static_cast<int>(votes.size());
    int best = 0;
    for (int c = 1; c < classes; ++c) {
        const std::int64_t lead = votes[static_cast<std::size_t>(c)] - votes[static_cast<std::size_t>(best)];
        if (lead > 0 || (lead == 0 && wins_tie(c, best, classes))) best = c;
    }
    return best;
}

/// overtaking_cost() when a turn of member i to class c costs its d_ic: a knapsack over the votes gained.
/// least: for its own use.
std::int64_t overtaking_cost_per_class(const Members& members, const std::vector<std::int64_t>& votes, int a,
                                       int b, Costs& least) {
    const std::int64_t needed = gain_needed(votes, a, b);
    if (needed <= 0) return 0;
    const std::size_t goal = static_cast<std::size_t>(needed);
    least.assign(goal + 1, unreachable);  // least[g]: cost of gaining at least g
    least[0] = 0;
    for (const MemberAnswer& member : members) {
        if (member.label == b) continue;
        const std::int64_t to_b = member.class_distances[static_cast<std::size_t>(b)];
        const std::size_t gain_to_b = member.label == a ? 2 : 1;
        std::int64_t away = unreachable;  // an a-voter to a third class
        for (std::size_t c = 0; member.label == a && c < votes.size(); ++c) {
            if (static_cast<int>(c) != a && static_cast<int>(c) != b)
                away = std::min(away, member.class_distances[c]);
        }
        for (std::size_t gain = goal; gain > 0; --gain) {
            const std::int64_t by_b = least[gain > gain_to_b ? gain - gain_to_b : 0] + to_b;
            least[gain] = std::min({least[gain], by_b, least[gain - 1] + away});
        }
    }
    return least[goal];
}

/// All voters in order of what it costs to turn them.
struct Voters {
    explicit Voters(const Members& members, std::size_t classes) : places(classes) {
        std::vector<std::size_t> order(members.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return members[a].distance < members[b].distance;
        });
        for (const std::size_t member : order) {
            places[static_cast<std::size_t>(members[member].label)].push_back(costs.size());
            costs.push_back(members[member].distance + 1);
        }
    }
    Costs costs;                                   ///< [voters] ascending
    std::vector<std::vector<std::size_t>> places;  ///< [classes] where its voters stand in `costs`, ascending
};

/// Some of the voters, and what the cheapest of them cost together: a Fenwick tree over the order of costs.
class FreeVoters {
  public:
    explicit FreeVoters(const Costs& costs) : costs_(costs), nodes_(costs.size() + 1) {}

    void add(std::size_t place) {
        for (std::size_t node = place + 1; node < nodes_.size(); node += node & (~node + 1)) {
            ++nodes_[node].count;
            nodes_[node].cost += costs_[place];
        }
    }
    /// Of so many, which there are.
    std::int64_t cheapest(std::int64_t count) const {
        std::size_t node = 0;
        std::int64_t cost = 0;
        for (std::size_t reach = std::bit_floor(nodes_.size()); reach > 0; reach /= 2) {
            if (node + reach >= nodes_.size() || nodes_[node + reach].count > count) continue;
            node += reach;
            count -= nodes_[node].count;
            cost += nodes_[node].cost;
        }
        return cost;
    }

  private:
    struct Node {
        std::int64_t count = 0, cost = 0;
    };
    const Costs& costs_;
    std::vector<Node> nodes_;
};

/// Least cost after which j wins, a turn costing h_i + 1 whatever the target. Turning to j is then never
/// worse than turning elsewhere, so: for each number s of turns, take from every class as many of its
/// cheapest voters as it has above j's new count, and the rest wherever they are cheapest. With every turn a
/// class must give at most one fewer, who is free from then on.
std::int64_t winning_cost(const Voters& voters, const std::vector<std::int64_t>& votes, int j) {
    const int classes = static_cast<int>(votes.size());
    FreeVoters free(voters.costs);
    std::vector<std::int64_t> forced(votes);
    forced[static_cast<std::size_t>(j)] = 0;
    const std::int64_t own = votes[static_cast<std::size_t>(j)],
                       others = std::accumulate(forced.begin(), forced.end(), std::int64_t{0});
    std::int64_t all_forced = others, forced_cost = 0, least = unreachable;
    for (int c = 0; c < classes; ++c) {
        for (const std::size_t place : voters.places[static_cast<std::size_t>(c)])
            forced_cost += c == j ? 0 : voters.costs[place];
    }
    for (std::int64_t turns = 0; turns <= others; ++turns) {
        for (int c = 0; c < classes; ++c) {
            if (c == j) continue;
            const auto index = static_cast<std::size_t>(c);
            const std::int64_t allowed = own + turns - (wins_tie(c, j, classes) ? 1 : 0);
            while (forced[index] > std::max<std::int64_t>(0, votes[index] - allowed)) {
                const std::size_t place = voters.places[index][static_cast<std::size_t>(--forced[index])];
                free.add(place);
                --all_forced;
                forced_cost -= voters.costs[place];
            }
        }
        if (all_forced <= turns) least = std::min(least, forced_cost + free.cheapest(turns - all_forced));
    }
    return least;
}

/// What a winner's distance and the classes' are made of.
struct Distances {
    std::int64_t overtaking = unreachable;  ///< least cost at which anyone overtakes the winner
    Costs classes;
};

/// Of two classes, each turn costing h_i + 1: the least costs of as many of the winner's voters as it takes.
/// What overtaking_cost() and winning_cost() amount to.
Distances distances_of_two(const Members& members, const std::vector<std::int64_t>& votes, int winner) {
    const int other = 1 - winner;
    const std::int64_t turns = (gain_needed(votes, winner, other) + 1) / 2;
    Costs costs;
    costs.reserve(members.size());
    for (const MemberAnswer& member : members) {
        if (member.label == winner) costs.push_back(member.distance + 1);
    }
    const auto end = costs.begin() + turns;
    if (end != costs.end()) std::nth_element(costs.begin(), end, costs.end());
    Distances found{std::accumulate(costs.begin(), end, std::int64_t{0}), Costs(2, 0)};
    found.classes[static_cast<std::size_t>(other)] = found.overtaking;
    return found;
}

Distances distances_per_class(const Members& members, const std::vector<std::int64_t>& votes, int winner) {
    const int classes = static_cast<int>(votes.size());
    Distances found{unreachable, Costs(votes.size(), 0)};
    Costs least;
    for (int c = 0; c < classes; ++c) {
        for (int j = 0; j < classes; ++j) {
            if (c == j) continue;
            const std::int64_t cost = overtaking_cost_per_class(members, votes, c, j, least);
            std::int64_t& greatest = found.classes[static_cast<std::size_t>(j)];
            greatest = std::max(greatest, cost);
            if (c == winner) found.overtaking = std::min(found.overtaking, cost);
        }
    }
    return found;
}

Distances distances_of(const Members& members, const std::vector<std::int64_t>& votes, int winner) {
    if (!members.front().class_distances.empty()) return distances_per_class(members, votes, winner);
    if (votes.size() == 2) return distances_of_two(members, votes, winner);
    Distances found;
    const Voters voters(members, votes.size());
    for (int j = 0; j < static_cast<int>(votes.size()); ++j) {
        found.classes.push_back(winning_cost(voters, votes, j));
        if (j != winner)
            found.overtaking = std::min(found.overtaking, overtaking_cost(members, votes, winner, j));
    }
    return found;
}

/// Theorem 5.3 of 000: the n smallest distances of all members, n = ceil(|n_1 - n_0|/2).
std::int64_t published_distance(const Members& members, const std::vector<std::int64_t>& votes) {
    Costs distances;
    for (const MemberAnswer& member : members) distances.push_back(member.distance);
    const std::int64_t flips = (std::abs(votes[1] - votes[0]) + 1) / 2;
    const std::int64_t sum = prefix_sums(std::move(distances))[static_cast<std::size_t>(flips)];
    return std::max<std::int64_t>(0, sum + flips - 1);
}

}  // namespace

std::int64_t ensemble_cap(std::int64_t members, std::int64_t member_cap) {
    return (members / 2 + 1) * (member_cap + 1) - 1;
}

Evidence aggregate(const Members& members, int classes, std::int64_t member_cap, Aggregation aggregation) {
    check(members, classes, member_cap);
    Evidence evidence;
    evidence.classes = classes;
    evidence.votes = count_votes(members, classes);
    evidence.label = winner_of(evidence.votes);
    evidence.cap = ensemble_cap(static_cast<std::int64_t>(members.size()), member_cap);
    if (aggregation == Aggregation::paper) {
        if (classes != 2) {
            throw Error(ExitCode::usage, "Theorem 5.3 speaks of two classes only",
                        "set ensemble.aggregate = \"stable\"", "ensemble.aggregate");
        }
        evidence.distance = published_distance(members, evidence.votes);
        return evidence;
    }
    Distances distances = distances_of(members, evidence.votes, evidence.label);
    // -1: a member is tied between two classes already
    evidence.distance = std::max<std::int64_t>(0, distances.overtaking - 1);
    evidence.class_distances = std::move(distances.classes);
    return evidence;
}

Guarantee aggregation_guarantee(Aggregation aggregation) {
    if (aggregation == Aggregation::stable) {
        return Guarantee::proved(
            "where a record falls to one member alone, and every member's label stays for as many changed "
            "records as its own distance says, the ensemble's label stays for as many as its distance says, "
            "which moves by at most one a record");
    }
    return Guarantee::as_published(
        "Theorem 5.3: the ensemble's label is stable at distance K - 1",
        "K takes its members from both sides of the vote and is not 1-Lipschitz: one record can move it from "
        "0 to the "
        "members' own distance, so a mechanism scaled by it spends more than epsilon");
}

Aggregation aggregation_from_name(const std::string& name) {
    if (name == "stable") return Aggregation::stable;
    if (name == "paper") return Aggregation::paper;
    throw Error(ExitCode::usage, "unknown aggregation \"" + name + "\"", "choose stable or paper",
                "ensemble.aggregate");
}

}  // namespace holdfast
