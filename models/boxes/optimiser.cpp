#include "models/boxes/optimiser.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {

namespace {

class Sgd final : public Optimiser {
  public:
    Sgd(const Settings& settings, int grid_exponent) : settings_(settings), grid_exponent_(grid_exponent) {
        if (settings.training.learning_rate_at(0) * settings.training.l2 > 1.0) {
            throw Error(ExitCode::usage,
                        "learning_rate * l2 = " +
                            std::to_string(settings.training.learning_rate_at(0) * settings.training.l2) +
                            " exceeds 1",
                        "lower training.l2 or training.learning_rate", "training.l2");
        }
    }

    void update(std::int64_t step, double normaliser, std::span<std::int64_t> parameters,
                std::span<const std::int64_t> sums) const override {
        const Factor gradient = gradient_factor(step, normaliser), decay = decay_factor(step);
        for (std::size_t p = 0; p < parameters.size(); ++p)
            parameters[p] = updated(decay, gradient, parameters[p], sums[p]);
    }

    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override;

    Factor gradient_factor(std::int64_t step, double normaliser) const {
        return factor_of(std::ldexp(settings_.training.learning_rate_at(step) / normaliser, grid_exponent_) /
                         parameter_unit);
    }
    Factor decay_factor(std::int64_t step) const {
        return factor_of(settings_.training.learning_rate_at(step) * settings_.training.l2);
    }

  private:
    Settings settings_;
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

Factor factor_of(double value) {
    constexpr int significand_bits = UpdateLimits<64>::significand_bits,
                  greatest_shift = UpdateLimits<64>::greatest_shift;
    ensure(std::isfinite(value) && value >= 0, "a factor is finite and non-negative");
    if (value == 0) return {0, 0};
    int exponent = 0;
    const double fraction =
        std::frexp(value, &exponent);  // value = fraction 2^exponent, fraction in [1/2, 1)
    const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, significand_bits));
    const int shift = significand_bits - exponent, excess = shift - greatest_shift;
    if (shift < 0)
        throw Error(ExitCode::usage, "the step is too long: one gradient moves a parameter out of range",
                    "lower training.learning_rate", "training.learning_rate");
    if (excess <= 0) return {significand, shift};
    return {excess > significand_bits ? 0 : significand >> excess, greatest_shift};
}

std::unique_ptr<Optimiser> make_sgd(const Settings& settings, int gradient_exponent) {
    return std::make_unique<Sgd>(settings, gradient_exponent);
}

}  // namespace holdfast
