#include <cmath>

#include "models/training/l1_penalty.hpp"
#include "models/training/optimiser.hpp"

namespace holdfast {
namespace {

/// Slot: w, the velocity in parameter units, negated so that all of a box moves the same way.
class Momentum final : public Optimiser {
  public:
    Momentum(const TrainingSettings& settings, int grid_exponent)
        : settings_(settings),
          l1_(settings),
          grid_exponent_(grid_exponent),
          friction_(factor_of(1 - settings.momentum)) {}

    std::vector<std::int64_t> initial_slots(std::span<const std::int64_t> parameters) const override {
        return std::vector<std::int64_t>(parameters.size(), 0);
    }
    void before(std::int64_t step, BoxEnd lower, BoxEnd upper) const override {
        l1_.before(step, lower.parameters, upper.parameters);
    }
    void update(std::int64_t step, double normaliser, BoxEnd end,
                std::span<const std::int64_t> sums) const override {
        const Factor gradient = gradient_factor(normaliser), rate = rate_factor(step);
        const std::int64_t threshold = l1_.threshold(step);
        for (std::size_t p = 0; p < end.parameters.size(); ++p) {
            end.slots[p] = updated(friction_, gradient, end.slots[p], sums[p]);
            end.parameters[p] = thresholded(
                within_limit(WideInteger{end.parameters[p]} + rate.apply(end.slots[p])), threshold);
        }
    }
    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override {
        return std::make_unique<ResponseOf<Momentum, MomentumResponses<64>>>(*this, gamma_units);
    }
    void respond(MomentumResponses<64>& responses, std::int64_t step, double normaliser,
                 std::int64_t gamma_units, bool first_of_epoch) const {
        responses.advance(friction_, gradient_factor(normaliser), rate_factor(step), gamma_units,
                          first_of_epoch);
    }

  private:
    Factor gradient_factor(double normaliser) const {
        return factor_of(std::ldexp(1 / normaliser, grid_exponent_) / parameter_unit);
    }
    Factor rate_factor(std::int64_t step) const { return factor_of(settings_.learning_rate_at(step)); }

    TrainingSettings settings_;
    L1Penalty l1_;
    int grid_exponent_;
    Factor friction_;  ///< 1 - momentum
};

}  // namespace

std::unique_ptr<Optimiser> make_momentum(const TrainingSettings& settings, int gradient_exponent) {
    return std::make_unique<Momentum>(settings, gradient_exponent);
}

}  // namespace holdfast
