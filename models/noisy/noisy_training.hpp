#pragma once

#include <memory>

#include "dist/layout/process_grid.hpp"
#include "models/kinds/trainer.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Noisy training by NoisyTrainer, of the key of its run; plan, records and grid must outlive it. Null: it
/// will not start. Errors (usage): rounding alone may exceed the clip; more noise than is drawn.
std::unique_ptr<Training> train_noisy(const TrainingPlan& plan, const Records& public_records,
                                      const ProcessGrid& grid, const SecretKey* run);

}  // namespace holdfast
