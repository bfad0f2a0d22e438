#pragma once

#include <cstdint>
#include <vector>

#include "models/fleet/fleet_outputs.hpp"

namespace holdfast {

/// What a fleet says of one query. For the owner's eyes.
struct Vote {
    std::int32_t label;    ///< of N, as answers_of() gives it
    std::int64_t against;  ///< how many of the N_-i give another
    /// 1: whichever one record is removed, the label stays; else 0 (models/mathematics.md, exact vote).
    std::int64_t removal_distance() const { return against == 0 ? 1 : 0; }
};

/// Every network's label of every query, counted: of mapped queries, the same on all ranks. Every network is
/// asked, whatever the others say. Collective; all ranks have the result.
std::vector<Vote> vote_of(const FleetOutputs& fleet, const Communicator& world, const Records& queries);

}  // namespace holdfast
