// The backend "cuda": everything of kernels/cuda on a device.

#include "kernels/cuda/cuda.hpp"

#include "kernels/cuda/backend_on.hpp"
#include "kernels/cuda/cuda_executor.cuh"
#include "kernels/cuda/models_pass_on.hpp"

namespace holdfast {
namespace {

constexpr int least_major = 8;  // compute capability of the oldest code in this build

std::string unusable(int ordinal) {
    cudaDeviceProp properties;
    const cudaError_t status = cudaGetDeviceProperties(&properties, ordinal);
    if (status != cudaSuccess) return std::string("the CUDA device fails: ") + cudaGetErrorString(status);
    if (properties.major < least_major) {
        return std::string(properties.name) + " has compute capability " + std::to_string(properties.major) +
               "." + std::to_string(properties.minor) + ", less than " + std::to_string(least_major) + ".0";
    }
    if (properties.memoryPoolsSupported == 0) return std::string(properties.name) + " has no memory pools";
    return "";
}

/// The device of a rank and why it cannot be used.
struct Choice {
    int ordinal = 0;
    std::string problem;
};
Choice choose(int ordinal) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) return {0, std::string("no CUDA device: ") + cudaGetErrorString(status)};
    if (count == 0) return {0, "no CUDA device"};
    return {ordinal % count, unusable(ordinal % count)};
}

int chosen(int ordinal) {
    const Choice choice = choose(ordinal);
    if (choice.problem.empty()) return choice.ordinal;
    throw Error(
        ExitCode::usage, choice.problem,
        "see nvidia-smi and CUDA_VISIBLE_DEVICES, or use --set run.backend=cpu: the bits are the same",
        "run.backend");
}

void ensure_usable(cudaError_t status, int device) {
    if (status == cudaSuccess) return;
    throw Error(ExitCode::usage,
                "GPU " + std::to_string(device) + " cannot be used: " + cudaGetErrorString(status),
                "see holdfast doctor and CUDA_VISIBLE_DEVICES, or set run.backend=cpu", "run.backend");
}

}  // namespace

std::string cuda_unavailable() {
    return choose(0).problem;
}

std::unique_ptr<Backend> make_cuda_backend(int ordinal, Arithmetic arithmetic) {
    return std::make_unique<device::BackendOn<device::CudaExecutor>>(
        "cuda", arithmetic, chosen(ordinal), arithmetic.precision == Precision::fixed);
}

std::unique_ptr<ModelsPass> make_cuda_models_pass(const NetworkShape& network, const Clip& clip,
                                                  const DeviceShare& share) {
    return std::make_unique<device::ModelsPassOn<device::CudaExecutor>>(network, clip, share,
                                                                        chosen(share.device), false);
}

int device_count() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    static_cast<void>(cudaGetLastError());  // no driver or no device is an answer, not an error to keep
    return 0;
}

void use_device(int device) {
    ensure_usable(cudaSetDevice(device), device);
}

std::string device_identity(int device) {
    cudaDeviceProp properties{};
    ensure_usable(cudaGetDeviceProperties(&properties, device), device);
    return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}

}  // namespace holdfast
