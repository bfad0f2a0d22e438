#pragma once

#include <memory>

#include "dist/layout/process_grid.hpp"
#include "models/kinds/trainer.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// The plan with the clip that convex training takes its gradients by.
TrainingPlan convex_plan(TrainingPlan plan);

/// Convex training by ConvexTrainer; plan, records and grid must outlive it. Errors (usage): as ConvexBounds;
/// public records beside, which would count in every batch.
std::unique_ptr<Training> train_convex(const TrainingPlan& plan, const Records& public_records,
                                       const ProcessGrid& grid);

}  // namespace holdfast
