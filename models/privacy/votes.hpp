#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/privacy/aggregate.hpp"

namespace holdfast {

/// Counting votes, and what it costs to change a count: what aggregate() and run_off() are made of. Classes
/// and labels are in [0, classes); costs count records.
using Costs = std::vector<std::int64_t>;
constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max() / 4;

/// [classes]
std::vector<std::int64_t> count_votes(const std::vector<MemberAnswer>& members, int classes);
/// Does a tie of a and b go to a? To 1 of two classes (000, equation 11), to the least index of more.
bool wins_tie(int a, int b, int classes);
/// Votes `b` must gain on `a` to stand before it; <= 0 where it does already.
std::int64_t gain_needed(const std::vector<std::int64_t>& votes, int a, int b);
/// [s]: what the s cheapest cost together.
Costs prefix_sums(Costs costs);
/// Least cost at which b overtakes a when a turn of member i costs h_i + 1 whatever the target: an a-voter
/// turned to b gains 2, any other voter but b's gains 1.
std::int64_t overtaking_cost(const std::vector<MemberAnswer>& members, const std::vector<std::int64_t>& votes,
                             int a, int b);

}  // namespace holdfast
