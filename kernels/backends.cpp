#include "kernels/backends.hpp"

#include "kernels/base/error.hpp"
#include "kernels/cpu/cpu.hpp"
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

}  // namespace

template <typename Real>
std::unique_ptr<BasicBackend<Real>> make_backend(const std::string& name, Product product) {
    const bool rump = product == Product::rump;
    if (rump && (name == "reference" || name == "auto")) return rump_backend<Real>();
    if (rump)
        throw Error(ExitCode::usage, "product = \"rump\" has no kernels but the reference",
                    "use --set run.backend=reference", "run.backend");
    if (name == "reference") return make_reference_backend<Real>();
    if (name == "cpu" || name == "auto") return make_cpu_backend<Real>();
    throw Error(ExitCode::usage, "no backend \"" + name + "\"", "use auto, cpu or reference", "run.backend");
}
template std::unique_ptr<Backend> make_backend(const std::string&, Product);
template std::unique_ptr<BasicBackend<float>> make_backend(const std::string&, Product);

AnyBackend make_backend(const std::string& name, Precision precision, Product product) {
    if (precision == Precision::single_precision) return make_backend<float>(name, product);
    return make_backend<double>(name, product);
}

}  // namespace holdfast
