#pragma once

#include "models/fleet/fleet_file.hpp"
#include "models/idp/search.hpp"

namespace holdfast {

/// The networks of a fleet, to be bounded on queries clipped to `range`; `reader` must outlive it. They
/// answer in double precision, whatever they were trained in: their parameters are double numbers as they are
/// stored, and in single precision rounding alone would cost a percent of a confidence. Networks are kept in
/// memory up to `memory` bytes, else read when they are asked for. Error (usage): as require_plain(); derived
/// features.
VerifiedFleet verified_fleet(const FleetReader& reader, const FeatureRange& range,
                             std::uint64_t memory = std::uint64_t{4} << 30);

}  // namespace holdfast
