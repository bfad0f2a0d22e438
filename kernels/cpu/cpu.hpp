#pragma once

#include <memory>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// SIMD kernels of one core; the caller owns the threads.
template <typename Real>
std::unique_ptr<BasicBackend<Real>> make_cpu_backend();

}  // namespace holdfast
