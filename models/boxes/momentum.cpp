#include <cmath>

#include "kernels/base/error.hpp"
#include "models/boxes/optimiser.hpp"

namespace holdfast {
namespace {

/// Slot: w, the velocity in parameter units, negated so that all of a box moves the same way.
class Momentum final : public Optimiser {
  public:
    Momentum(const TrainingSettings& settings, int grid_exponent)
        : settings_(settings), grid_exponent_(grid_exponent), friction_(factor_of(1 - settings.momentum)) {
        if (settings.l2 > 0)
            throw Error(ExitCode::usage,
                        "with momentum and weight decay together a parameter pulls its own velocity back: no "
                        "step of a box is monotone",
                        "set training.l2 = 0 or training.momentum = 0", "training.momentum");
    }

    std::size_t slots() const override { return 1; }
    void update(std::int64_t step, double normaliser, BoxEnd end,
                std::span<const std::int64_t> sums) const override {
        const Factor gradient = gradient_factor(normaliser), rate = rate_factor(step);
        for (std::size_t p = 0; p < end.parameters.size(); ++p) {
            end.slots[p] = updated(friction_, gradient, end.slots[p], sums[p]);
            end.parameters[p] = within_limit(WideInteger{end.parameters[p]} + rate.apply(end.slots[p]));
        }
    }
    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override;

    Factor gradient_factor(double normaliser) const {
        return factor_of(std::ldexp(1 / normaliser, grid_exponent_) / parameter_unit);
    }
    Factor rate_factor(std::int64_t step) const { return factor_of(settings_.learning_rate_at(step)); }
    const Factor& friction() const { return friction_; }

  private:
    TrainingSettings settings_;
    int grid_exponent_;
    Factor friction_;  ///< 1 - momentum
};

class MomentumResponse final : public ImpulseResponse {
  public:
    MomentumResponse(const Momentum& optimiser, std::int64_t gamma_units)
        : optimiser_(optimiser), gamma_units_(gamma_units) {}

    void advance(std::int64_t step, double normaliser, bool first_of_epoch) override {
        responses_.advance(optimiser_.friction(), optimiser_.gradient_factor(normaliser),
                           optimiser_.rate_factor(step), gamma_units_, first_of_epoch);
    }
    std::int64_t radius() const override { return responses_.radius(); }

  private:
    Momentum optimiser_;
    std::int64_t gamma_units_;
    MomentumResponses<64> responses_;
};

std::unique_ptr<ImpulseResponse> Momentum::impulse_response(std::int64_t gamma_units) const {
    return std::make_unique<MomentumResponse>(*this, gamma_units);
}

}  // namespace

std::unique_ptr<Optimiser> make_momentum(const TrainingSettings& settings, int gradient_exponent) {
    return std::make_unique<Momentum>(settings, gradient_exponent);
}

}  // namespace holdfast
