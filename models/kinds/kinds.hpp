#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dist/layout/process_grid.hpp"
#include "dist/runs/manifest.hpp"
#include "models/certify/claims.hpp"
#include "models/kinds/certificate.hpp"
#include "models/kinds/trainer.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// A kind of training, by the name that training.kind and manifests give it.
struct Kind {
    std::string name;
    /// What trains a run's members, on this rank of the grid. Plan, records and grid must outlive it.
    std::unique_ptr<Training> (*training)(const TrainingPlan& plan, const Records& public_records,
                                          const ProcessGrid& grid);
    /// What its result will guarantee.
    Guarantee (*claim)(const Settings& settings, const DataFacts& facts);
    /// What a finished run of this kind certifies with. Error (input): the run folder lacks it.
    std::unique_ptr<Certificate> (*certificate)(const RunFolder& run, const RunManifest& manifest,
                                                const Settings& settings, const std::string& backend);
    /// What the parameters of a finished run guarantee once anyone may have them. Error (usage): they may not
    /// leave.
    Guarantee (*publication)(const RunManifest& manifest, const Settings& settings);
};

/// Every kind there is.
const std::vector<Kind>& kinds();

/// Error (input): none of that name.
const Kind& kind_named(const std::string& name);

}  // namespace holdfast
