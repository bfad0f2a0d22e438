// Where the program is built without CUDA.

#include "dist/comm/nccl_devices.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

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
