#include "kernels/backends.hpp"

#include <type_traits>

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu.hpp"
#include "kernels/cuda/cuda.hpp"
#include "kernels/pass/host_engine.hpp"
#include "kernels/reference/reference.hpp"

namespace holdfast {
namespace {

std::shared_ptr<const Backend> rump_backend(const std::string& name, Precision precision) {
    if (name != "reference" && name != "auto")
        throw Error(ExitCode::usage, "product = \"rump\" has no kernels but the reference",
                    "use --set run.backend=reference", "run.backend");
    if (precision == Precision::single_precision)
        throw Error(ExitCode::usage, "product = \"rump\" is computed in double alone",
                    "use --set training.precision=double or --set certificate.product=exact",
                    "training.precision");
    return make_host_backend(make_rump_operations());
}

std::shared_ptr<const Backend> cuda_backend(Precision precision, int device) {
    if (precision == Precision::single_precision)
        throw Error(ExitCode::usage, "backend \"cuda\" computes in double alone",
                    "use --set training.precision=double or --set run.backend=cpu", "training.precision");
    return make_cuda_backend(device);
}

std::shared_ptr<const Backend> host_backend(const std::string& name, Precision precision) {
    if (precision == Precision::single_precision) return make_host_backend(make_operations<float>(name));
    return make_host_backend(make_operations<double>(name));
}

}  // namespace

template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_operations(const std::string& name, Product product) {
    if constexpr (std::is_same_v<Real, double>) {
        if (name == "reference" && product == Product::rump) return make_rump_operations();
    }
    ensure(product == Product::exact, "midpoint-radius products are the reference's, in double");
    if (name == "reference") return make_reference_operations<Real>();
    ensure(name == "cpu", "operations of the host");
    return make_cpu_operations<Real>();
}
template std::unique_ptr<PanelOperations<double>> make_operations(const std::string&, Product);
template std::unique_ptr<PanelOperations<float>> make_operations(const std::string&, Product);

std::shared_ptr<const Backend> make_backend(const std::string& name, Precision precision, Product product,
                                            int device) {
    const bool automatic = name == "auto";
    if (product == Product::rump) return rump_backend(name, precision);
    if (name == "reference") return host_backend(name, precision);
    if (name == "cuda") return cuda_backend(precision, device);
    if (automatic && precision == Precision::double_precision && cuda_unavailable().empty())
        return cuda_backend(precision, device);
    if (name == "cpu" || automatic) return host_backend("cpu", precision);
    throw Error(ExitCode::usage, "no backend \"" + name + "\"", "use auto, cpu, cuda or reference",
                "run.backend");
}

}  // namespace holdfast
