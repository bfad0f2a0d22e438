#pragma once

#include <cstddef>
#include <memory>

#include "kernels/ops/engine.hpp"

namespace holdfast {

/// "cuda (host)": the CUDA backend's kernels and engine in plain loops on the host, on a device of so much
/// memory. Slow: for tests of what is not hardware.
std::unique_ptr<Backend> make_host_executed_backend(std::size_t memory_bytes);

}  // namespace holdfast
