#pragma once

#include <cstddef>
#include <memory>

#include "jobs/program/runs/run_settings.hpp"
#include "kernels/backends.hpp"
#include "models/training/plan.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// Of a training whose records are all public: one member without levels, since no neighbour is spoken of.
/// Error (usage): training.kind asks for another than boxes.
Settings plain_settings(Settings settings);

/// What computes it: on this rank alone.
std::shared_ptr<const Backend> plain_backend(const RunSettings& how, const TrainingSettings& training);

/// Its plan: all records count, so a step divides by how many there are and no constant is stated.
TrainingPlan plain_plan(const Settings& settings, const FeatureMap& features, std::size_t records,
                        std::shared_ptr<const Backend> backend);

}  // namespace holdfast
