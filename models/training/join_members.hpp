#pragma once

#include <string>

#include "dist/runs/member_store.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// The files of all members joined to boxes.h5 and metrics.jsonl of the run, for one rank; the digest of the
/// boxes. Errors: as MemberReader's; (output).
std::string join_members(const RunFolder& run, const MemberStore& store, const TrainingPlan& plan);

}  // namespace holdfast
