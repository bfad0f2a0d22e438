#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dist/data/dataset.hpp"
#include "jobs/configuration.hpp"
#include "jobs/job.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// A training as it is asked for: by holdfast train, or by holdfast unlearn of what is left.
struct TrainingRequest {
    Configuration configuration;
    std::string data, out, public_data, members, ledger;
    std::int64_t keep_states = 0;  ///< of every member: how many steps (jobs/kept_states.hpp)
    bool resume = false, trace = false;
    std::string go_on = "go on with the same command and --resume";  ///< once a signal has stopped it

    /// The folder may hold a part of this run already: of this job's earlier start, or of other slices.
    bool joins() const { return resume || !members.empty(); }
};

struct TrainingOutcome {
    bool finished;                 ///< else members are missing, which others train
    std::size_t trained, members;  ///< by this job, and of the run
    std::string arithmetic;        ///< Training::arithmetic_text
};

/// Trains into request.out what is not there yet of the run. Collective. Errors: as holdfast train's.
TrainingOutcome carry_out(const Context& context, const TrainingRequest& request);

/// Whatever decides the result: what all that train one run must agree on, to come to the same bytes.
std::string run_fingerprint(const TrainingPlan& plan, FeatureRange range, FeatureRange targets,
                            const std::string& data_digest, const std::string& public_digest);

/// Every public record, on every rank: they are few beside the private ones, and every member trains on all
/// of them. None where no file is named. Error (input): other columns, or a label that is no class.
Records read_public(const std::string& name, const DatasetInfo& private_data, const Settings& settings);

}  // namespace holdfast
