#include "jobs/program/training/fleet_passes.hpp"

#include <omp.h>

#include <algorithm>

#include "jobs/program/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/pass/engine_models_pass.hpp"

namespace holdfast {

FleetPasses::FleetPasses(const std::string& backend, const Settings& settings, const Communicator& world)
    : asked_(backend == "auto" ? "cpu" : backend), weighs_rows_(settings.training.weighs_rows()) {
    if (weighs_rows_ && asked_ == "cuda")
        throw Error(ExitCode::usage, "no device weighs rows", "use --backend cpu", "run.backend");
    check_models_precision(asked_, settings.training.precision);
    device_ = choose_device(asked_, world);
    backend_ = make_backend(asked_, settings.training.precision, {}, device_);
    if (asked_ == "cuda") ranks_ = ranks_of_device(device_, world);
}

void FleetPasses::check(const NetworkShape& network, const Clip& clip) const {
    if (!network.is_dense()) backend_->engine(network, clip);
}

int FleetPasses::threads(std::size_t networks) const {
    constexpr std::size_t worth_a_pass = 128;  // networks that occupy a device
    const auto most = static_cast<std::size_t>(omp_get_max_threads());
    const std::size_t wanted = asked_ == "cuda" ? networks / worth_a_pass : networks;
    return static_cast<int>(std::clamp<std::size_t>(wanted, 1, most));
}

std::unique_ptr<ModelsPass> FleetPasses::make(const NetworkShape& network, const Clip& clip,
                                              std::size_t networks) const {
    const auto passes = static_cast<std::size_t>(threads(networks));
    const DeviceShare share{(networks + passes - 1) / passes, passes * ranks_, device_};
    if (network.is_dense() && (!weighs_rows_ || clip.kind == Clip::Kind::none))
        return make_models_pass(asked_, backend_->precision(), network, clip, share);
    constexpr std::size_t side_by_side = 16;  // of what a thread holds
    return make_engine_models_pass(backend_->engine(network, clip), network, side_by_side);
}

}  // namespace holdfast
