#include "kernels/backends.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu.hpp"
#include "kernels/cuda/cuda.hpp"
#include "kernels/reference/reference.hpp"

namespace holdfast {

std::unique_ptr<Backend> make_backend(const std::string& name, Product product, int device) {
    const bool rump = product == Product::rump;
    if (name == "reference" || (name == "auto" && rump)) return make_reference_backend(product);
    if (rump)
        throw Error(ExitCode::usage, "product = \"rump\" has no kernels but the reference",
                    "use --set run.backend=reference", "run.backend");
    if (name == "cuda" || (name == "auto" && cuda_unavailable().empty())) return make_cuda_backend(device);
    if (name == "cpu" || name == "auto") return make_cpu_backend();
    throw Error(ExitCode::usage, "no backend \"" + name + "\"", "use auto, cpu, cuda or reference",
                "run.backend");
}

std::unique_ptr<Backend> make_panel_backend(const std::string& name, Product product) {
    const bool on_cpu = product == Product::exact && (name == "auto" || name == "cuda");
    return make_backend(on_cpu ? "cpu" : name, product);
}

}  // namespace holdfast
