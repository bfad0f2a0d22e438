#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/privacy/noise/laplace_noise.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// What a vector of integers needs for (epsilon, delta)-differential privacy where neighbours are at most
/// `sensitivity` apart in the 2-norm (models/privacy/mathematics.md, output noise): with delta > 0 Gaussian
/// noise, of the least deviation that a single Gaussian mechanism may have; with delta = 0 Laplace noise for
/// the 1-norm sqrt(values) * sensitivity.
class OutputNoise {
  public:
    /// sensitivity > 0 in units, values > 0. Error (usage): epsilon <= 0, delta outside [0, 1), or noise
    /// beyond all that parameters can hold.
    static OutputNoise of(const Rational& epsilon, const Rational& delta, const Rational& sensitivity,
                          std::size_t values);

    const std::string& law() const { return law_; }  ///< "gaussian" or "laplace"
    /// In units: a Gaussian's standard deviation, or s of exp(-|k|/s).
    double scale() const { return scale_; }
    /// Of Renyi differential privacy. [renyi_orders().size()]
    const std::vector<Rational>& curve() const { return curve_; }
    /// Of Gaussian noise, which is mu-Gaussian differentially private.
    const std::optional<Rational>& mu_squared() const { return mu_squared_; }

    /// Adds the noise of a key that is used for nothing else, and clamps to the limit of parameters (2^60
    /// units), within which `values` must lie.
    void add_to(std::span<std::int64_t> values, const SecretKey& key) const;

  private:
    using Noise = std::variant<GaussianNoise, LaplaceNoise>;
    OutputNoise(std::string law, double scale, std::vector<Rational> curve,
                std::optional<Rational> mu_squared, Noise noise)
        : law_(std::move(law)),
          scale_(scale),
          curve_(std::move(curve)),
          mu_squared_(std::move(mu_squared)),
          noise_(noise) {}

    std::string law_;
    double scale_;
    std::vector<Rational> curve_;
    std::optional<Rational> mu_squared_;
    Noise noise_;
};

}  // namespace holdfast
