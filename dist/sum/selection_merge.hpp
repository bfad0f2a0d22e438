#pragma once

#include <cstdint>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// For every entry, the sum of term(value) over the least values of all ranks' selections together:
/// [entries], on every rank. Collective; exact: the i smallest of a union are among the i smallest of its
/// parts. Each rank merges a slice of the entries into its own selection, so work and messages shrink with
/// the ranks.
std::vector<std::int64_t> sum_of_least(Selection& selection, std::int64_t (*term)(std::int64_t),
                                       const Communicator& ranks);

}  // namespace holdfast
