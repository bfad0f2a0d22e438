#pragma once

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// Backend::loss_gradient for every host backend: a few numbers a record, so plain loops are fast enough. In
/// double whatever Real is, then rounded once.
template <typename Real = double>
void loss_gradient_on_host(Loss loss, std::size_t outputs, BasicConstInterval<Real> logits,
                           const std::int32_t* labels, std::size_t count, BasicInterval<Real> delta);

/// Backend::transpose for every host backend.
template <typename Real>
void transpose_on_host(std::size_t rows, const Real* panel, Real* out, std::size_t stride);

}  // namespace holdfast
