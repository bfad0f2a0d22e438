#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// Counts of votes with normal noise. A noisy count is round(2^u (count + X)), X normal with mean 0 and a
/// standard deviation of at least `sigma`, u public: a function of count + X, so that it protects what count
/// + X does (models/privacy/mathematics.md, exact normal). u is as large as numbers of 64 bits allow, so that
/// two noisy counts agree with a probability of 2^-30 at most and no law shows it.
class GaussianCounts {
  public:
    /// Of counts in [0, members], members in [1, 2^20]; sigma in [2^-12, 2^50].
    GaussianCounts(const Rational& sigma, std::int64_t members);

    double sigma() const;  ///< of a count, as drawn
    /// In units of 2^-u; clamped to +-2^61, far beyond any count.
    std::int64_t draw(std::int64_t count, RandomBits& bits) const;
    /// A public number, as a noisy count is compared with it.
    std::int64_t in_units(const Rational& count) const;

    /// The probability with which each count is the greatest, once noise is on all of them: to a relative
    /// error of 1e-12, where it is above 1e-300. [votes.size()]
    std::vector<double> greatest(const std::vector<std::int64_t>& votes) const;

  private:
    int unit_bits_;  // u
    double sigma_units_;
    GaussianNoise noise_;
};

/// The standard deviation with which counts are `share` of mu^2 private (mu-Gaussian differentially private),
/// where a record moves them by a 2-norm of sqrt(squared_sensitivity). Rounded up.
Rational gaussian_deviation(const Rational& mu, const Rational& squared_sensitivity, const Rational& share);

}  // namespace holdfast
