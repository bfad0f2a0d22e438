#pragma once

#include <memory>
#include <string>

#include "dist/comm/communicator.hpp"
#include "kernels/ops/models_pass.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What takes the networks of a fleet through their records, by the name of run.backend.
class FleetPasses {
  public:
    /// Collective. Error (usage): no such backend, a precision in which it trains no fleets, no device.
    FleetPasses(const std::string& backend, const Settings& settings, const Communicator& world);

    /// Error (usage): layers that it does not compute.
    void check(const NetworkShape& network, const Clip& clip) const;

    std::string name() const { return backend_->name(); }
    std::shared_ptr<const Backend> backend() const { return backend_; }
    /// How many threads, each with a pass of its own, take so many networks: those of the host, which
    /// compute; of a device a few, so that while one updates its networks on the host another's are on the
    /// device.
    int threads(std::size_t networks) const;
    /// One for each of the threads() of so many networks, made before any of them is used.
    std::unique_ptr<ModelsPass> make(const NetworkShape& network, const Clip& clip,
                                     std::size_t networks) const;

  private:
    std::string asked_;
    bool weighs_rows_;
    int device_ = 0;
    std::size_t ranks_ = 1;  // that share the device
    std::shared_ptr<const Backend> backend_;
};

}  // namespace holdfast
