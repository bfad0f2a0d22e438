#pragma once

#include <memory>

#include "kernels/ops/models_pass.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// SIMD kernels of one core; the caller owns the threads.
template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_cpu_operations();

/// The same with products of integers, on grids of so many bits.
std::unique_ptr<PanelOperations<float>> make_fixed_cpu(int bits);

/// As many networks as a vector has lanes; the caller owns the threads.
template <typename Real>
std::unique_ptr<ModelsPass> make_cpu_models_pass(const NetworkShape& network, const Clip& clip);

}  // namespace holdfast
