#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ops/loss.hpp"
#include "models/certify/output_bounds.hpp"

namespace holdfast {

/// Best and worst of what all networks of a box come to on one record or on many: of the exact loss at the
/// outputs the program computes, rounded outwards (models/mathematics.md, certified loss); and whether, or in
/// which part of the records, all of them and some of them give the label.
struct LossBounds {
    double best = 0, worst = 0;
    double surely = 0, possibly = 0;  ///< 0 of a regression
};

/// Of one record: `lower`, `upper` [outputs] bound its outputs; target: its class index, or its number.
LossBounds loss_bounds(Loss loss, std::span<const double> lower, std::span<const double> upper,
                       double target);

/// [records]; target(i): of record i.
std::vector<LossBounds> loss_bounds(Loss loss, const OutputBounds& bounds,
                                    const std::vector<double>& targets);

/// Of the mean over the records, in their order; nothing of none.
LossBounds mean_of(std::span<const LossBounds> records);

}  // namespace holdfast
