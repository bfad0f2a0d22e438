#include "kernels/backends.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu.hpp"
#include "kernels/reference/reference.hpp"

namespace holdfast {

std::unique_ptr<Backend> make_backend(const std::string& name, Product product) {
    const bool rump = product == Product::rump;
    if (name == "reference" || (name == "auto" && rump)) return make_reference_backend(product);
    if (rump)
        throw Error(ExitCode::usage, "product = \"rump\" has no kernels but the reference",
                    "use --set run.backend=reference", "run.backend");
    if (name == "cpu" || name == "auto") return make_cpu_backend();
    throw Error(ExitCode::usage, "no backend \"" + name + "\"", "use auto, cpu or reference", "run.backend");
}

}  // namespace holdfast
