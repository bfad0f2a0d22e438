#pragma once

#include <string>

namespace holdfast {

/// Accelerators that this process may use; 0 without a driver, and in a program built without CUDA.
int device_count();
/// Makes it the current device of the calling thread. Error (usage): it cannot be used.
void use_device(int device);
/// Equal for two devices, seen by any processes, only if they are the same.
std::string device_identity(int device);

}  // namespace holdfast
