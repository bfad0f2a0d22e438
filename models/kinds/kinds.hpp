#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/layout/process_grid.hpp"
#include "dist/runs/manifest.hpp"
#include "models/certify/claims.hpp"
#include "models/kinds/certificate.hpp"
#include "models/kinds/trainer.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// A kind of training, by the name that training.kind and manifests give it.
struct Kind {
    std::string name;
    /// Does it draw from a key of its run? Then it shows nothing on the way that depends on the records.
    bool secret;
    /// The settings with what follows from the others. Error (usage): they do not go together.
    Settings (*settled)(const Settings& settings);
    /// What trains a run's members, on this rank of the grid. Plan, records and grid must outlive it. `run`:
    /// its key, where it draws from one; null if it will not train.
    std::unique_ptr<Training> (*training)(const TrainingPlan& plan, const Records& public_records,
                                          const ProcessGrid& grid, const SecretKey* run);
    /// What a ledger is to be charged before the first step, but for the token; nothing: no more than its
    /// result will be used for.
    std::optional<Payment> (*payment)(const Settings& settings, const DataFacts& facts);
    /// Error (usage): the parameters must not leave.
    void (*require_publishable)(const Settings& settings);
    /// How far, in the 2-norm and in parameter units, one record moves all parameters of a member, whatever
    /// the records: what noise is to cover, and a ledger to pay for, before they may leave. Nothing: they
    /// are published as they were trained, and as `payment` charged for.
    std::optional<Rational> (*sensitivity)(const Settings& settings, const FeatureMap& features);
    /// What its result will guarantee.
    RecordClaim (*claim)(const Settings& settings, const DataFacts& facts);
    /// What a finished run of this kind certifies with. Error (input): the run folder lacks it.
    std::unique_ptr<Certificate> (*certificate)(const RunFolder& run, const RunManifest& manifest,
                                                const Settings& settings, const std::string& backend);
};

/// Every kind there is.
const std::vector<Kind>& kinds();

/// Error (input): none of that name.
const Kind& kind_named(const std::string& name);

}  // namespace holdfast
