#pragma once

#include <memory>

#include "dist/layout/process_grid.hpp"
#include "dist/runs/manifest.hpp"
#include "models/certify/claims.hpp"
#include "models/kinds/certificate.hpp"
#include "models/kinds/trainer.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Without levels; with the multiplier that secure_sgd's epsilon would buy a noisy training. Error (usage):
/// the number of records is not stated, and batches have no public size.
Settings settled_for_dpal(const Settings& settings);

/// Error (usage): what is published may not be charged, published, released or certified.
[[noreturn]] void refuse_dpal();

/// as published (gap: not differentially private, radius not proved).
RecordClaim dpal_claim(const Settings& settings, const DataFacts& facts);

/// Plan and grid must outlive it. Errors (usage): more than one rank; public records.
std::unique_ptr<Training> train_dpal(const TrainingPlan& plan, const Records& public_records,
                                     const ProcessGrid& grid);

/// Whose every answer is refuse_dpal().
std::unique_ptr<Certificate> open_dpal(const RunFolder& run, const RunManifest& manifest,
                                       const Settings& settings, const std::string& backend);

}  // namespace holdfast
