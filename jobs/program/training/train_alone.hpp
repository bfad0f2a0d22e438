#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dist/layout/distribute.hpp"
#include "dist/runs/run_folder.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

struct TrainedAlone {
    std::string digest;         ///< of the result
    nlohmann::json arithmetic;  ///< as a manifest has it
};

/// The training of a plan of all levels, by this rank alone and to the end, on the members' records as its
/// network wants them: what `holdfast train` would make of them, for trials that nobody pays for. Writes the
/// result into a folder without a manifest. key: what a secret training draws from. Errors: as of the kind.
TrainedAlone train_alone(const TrainingPlan& plan, std::vector<MemberRecords> members,
                         const Records& public_records, const SecretKey& key, const RunFolder& run);

}  // namespace holdfast
