// Where the program is built without CUDA or NCCL.

#include "dist/comm/nccl.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

std::string nccl_version() {
    return "";
}

std::shared_ptr<const CollectiveLibrary> make_nccl_library(int) {
    throw Error(ExitCode::usage, "this program is built without NCCL",
                "use mpi, or build where nccl.h and CUDA are (HOLDFAST_CUDA=ON)", "run.transport");
}

std::unique_ptr<Communicator> make_nccl_communicator(const Communicator&, int device) {
    static_cast<void>(make_nccl_library(device));
    return nullptr;
}

}  // namespace holdfast
