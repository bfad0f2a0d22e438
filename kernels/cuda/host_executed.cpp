#include "kernels/cuda/host_executed.hpp"

#include "kernels/cuda/backend_on.hpp"
#include "kernels/cuda/host_executor.hpp"

namespace holdfast {

std::unique_ptr<Backend> make_host_executed_backend(std::size_t memory_bytes) {
    return std::make_unique<device::BackendOn<device::HostExecutor>>("cuda (host)", memory_bytes);
}

}  // namespace holdfast
