#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "kernels/ops/engine.hpp"
#include "kernels/ops/models_pass.hpp"

namespace holdfast {

/// "cuda (host)": the CUDA backend's kernels and engine in plain loops on the host, on a device of so much
/// memory. Slow: for tests of what is not hardware. arithmetic: double or fixed; longest_product: of
/// integers, as many as one sum takes, a multiple of 16, so that tests cut sums that need no cut.
std::unique_ptr<Backend> make_host_executed_backend(std::size_t memory_bytes,
                                                    Arithmetic arithmetic = Precision::double_precision,
                                                    std::optional<int> longest_product = std::nullopt);

/// The same of networks side by side, in double.
std::unique_ptr<ModelsPass> make_host_executed_models_pass(const NetworkShape& network, const Clip& clip,
                                                           const DeviceShare& share,
                                                           std::size_t memory_bytes);

}  // namespace holdfast
