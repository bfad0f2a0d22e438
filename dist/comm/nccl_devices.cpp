#include "dist/comm/nccl_devices.hpp"

#include <cuda_runtime_api.h>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

void check(cudaError_t status, const std::string& what) {
    if (status == cudaSuccess) return;
    throw Error(ExitCode::usage, what + " cannot be used: " + cudaGetErrorString(status),
                "see holdfast doctor and CUDA_VISIBLE_DEVICES, or set run.backend=cpu", "run.backend");
}

}  // namespace

int device_count() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    static_cast<void>(cudaGetLastError());  // no driver or no device is an answer, not an error to keep
    return 0;
}

void use_device(int device) {
    check(cudaSetDevice(device), "GPU " + std::to_string(device));
}

std::string device_identity(int device) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "GPU " + std::to_string(device));
    return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}

}  // namespace holdfast
