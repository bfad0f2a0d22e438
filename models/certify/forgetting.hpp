#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/aggregate.hpp"

namespace holdfast {

/// Does the vote keep its winner when forgotten[i] of member i's records are removed, whatever these records
/// were (models/mathematics.md, forgetting)? A member without forgotten records stays as it is; another may
/// then give only the labels that its distances leave open. levels: how many records a distance stands for,
/// as Certificate::levels, of a relation that covers removals. More forgotten records than the greatest level
/// covers leave every label open. Errors (ExitCode::input): as aggregate's.
bool winner_stays(const std::vector<MemberAnswer>& members, const std::vector<std::int64_t>& forgotten,
                  const std::vector<std::int64_t>& levels, int classes);

}  // namespace holdfast
