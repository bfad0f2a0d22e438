#include "tests/support/host_executed.hpp"

#include "kernels/cuda/backend_on.hpp"
#include "kernels/cuda/host_executor.hpp"
#include "kernels/cuda/models_pass_on.hpp"

namespace holdfast {

std::unique_ptr<Backend> make_host_executed_backend(std::size_t memory_bytes, Arithmetic arithmetic,
                                                    std::optional<int> longest_product) {
    return std::make_unique<device::BackendOn<device::HostExecutor>>(
        "cuda (host)", arithmetic, memory_bytes, longest_product.value_or(device::IntegerProduct::longest));
}

std::unique_ptr<ModelsPass> make_host_executed_models_pass(const NetworkShape& network, const Clip& clip,
                                                           const DeviceShare& share,
                                                           std::size_t memory_bytes) {
    require_models_pass(network, clip);
    return std::make_unique<device::ModelsPassOn<device::HostExecutor>>(network, clip, share, memory_bytes);
}

}  // namespace holdfast
