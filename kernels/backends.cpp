#include "kernels/backends.hpp"

#include <type_traits>

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu.hpp"
#include "kernels/cuda/cuda.hpp"
#include "kernels/pass/host_engine.hpp"
#include "kernels/reference/reference.hpp"

namespace holdfast {
namespace {

std::shared_ptr<const Backend> midpoint_backend(const std::string& name, Arithmetic arithmetic,
                                                const Products& products) {
    if (name != "reference" && name != "auto")
        throw Error(ExitCode::usage, "midpoint-radius products have no kernels but the reference",
                    "use --set run.backend=reference, or --set certificate.product=exact", "run.backend");
    if (arithmetic.precision != Precision::double_precision)
        throw Error(ExitCode::usage, "midpoint-radius products are computed in double alone",
                    "use --set training.precision=double or --set certificate.product=exact",
                    "training.precision");
    return make_host_backend(make_midpoint_operations(products));
}

std::shared_ptr<const Backend> cuda_backend(Arithmetic arithmetic, int device) {
    if (arithmetic.precision == Precision::single_precision)
        throw Error(ExitCode::usage, "backend \"cuda\" computes in double or fixed precision",
                    "use --set training.precision=double, or fixed, or --set run.backend=cpu",
                    "training.precision");
    return make_cuda_backend(device, arithmetic);
}

std::shared_ptr<const Backend> host_backend(const std::string& name, Arithmetic arithmetic) {
    const Precision precision = arithmetic.precision;
    if (precision == Precision::fixed)
        return make_host_backend(make_fixed_operations(name, arithmetic.activation_bits));
    if (precision == Precision::single_precision) return make_host_backend(make_operations<float>(name));
    return make_host_backend(make_operations<double>(name));
}

}  // namespace

template <typename Real>
std::unique_ptr<PanelOperations<Real>> make_operations(const std::string& name, const Products& products) {
    if constexpr (std::is_same_v<Real, double>) {
        if (name == "reference" && !products.exact()) return make_midpoint_operations(products);
    }
    ensure(products.exact(), "midpoint-radius products are the reference's, in double");
    if (name == "reference") return make_reference_operations<Real>();
    ensure(name == "cpu", "operations of the host");
    return make_cpu_operations<Real>();
}
template std::unique_ptr<PanelOperations<double>> make_operations(const std::string&, const Products&);
template std::unique_ptr<PanelOperations<float>> make_operations(const std::string&, const Products&);

std::unique_ptr<PanelOperations<float>> make_fixed_operations(const std::string& name, int bits) {
    if (name == "reference") return make_fixed_reference(bits);
    ensure(name == "cpu", "operations of the host");
    return make_fixed_cpu(bits);
}

std::shared_ptr<const Backend> make_backend(const std::string& name, Arithmetic arithmetic,
                                            const Products& products, int device) {
    const bool automatic = name == "auto";
    if (!products.exact()) return midpoint_backend(name, arithmetic, products);
    if (name == "reference") return host_backend(name, arithmetic);
    if (name == "cuda") return cuda_backend(arithmetic, device);
    if (automatic && arithmetic.precision == Precision::double_precision && cuda_unavailable().empty())
        return cuda_backend(arithmetic, device);
    if (name == "cpu" || automatic) return host_backend("cpu", arithmetic);
    throw Error(ExitCode::usage, "no backend \"" + name + "\"", "use auto, cpu, cuda or reference",
                "run.backend");
}

void check_models_precision(const std::string& name, Precision precision) {
    if (precision == Precision::fixed)
        throw Error(ExitCode::usage, "networks side by side are computed in double or single",
                    "set training.precision = \"single\"", "training.precision");
    if (name == "cuda" && precision == Precision::single_precision)
        throw Error(ExitCode::usage, "a GPU takes networks side by side in double precision alone",
                    "use --set training.precision=double, or --backend cpu", "training.precision");
}

std::unique_ptr<ModelsPass> make_models_pass(const std::string& name, Precision precision,
                                             const NetworkShape& network, const Clip& clip,
                                             const DeviceShare& share) {
    require_models_pass(network, clip);
    check_models_precision(name, precision);
    const bool single = precision == Precision::single_precision;
    if (name == "reference")
        return single ? make_reference_models_pass<float>(network, clip)
                      : make_reference_models_pass<double>(network, clip);
    if (name == "cuda") return make_cuda_models_pass(network, clip, share);
    ensure(name == "cpu", "networks pass side by side by reference, cpu or cuda");
    return single ? make_cpu_models_pass<float>(network, clip) : make_cpu_models_pass<double>(network, clip);
}

std::string backend_for(const NetworkShape& network, const std::string& name) {
    return name == "auto" && !network.is_dense() ? "cpu" : name;
}

}  // namespace holdfast
