#include "kernels/backends.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu.hpp"
#include "kernels/cuda/cuda.hpp"
#include "kernels/reference/reference.hpp"

namespace holdfast {
namespace {

template <typename Real>
std::unique_ptr<BasicBackend<Real>> rump_backend() {
    throw Error(ExitCode::usage, "product = \"rump\" is computed in double alone",
                "use --set training.precision=double or --set certificate.product=exact",
                "training.precision");
}
template <>
std::unique_ptr<Backend> rump_backend() {
    return make_rump_backend();
}

/// The device computes in double alone.
template <typename Real>
std::unique_ptr<BasicBackend<Real>> cuda_backend(int) {
    throw Error(ExitCode::usage, "backend \"cuda\" computes in double alone",
                "use --set training.precision=double or --set run.backend=cpu", "training.precision");
}
template <>
std::unique_ptr<Backend> cuda_backend(int device) {
    return make_cuda_backend(device);
}
template <typename Real>
bool prefers_cuda() {
    return RealFormat<Real>::precision == Precision::double_precision && cuda_unavailable().empty();
}

}  // namespace

template <typename Real>
std::unique_ptr<BasicBackend<Real>> make_backend(const std::string& name, Product product, int device) {
    const bool rump = product == Product::rump;
    if (rump && (name == "reference" || name == "auto")) return rump_backend<Real>();
    if (rump)
        throw Error(ExitCode::usage, "product = \"rump\" has no kernels but the reference",
                    "use --set run.backend=reference", "run.backend");
    if (name == "reference") return make_reference_backend<Real>();
    if (name == "cuda" || (name == "auto" && prefers_cuda<Real>())) return cuda_backend<Real>(device);
    if (name == "cpu" || name == "auto") return make_cpu_backend<Real>();
    throw Error(ExitCode::usage, "no backend \"" + name + "\"", "use auto, cpu, cuda or reference",
                "run.backend");
}
template std::unique_ptr<Backend> make_backend(const std::string&, Product, int);
template std::unique_ptr<BasicBackend<float>> make_backend(const std::string&, Product, int);

AnyBackend make_backend(const std::string& name, Precision precision, Product product, int device) {
    if (precision == Precision::single_precision) return make_backend<float>(name, product, device);
    return make_backend<double>(name, product, device);
}

AnyBackend make_panel_backend(const std::string& name, Precision precision, Product product) {
    const bool on_cpu = product == Product::exact && (name == "auto" || name == "cuda");
    return make_backend(on_cpu ? "cpu" : name, precision, product);
}

}  // namespace holdfast
