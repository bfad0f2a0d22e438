#pragma once

#include <memory>
#include <string>

#include "kernels/ops/engine.hpp"
#include "kernels/ops/models_pass.hpp"

namespace holdfast {

/// Why run.backend = "cuda" cannot work in this process; empty: it can.
std::string cuda_unavailable();

/// The backend "cuda": the bits of `reference`, whole steps on a device. Ranks beyond the devices of a node
/// share them: the device is `ordinal` modulo their number.
/// arithmetic: double or fixed; the latter's products are cuBLASLt's, loaded then. Error (usage): this build
/// has no CUDA backend, or there is no usable device, or no cuBLASLt.
std::unique_ptr<Backend> make_cuda_backend(int ordinal = 0,
                                           Arithmetic arithmetic = Precision::double_precision);

/// Networks side by side on a device, in double. Error (usage): as of the backend.
std::unique_ptr<ModelsPass> make_cuda_models_pass(const NetworkShape& network, const Clip& clip,
                                                  const DeviceShare& share);

/// Accelerators that this process may use; 0 without a driver, and in a program built without CUDA.
int device_count();
/// Makes it the current device of the calling thread. Error (usage): it cannot be used.
void use_device(int device);
/// Equal for two devices, seen by any processes, only if they are the same.
std::string device_identity(int device);

}  // namespace holdfast
