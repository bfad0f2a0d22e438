#pragma once

#include <memory>

#include "dist/layout/process_grid.hpp"
#include "models/kinds/trainer.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Boxes for every level, by MemberTrainer; this rank's levels are the plan's. All three must outlive it.
std::unique_ptr<Training> train_boxes(const TrainingPlan& plan, const Records& public_records,
                                      const ProcessGrid& grid);

}  // namespace holdfast
