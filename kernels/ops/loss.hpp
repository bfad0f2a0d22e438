#pragma once

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// Backend::loss_gradient for every host backend: a few numbers a record, so plain loops are fast enough.
void loss_gradient_on_host(Loss loss, std::size_t outputs, ConstInterval logits, const std::int32_t* labels,
                           std::size_t count, Interval delta);

/// Backend::transpose for every host backend.
void transpose_on_host(std::size_t rows, const double* panel, double* out, std::size_t stride);

/// Backend::all_finite for every host backend.
bool all_finite_on_host(std::size_t rows, ConstInterval a);

}  // namespace holdfast
