#pragma once

#include "models/certify/claims.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Error (usage), saying what else to set: settings by which no fleet is trained. Section "certificate" is of
/// boxes, and not looked at.
void check_fleet(const Settings& settings);

/// Of a plan, the same: a network that no fleet is trained of, or steps whose sums an int64 may not hold.
void check_fleet(const TrainingPlan& plan, std::size_t records);

/// What a fleet is.
RecordClaim fleet_claim(const Settings& settings, const DataFacts& facts);

}  // namespace holdfast
