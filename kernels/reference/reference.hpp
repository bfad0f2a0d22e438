#pragma once

#include <memory>

#include "kernels/ops/models_pass.hpp"
#include "kernels/ops/panel_operations.hpp"

namespace holdfast {

/// Every operation as plain loops: the specification of the others.
template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_reference_operations();

/// The same with products of integers: of fixed precision, of so many bits.
std::unique_ptr<PanelOperations<float>> make_fixed_reference(int bits);

/// The same with other products than exact ones, which exist here alone and in double alone.
std::unique_ptr<PanelOperations<double>> make_midpoint_operations(const Products& products);

/// Every network by itself, as plain loops: the specification.
template <typename Real>
std::unique_ptr<ModelsPass> make_reference_models_pass(const NetworkShape& network, const Clip& clip);

}  // namespace holdfast
