#include "models/training/optimiser.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {

namespace {

using Wide = __int128;
static_assert((Wide{-1} >> 1) == -1, "the shift of a negative number rounds down");

std::int64_t saturated(Wide value) {
    return static_cast<std::int64_t>(std::clamp<Wide>(value, -parameter_limit_units, parameter_limit_units));
}

// Beyond this a radius says nothing: every parameter is inside.
constexpr std::int64_t radius_limit = 2 * parameter_limit_units;

class Sgd final : public Optimiser {
  public:
    Sgd(const Settings& settings, int grid_exponent) : settings_(settings), grid_exponent_(grid_exponent) {
        if (settings.learning_rate_at(0) * settings.l2 > 1.0) {
            throw Error(ExitCode::usage,
                        "learning_rate * l2 = " + std::to_string(settings.learning_rate_at(0) * settings.l2) +
                            " exceeds 1",
                        "lower training.l2 or training.learning_rate", "training.l2");
        }
    }

    void update(std::int64_t step, double normaliser, std::span<std::int64_t> parameters,
                std::span<const std::int64_t> sums) const override {
        const Factor gradient = gradient_factor(step, normaliser), decay = decay_factor(step);
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const Wide kept = Wide{parameters[p]} - decay.apply(parameters[p]);
            parameters[p] = saturated(kept - gradient.apply(sums[p]));
        }
    }

    std::unique_ptr<ImpulseResponse> impulse_response(std::int64_t gamma_units) const override;

    Factor gradient_factor(std::int64_t step, double normaliser) const {
        return Factor(std::ldexp(settings_.learning_rate_at(step) / normaliser, grid_exponent_) /
                      parameter_unit);
    }
    Factor decay_factor(std::int64_t step) const {
        return Factor(settings_.learning_rate_at(step) * settings_.l2);
    }

  private:
    Settings settings_;
    int grid_exponent_;
};

/// A record acts at one step of each epoch: by at most ceil(alpha Gamma / B), which then decays. For each
/// epoch the largest response over its steps is kept; the map r -> r - floor(alpha l2 r) is non-decreasing,
/// so the largest stays the largest, and it bounds |f(theta + r) - f(theta)| for f(theta) = theta -
/// floor(alpha l2 theta + 1/2).
class SgdResponse final : public ImpulseResponse {
  public:
    SgdResponse(const Sgd& optimiser, std::int64_t gamma_units)
        : optimiser_(optimiser), gamma_units_(gamma_units) {}

    void advance(std::int64_t step, double normaliser, bool first_of_epoch) override {
        if (first_of_epoch) epochs_.push_back(0);
        const Factor decay = optimiser_.decay_factor(step);
        for (std::int64_t& response : epochs_) response -= decay.apply_down(response);
        const std::int64_t impulse = optimiser_.gradient_factor(step, normaliser).apply_up(gamma_units_);
        epochs_.back() = std::max(epochs_.back(), std::min(impulse, radius_limit));
    }
    std::int64_t radius() const override {
        Wide sum = 0;
        for (const std::int64_t response : epochs_) sum += response;
        return static_cast<std::int64_t>(std::min<Wide>(sum, radius_limit));
    }

  private:
    Sgd optimiser_;
    std::int64_t gamma_units_;
    std::vector<std::int64_t> epochs_;
};

std::unique_ptr<ImpulseResponse> Sgd::impulse_response(std::int64_t gamma_units) const {
    return std::make_unique<SgdResponse>(*this, gamma_units);
}

Wide shifted(Wide product, int shift, Wide rounding) {
    return (product + rounding) >> shift;
}
std::int64_t narrowed(Wide value) {
    return static_cast<std::int64_t>(std::clamp<Wide>(value, INT64_MIN / 2, INT64_MAX / 2));
}

}  // namespace

Factor::Factor(double value) {
    ensure(std::isfinite(value) && value >= 0, "a factor is finite and non-negative");
    if (value == 0) return;
    int exponent = 0;
    const double fraction =
        std::frexp(value, &exponent);  // value = fraction 2^exponent, fraction in [1/2, 1)
    significand_ = static_cast<std::int64_t>(std::ldexp(fraction, 62));
    shift_ = 62 - exponent;
    if (shift_ < 0)
        throw Error(ExitCode::usage, "the step is too long: one gradient moves a parameter out of range",
                    "lower training.learning_rate", "training.learning_rate");
    if (shift_ > 125) {  // below what an int64 can resolve: no units survive, but keep the rounding exact
        significand_ = shift_ - 125 > 62 ? 0 : significand_ >> (shift_ - 125);
        shift_ = 125;
    }
}

std::int64_t Factor::apply(std::int64_t units) const {
    const Wide half = shift_ == 0 ? 0 : Wide{1} << (shift_ - 1);
    return narrowed(shifted(Wide{significand_} * units, shift_, half));
}
std::int64_t Factor::apply_up(std::int64_t units) const {
    return narrowed(shifted(Wide{significand_} * units, shift_, (Wide{1} << shift_) - 1));
}
std::int64_t Factor::apply_down(std::int64_t units) const {
    return narrowed(shifted(Wide{significand_} * units, shift_, 0));
}

std::unique_ptr<Optimiser> make_sgd(const Settings& settings, int gradient_exponent) {
    return std::make_unique<Sgd>(settings, gradient_exponent);
}

}  // namespace holdfast
