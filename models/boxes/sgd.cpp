#include <cmath>
#include <string>

#include "kernels/base/error.hpp"
#include "models/boxes/optimiser.hpp"

namespace holdfast {
namespace {

class Sgd final : public Optimiser {
  public:
    Sgd(const TrainingSettings& settings, int grid_exponent)
        : settings_(settings), grid_exponent_(grid_exponent) {
        if (settings.learning_rate_at(0) * settings.l2 > 1.0) {
            throw Error(ExitCode::usage,
                        "learning_rate * l2 = " + std::to_string(settings.learning_rate_at(0) * settings.l2) +
                            " exceeds 1",
                        "lower training.l2 or training.learning_rate", "training.l2");
        }
    }

    std::size_t slots() const override { return 0; }
    void update(std::int64_t step, double normaliser, BoxEnd end,
                std::span<const std::int64_t> sums) const override {
        const Factor gradient = gradient_factor(step, normaliser), decay = decay_factor(step);
        for (std::size_t p = 0; p < end.parameters.size(); ++p)
            end.parameters[p] = updated(decay, gradient, end.parameters[p], sums[p]);
    }

    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override;

    Factor gradient_factor(std::int64_t step, double normaliser) const {
        return factor_of(std::ldexp(settings_.learning_rate_at(step) / normaliser, grid_exponent_) /
                         parameter_unit);
    }
    Factor decay_factor(std::int64_t step) const {
        return factor_of(settings_.learning_rate_at(step) * settings_.l2);
    }

  private:
    TrainingSettings settings_;
    int grid_exponent_;
};

class SgdResponse final : public ImpulseResponse {
  public:
    SgdResponse(const Sgd& optimiser, std::int64_t gamma_units)
        : optimiser_(optimiser), gamma_units_(gamma_units) {}

    void advance(std::int64_t step, double normaliser, bool first_of_epoch) override {
        responses_.advance(optimiser_.decay_factor(step), optimiser_.gradient_factor(step, normaliser),
                           gamma_units_, first_of_epoch);
    }
    std::int64_t radius() const override { return responses_.radius(); }

  private:
    Sgd optimiser_;
    std::int64_t gamma_units_;
    EpochResponses<64> responses_;
};

std::unique_ptr<ImpulseResponse> Sgd::impulse_response(std::int64_t gamma_units) const {
    return std::make_unique<SgdResponse>(*this, gamma_units);
}

}  // namespace

std::unique_ptr<Optimiser> make_sgd(const TrainingSettings& settings, int gradient_exponent) {
    return std::make_unique<Sgd>(settings, gradient_exponent);
}

}  // namespace holdfast
