#pragma once

#include <memory>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// Every operation as plain loops: the specification of the others. Product::rump only exists here.
std::unique_ptr<Backend> make_reference_backend(Product product = Product::exact);

}  // namespace holdfast
