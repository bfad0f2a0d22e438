#pragma once

#include <memory>

#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// SIMD kernels of one core; the caller owns the threads.
template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_cpu_operations();

}  // namespace holdfast
