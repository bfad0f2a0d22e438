#include <cmath>
#include <string>

#include "kernels/base/error.hpp"
#include "models/training/l1_penalty.hpp"
#include "models/training/optimiser.hpp"

namespace holdfast {
namespace {

/// Beside every step a number is kept.
constexpr std::int64_t most_steps = 10'000'000;

/// Of G = gradient + l2 theta: w <- momentum w - entering G, theta <- theta + alpha (carried w - direct G).
struct MomentumLaw {
    explicit MomentumLaw(const TrainingSettings& settings)
        : settings(settings),
          direct(settings.nesterov ? 1 : 0),
          carried(settings.nesterov ? settings.momentum : 1) {}

    double entering(std::int64_t step) const { return step == 0 ? 1 : 1 - settings.dampening; }
    /// eta_t of a step in which a unit of velocity reaches `reach`.
    double rate(std::int64_t step, double reach) const {
        return settings.learning_rate_at(step) * direct + entering(step) * reach;
    }

    const TrainingSettings& settings;
    double direct, carried;
};

[[noreturn]] void refuse(const TrainingSettings& settings, std::int64_t step) {
    const double slack = 1 - std::sqrt(settings.momentum);
    throw Error(
        ExitCode::usage,
        "by momentum and weight decay together a parameter that no gradient moves swings past 0 between "
        "step " +
            std::to_string(step) + " and the last: no box follows that",
        "lower training.l2 or training.learning_rate: with this momentum none swings while "
        "learning_rate * l2 <= " +
            std::to_string(slack * slack),
        "training.l2");
}

/// [steps], s_t: how far a unit of velocity moves theta in step t and all that follow, before decay.
std::vector<double> velocity_reaches(const TrainingSettings& settings) {
    if (settings.steps() > most_steps)
        throw Error(ExitCode::usage,
                    "momentum with weight decay, dampening or nesterov knows its steps in advance, up to " +
                        std::to_string(most_steps),
                    "lower training.epochs or training.batches", "training.epochs");
    const MomentumLaw law(settings);
    std::vector<double> reaches(static_cast<std::size_t>(settings.steps()));
    double beyond = 0;
    for (std::int64_t step = settings.steps() - 1; step >= 0; --step) {
        const double reach = settings.learning_rate_at(step) * law.carried + beyond;
        const double decay = law.rate(step, reach) * settings.l2;
        if (!(decay <= 1)) refuse(settings, step);
        reaches[static_cast<std::size_t>(step)] = reach;
        beyond = settings.momentum * reach / (1 - decay);
    }
    return reaches;
}

/// Slot: z, which descends; theta is an average of it.
class AveragedMomentum final : public Optimiser {
  public:
    AveragedMomentum(const TrainingSettings& settings, int grid_exponent)
        : settings_(settings),
          l1_(settings),
          grid_exponent_(grid_exponent),
          reaches_(std::make_shared<const std::vector<double>>(velocity_reaches(settings))) {}

    std::vector<std::int64_t> initial_slots(std::span<const std::int64_t> parameters) const override {
        return {parameters.begin(), parameters.end()};
    }
    void before(std::int64_t step, BoxEnd lower, BoxEnd upper) const override {
        l1_.before(step, lower.parameters, upper.parameters, lower.slots, upper.slots);
    }
    void update(std::int64_t step, double normaliser, BoxEnd end,
                std::span<const std::int64_t> sums) const override {
        const AveragedFactors<64> factors = factors_of(step, normaliser);
        const std::int64_t threshold = l1_.threshold(step);
        for (std::size_t p = 0; p < end.parameters.size(); ++p) {
            std::int64_t &theta = end.parameters[p], &z = end.slots[p];
            z = thresholded(updated(factors.decay, factors.gradient, z, sums[p]), threshold);
            theta = averaged(factors.average,
                             updated(factors.own_decay, factors.own_gradient, theta, sums[p]), z);
        }
    }
    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override {
        return std::make_unique<ResponseOf<AveragedMomentum, AveragedResponses<64>>>(*this, gamma_units);
    }
    void respond(AveragedResponses<64>& responses, std::int64_t step, double normaliser,
                 std::int64_t gamma_units, bool first_of_epoch) const {
        responses.advance(factors_of(step, normaliser), gamma_units, first_of_epoch);
    }

  private:
    AveragedFactors<64> factors_of(std::int64_t step, double normaliser) const {
        const MomentumLaw law(settings_);
        const double reach = (*reaches_)[static_cast<std::size_t>(step)], rate = law.rate(step, reach);
        const double own_rate = settings_.learning_rate_at(step) * law.direct,
                     now = settings_.learning_rate_at(step) * law.carried;
        const auto of_gradient = [&](double of_step) {
            return factor_of(std::ldexp(of_step / normaliser, grid_exponent_) / parameter_unit);
        };
        return {factor_of(rate * settings_.l2), of_gradient(rate), factor_of(own_rate * settings_.l2),
                of_gradient(own_rate), factor_of(reach > now ? now / reach : 1)};
    }

    TrainingSettings settings_;
    L1Penalty l1_;
    int grid_exponent_;
    std::shared_ptr<const std::vector<double>> reaches_;  // [steps], shared by the responses
};

}  // namespace

std::unique_ptr<Optimiser> make_averaged_momentum(const TrainingSettings& settings, int gradient_exponent) {
    return std::make_unique<AveragedMomentum>(settings, gradient_exponent);
}

}  // namespace holdfast
