#include <cmath>
#include <string>

#include "kernels/base/error.hpp"
#include "models/training/l1_penalty.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/update_lanes.hpp"

namespace holdfast {
namespace {

class Sgd final : public Optimiser {
  public:
    Sgd(const TrainingSettings& settings, int grid_exponent)
        : settings_(settings), l1_(settings), grid_exponent_(grid_exponent) {
        if (settings.learning_rate_at(0) * settings.l2 > 1.0) {
            throw Error(ExitCode::usage,
                        "learning_rate * l2 = " + std::to_string(settings.learning_rate_at(0) * settings.l2) +
                            " exceeds 1",
                        "lower training.l2 or training.learning_rate", "training.l2");
        }
    }

    std::vector<std::int64_t> initial_slots(std::span<const std::int64_t>) const override { return {}; }
    void before(std::int64_t step, BoxEnd lower, BoxEnd upper) const override {
        l1_.before(step, lower.parameters, upper.parameters);
    }
    void update(std::int64_t step, double normaliser, BoxEnd end,
                std::span<const std::int64_t> sums) const override {
        const Factor gradient = gradient_factor(step, normaliser), decay = decay_factor(step);
        const std::int64_t threshold = l1_.threshold(step);
        const std::size_t done = update_lanes(decay, gradient, threshold, end.parameters.data(), sums.data(),
                                              end.parameters.size());
        for (std::size_t p = done; p < end.parameters.size(); ++p)
            end.parameters[p] = thresholded(updated(decay, gradient, end.parameters[p], sums[p]), threshold);
    }

    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override {
        return std::make_unique<ResponseOf<Sgd, EpochResponses<64>>>(*this, gamma_units);
    }
    void respond(EpochResponses<64>& responses, std::int64_t step, double normaliser,
                 std::int64_t gamma_units, bool first_of_epoch) const {
        responses.advance(decay_factor(step), gradient_factor(step, normaliser), gamma_units, first_of_epoch);
    }

  private:
    Factor gradient_factor(std::int64_t step, double normaliser) const {
        return factor_of(std::ldexp(settings_.learning_rate_at(step) / normaliser, grid_exponent_) /
                         parameter_unit);
    }
    Factor decay_factor(std::int64_t step) const {
        return factor_of(settings_.learning_rate_at(step) * settings_.l2);
    }

    TrainingSettings settings_;
    L1Penalty l1_;
    int grid_exponent_;
};

}  // namespace

std::unique_ptr<Optimiser> make_sgd(const TrainingSettings& settings, int gradient_exponent) {
    return std::make_unique<Sgd>(settings, gradient_exponent);
}

}  // namespace holdfast
