#pragma once

#include <functional>
#include <vector>

#include "models/certify/stable_distance.hpp"

namespace holdfast {

/// Loads the box of one level of one member.
using MemberLoader = std::function<void(std::size_t member, std::size_t level,
                                        std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper)>;

/// certify() for many members of a network without hidden layers, bit by bit: a member is then no more than
/// some rows of one last layer, so a level of all of them is one product with the queries. Every level is
/// asked for every query: the work is a function of public numbers alone
/// (models/mathematics.md, linear members).
std::vector<Certificates> certify_linear(const Network& network, const Backend& backend,
                                         const Records& queries, std::size_t members, std::size_t levels,
                                         const MemberLoader& load);

}  // namespace holdfast
