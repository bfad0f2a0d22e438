#pragma once

namespace holdfast {

/// Multiply-adds a second of cuBLAS dgemm on the current device, the fastest of several products of random
/// matrices that fill it. Error (usage): no CUDA in this program, no cuBLAS or no room on the device.
double device_dgemm_rate();

}  // namespace holdfast
