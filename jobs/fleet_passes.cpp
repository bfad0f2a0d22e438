#include "jobs/fleet_passes.hpp"

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/pass/engine_models_pass.hpp"

namespace holdfast {

FleetPasses::FleetPasses(const std::string& backend, const Settings& settings)
    : asked_(backend == "auto" ? "cpu" : backend) {
    if (asked_ == "cuda")
        throw Error(ExitCode::usage, "no device trains fleets", "use --backend cpu", "run.backend");
    backend_ = make_backend(asked_, settings.training.precision);
}

std::unique_ptr<ModelsPass> FleetPasses::make(const NetworkShape& network, const Clip& clip) const {
    if (network.is_dense()) return make_models_pass(asked_, backend_->precision(), network, clip);
    constexpr std::size_t side_by_side = 16;  // of what a thread holds
    return make_engine_models_pass(backend_->engine(network, clip), network, side_by_side);
}

}  // namespace holdfast
