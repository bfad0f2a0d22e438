// Where the program is built without CUDA.

#include "kernels/base/error.hpp"
#include "kernels/cuda/dgemm_rate.hpp"

namespace holdfast {

double device_dgemm_rate() {
    throw Error(ExitCode::usage, "this program is built without CUDA",
                "use --backend cpu, or build with HOLDFAST_CUDA=ON", "--backend");
}

}  // namespace holdfast
