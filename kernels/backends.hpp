#pragma once

#include <memory>
#include <string>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// "cpu", "reference", or "auto" (the fastest there is). Product::rump needs "reference" or "auto".
/// Error (usage): a name that is not one of these, a product the backend lacks.
std::unique_ptr<Backend> make_backend(const std::string& name, Product product = Product::exact);

}  // namespace holdfast
