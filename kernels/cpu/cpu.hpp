#pragma once

#include <memory>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// SIMD kernels of one core; the caller owns the threads.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace holdfast
