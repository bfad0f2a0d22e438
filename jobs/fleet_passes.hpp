#pragma once

#include <memory>
#include <string>

#include "kernels/ops/models_pass.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What takes the networks of a fleet through their records, by the name of run.backend.
class FleetPasses {
  public:
    /// Error (usage): a backend that trains no fleets.
    FleetPasses(const std::string& backend, const Settings& settings);

    std::string name() const { return backend_->name(); }
    std::shared_ptr<const Backend> backend() const { return backend_; }
    /// One for each thread.
    std::unique_ptr<ModelsPass> make(const NetworkShape& network, const Clip& clip) const;

  private:
    std::string asked_;
    std::shared_ptr<const Backend> backend_;
};

}  // namespace holdfast
