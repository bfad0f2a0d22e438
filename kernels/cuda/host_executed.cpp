#include "kernels/cuda/host_executed.hpp"

#include "kernels/cuda/backend_on.hpp"
#include "kernels/cuda/host_executor.hpp"

namespace holdfast {

std::unique_ptr<Backend> make_host_executed_backend(std::size_t memory_bytes, Arithmetic arithmetic,
                                                    std::optional<int> longest_product) {
    return std::make_unique<device::BackendOn<device::HostExecutor>>(
        "cuda (host)", arithmetic, memory_bytes, longest_product.value_or(device::IntegerProduct::longest));
}

}  // namespace holdfast
