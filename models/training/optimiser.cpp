#include "models/training/optimiser.hpp"

#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {

Factor factor_of(double value) {
    constexpr int significand_bits = UpdateLimits<64>::significand_bits,
                  greatest_shift = UpdateLimits<64>::greatest_shift;
    ensure(std::isfinite(value) && value >= 0, "a factor is finite and non-negative");
    if (value == 0) return {0, greatest_shift};
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

std::unique_ptr<Optimiser> make_optimiser(const TrainingSettings& settings, int gradient_exponent) {
    const auto make = settings.averaged_momentum() ? make_averaged_momentum
                      : settings.momentum > 0      ? make_momentum
                                                   : make_sgd;
    return make(settings, gradient_exponent);
}

}  // namespace holdfast
