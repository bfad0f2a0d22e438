#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/configuration.hpp"
#include "jobs/held_out.hpp"
#include "jobs/job.hpp"
#include "jobs/kept_states.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Behind a digest of what no noise protects: equal digests tell that records are equal.
inline constexpr const char* private_digest = " (for the owner alone)";

/// A training as it is asked for: by holdfast train, or by holdfast unlearn of what is left.
struct TrainingRequest {
    Configuration configuration;
    std::string data, out, public_data, members, ledger;
    ValidationRequest validation;
    StatesToKeep keep;
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

/// Declares --keep-states and --slices.
void add_keep_options(CLI::App& app, StatesToKeep& keep);

/// Trains into request.out what is not there yet of the run. Collective. Errors: as holdfast train's.
TrainingOutcome carry_out(const Context& context, const TrainingRequest& request);

/// Whatever decides the result: what all that train one run must agree on, to come to the same bytes.
std::string run_fingerprint(const TrainingPlan& plan, FeatureRange range, FeatureRange targets,
                            const std::string& data_digest, const PublicRecords& beside);

/// The settings with the public number of records that the dataset states, unless they state one themselves.
Settings settle_count(Settings settings, const DatasetInfo& info);

/// Every public record, on every rank: they are few beside the private ones, and every member trains on all
/// of them. None where no file is named. Error (input): other columns, or a label that is no class.
Records read_public(const std::string& name, const DatasetInfo& private_data, const Settings& settings);
/// What names them, as read_public() gives them: their order too, where steps depend on it.
PublicRecords identify_public(const Records& records, const TrainingSettings& training);

/// Records as a training sees them: of a regression the targets in their public range, and features mapped.
Records as_trained(Records records, const Settings& settings, const FeatureMap& features,
                   FeatureRange targets);

}  // namespace holdfast
