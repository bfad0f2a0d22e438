#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/program/build_info.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/context.hpp"
#include "jobs/program/runs/kept_states.hpp"
#include "jobs/program/training/held_out.hpp"
#include "models/certify/claims.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Of a training that was paid for beforehand, as one of several (holdfast tune).
struct PaidTraining {
    SecretKey key;           ///< of this one alone
    nlohmann::json payment;  ///< for the manifest
    std::function<RecordClaim(const Settings& settings, const DataFacts& facts)> claim;  ///< of its result
};

/// A training as it is asked for: by holdfast train, or by holdfast unlearn of what is left.
struct TrainingRequest {
    Configuration configuration;
    std::string data, out, public_data, members, ledger;
    ValidationRequest validation;
    StatesToKeep keep;
    bool resume = false, trace = false;
    std::shared_ptr<const PaidTraining> paid = nullptr;  ///< else a ledger pays now, where one has to
    std::string go_on = "go on with the same command and --resume";  ///< once a signal has stopped it

    /// The folder may hold a part of this run already: of this job's earlier start, or of other slices.
    bool joins() const { return resume || !members.empty(); }
};

struct TrainingOutcome {
    bool finished;                 ///< else members are missing, which others train
    std::size_t trained, members;  ///< by this job, and of the run
    std::string arithmetic;        ///< Training::arithmetic_text
};

/// Where no device computes what is asked, "auto" is none.
std::string backend_for(const Settings& settings, const std::string& asked);

/// Trains into request.out what is not there yet of the run. Collective. Errors: as holdfast train's.
TrainingOutcome carry_out(const Context& context, const TrainingRequest& request);

/// Whatever decides the result: what all that train one run must agree on, to come to the same bytes.
/// `program`: of a finished run, its own.
std::string run_fingerprint(const TrainingPlan& plan, const PublicFacts& facts,
                            const std::string& data_digest, const PublicRecords& beside,
                            const std::string& program = program_identity());

}  // namespace holdfast
