#pragma once

#include <cstddef>

#include "models/training/plan.hpp"

namespace holdfast {

/// Bytes that a rank of a training holds at most, about: its records (all that its members have on it), the
/// boxes of its levels with what steps and checkpoints make of them, and the program itself. wide: features
/// are doubles.
double memory_of_rank(const TrainingPlan& plan, double records, std::size_t levels, bool wide);

}  // namespace holdfast
