#pragma once

#include <memory>
#include <string>

#include "kernels/ops/any_backend.hpp"

namespace holdfast {

/// "cpu", "reference", or "auto" (the fastest there is). Product::rump needs "reference" or "auto", and
/// double. Error (usage): a name that is not one of these, a product the backend lacks.
template <typename Real = double>
std::unique_ptr<BasicBackend<Real>> make_backend(const std::string& name, Product product = Product::exact);

/// The same in the precision asked for: here, and nowhere else, a setting becomes a Real.
AnyBackend make_backend(const std::string& name, Precision precision, Product product);

}  // namespace holdfast
