#include "models/privacy/noise/output_noise.hpp"

#include <algorithm>

#include "kernels/base/arithmetic.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"

namespace holdfast {
namespace {

[[noreturn]] void refuse_noise() {
    throw Error(ExitCode::usage, "at this epsilon the noise is beyond all that parameters hold",
                "ask for a larger epsilon, or train so that one record moves less: more records, a larger "
                "training.l2",
                "--epsilon");
}

/// Rounded up, so that what is drawn is never too little.
GaussianNoise gaussian_of(const Rational& mu, const Rational& sensitivity) {
    const double sigma = std::max(round_up(sensitivity / mu), GaussianNoise::least_sigma);
    if (!(sigma <= GaussianNoise::greatest_sigma)) refuse_noise();
    return GaussianNoise(sigma);
}

LaplaceNoise laplace_of(const Rational& epsilon, const Rational& sensitivity, std::size_t values) {
    const Integer scale = ceil(sqrt_upper(values) * sensitivity / epsilon);
    if (scale > as_rational(LaplaceNoise::greatest_scale)) refuse_noise();
    return LaplaceNoise(std::max<std::int64_t>(scale.get_si(), 1));
}

}  // namespace

OutputNoise OutputNoise::of(const Rational& epsilon, const Rational& delta, const Rational& sensitivity,
                            std::size_t values) {
    ensure(sensitivity > 0 && values > 0, "noise is for values that a record moves");
    if (epsilon <= 0) throw Error(ExitCode::usage, "not above 0", "give a number such as 1", "--epsilon");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0 or a value such as 1e-6", "--delta");
    if (delta == 0) {
        LaplaceNoise noise = laplace_of(epsilon, sensitivity, values);
        return {"laplace", static_cast<double>(noise.scale()), renyi_curve_of_pure(epsilon), std::nullopt,
                noise};
    }
    const Rational mu = gaussian_mu(epsilon, delta);
    GaussianNoise noise = gaussian_of(mu, sensitivity);
    return {"gaussian", noise.sigma(), renyi_curve_of_concentrated(mu * mu / 2), mu * mu, noise};
}

void OutputNoise::add_to(std::span<std::int64_t> values, const SecretKey& key) const {
    std::vector<std::int64_t> noise(values.size());
    std::visit([&](const auto& law) { law.fill(noise, key, 0); }, noise_);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::clamp(values[i] + noise[i], -parameter_limit_units, parameter_limit_units);
}

}  // namespace holdfast
