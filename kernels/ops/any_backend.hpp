#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "kernels/ops/backend.hpp"

namespace holdfast {

/// A backend of either precision, for those who compute nothing themselves: they hold one, and hand it on.
class AnyBackend {
  public:
    template <typename Real>
    AnyBackend(std::unique_ptr<BasicBackend<Real>> backend)  // NOLINT(google-explicit-constructor)
        : AnyBackend(std::shared_ptr<const BasicBackend<Real>>(std::move(backend))) {}
    template <typename Real>
    AnyBackend(std::shared_ptr<const BasicBackend<Real>> backend)  // NOLINT(google-explicit-constructor)
        : backend_(std::move(backend)) {}

    /// use(backend) for a const BasicBackend<Real>&.
    template <typename Use>
    auto with(Use use) const {
        return std::visit([&](const auto& backend) { return use(*backend); }, backend_);
    }
    std::string name() const {
        return with([](const auto& backend) { return backend.name(); });
    }
    Precision precision() const {
        return with([]<typename Real>(const BasicBackend<Real>&) { return RealFormat<Real>::precision; });
    }
    GradientScale scale(const Clip& clip) const {
        return with([&]<typename Real>(const BasicBackend<Real>&) { return clip.scale<Real>(); });
    }

  private:
    std::variant<std::shared_ptr<const Backend>, std::shared_ptr<const BasicBackend<float>>> backend_;
};

}  // namespace holdfast
