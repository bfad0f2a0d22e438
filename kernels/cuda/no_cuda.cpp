// In place of cuda.cu where there is no CUDA compiler.

#include "kernels/base/error.hpp"
#include "kernels/cuda/cuda.hpp"

namespace holdfast {

std::string cuda_unavailable() {
    return "this build has no CUDA backend";
}

namespace {

[[noreturn]] void refuse() {
    throw Error(
        ExitCode::usage, cuda_unavailable(),
        "build it where nvcc is found (HOLDFAST_CUDA=ON), or use --set run.backend=cpu: the bits are the "
        "same",
        "run.backend");
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int, Arithmetic) {
    refuse();
}

std::unique_ptr<ModelsPass> make_cuda_models_pass(const NetworkShape&, const Clip&, const DeviceShare&) {
    refuse();
}

int device_count() {
    return 0;
}

void use_device(int) {
    ensure(false, "a program without CUDA counts no devices");
}

std::string device_identity(int) {
    ensure(false, "a program without CUDA counts no devices");
    return "";
}

}  // namespace holdfast
