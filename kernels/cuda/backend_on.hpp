#pragma once

#include <string>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/cuda/engine_on.hpp"

namespace holdfast::device {

/// The backend of an executor's device.
template <typename Executor>
class BackendOn final : public Backend {
  public:
    /// arithmetic: double or fixed; arguments: of the executor.
    template <typename... Arguments>
    BackendOn(std::string name, Arithmetic arithmetic, Arguments... arguments)
        : name_(std::move(name)), arithmetic_(arithmetic), executor_(arguments...) {}

    std::string name() const override { return name_; }
    Arithmetic arithmetic() const override { return arithmetic_; }
    std::unique_ptr<Engine> engine(const NetworkShape& network, const Clip& clip) const override {
        if (clip.by_scales())
            throw Error(ExitCode::usage,
                        "backend \"" + name_ + "\" clips by entries and factors, not by norms",
                        "use --set run.backend=cpu, or --set clip.kind=elementwise", "run.backend");
        if (!network.is_dense())
            throw Error(ExitCode::usage, "convolutions, pooling and dropout are computed by the host",
                        "use --set run.backend=cpu", "run.backend");
        if (precision() == Precision::fixed && clip.kind == Clip::Kind::norm)
            throw Error(ExitCode::usage, "fixed precision is of training.kind = \"boxes\"",
                        "use --set training.precision=double", "training.precision");
        return std::make_unique<EngineOn<Executor>>(executor_, network, clip, arithmetic_);
    }

  private:
    std::string name_;
    Arithmetic arithmetic_;
    Executor executor_;
};

}  // namespace holdfast::device
