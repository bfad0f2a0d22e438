#pragma once

#include <memory>
#include <string>

#include "kernels/ops/any_backend.hpp"

namespace holdfast {

/// "cpu", "cuda", "reference", or "auto": cuda if it is built and has a usable device, else cpu. All give the
/// same bits in one precision. cuda computes in double alone; Product::rump needs "reference" or "auto", and
/// double. device: which of a node's devices cuda uses.
/// Error (usage): a name that is not one of these, a product or precision the backend lacks, no device.
template <typename Real = double>
std::unique_ptr<BasicBackend<Real>> make_backend(const std::string& name, Product product = Product::exact,
                                                 int device = 0);

/// The same in the precision asked for: here, and nowhere else, a setting becomes a Real.
AnyBackend make_backend(const std::string& name, Precision precision, Product product, int device = 0);

/// The same for work that goes panel by panel through the host, as certification does: there cpu stands for
/// cuda, whose strength is whole steps.
AnyBackend make_panel_backend(const std::string& name, Precision precision, Product product = Product::exact);

}  // namespace holdfast
