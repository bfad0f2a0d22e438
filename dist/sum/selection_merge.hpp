#pragma once

#include "dist/comm/communicator.hpp"
#include "kernels/ops/backend.hpp"

namespace holdfast {

/// Merges every rank's selection into the selection of all records, on every rank. Collective; exact: the i
/// smallest of a union are among the i smallest of its parts. A tree of log2(ranks) rounds, then a broadcast.
void merge_across_ranks(Selection& selection, const Communicator& ranks);

}  // namespace holdfast
