#pragma once

#include <memory>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// Every operation as plain loops: the specification of the others.
template <typename Real>
std::unique_ptr<BasicBackend<Real>> make_reference_backend();

/// The same with Product::rump, which exists here alone and in double alone.
std::unique_ptr<Backend> make_rump_backend();

}  // namespace holdfast
