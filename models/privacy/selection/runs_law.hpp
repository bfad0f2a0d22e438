#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// How many runs are made of which the best alone is released: a number K that stays secret, of a public law
/// (models/privacy/mathematics.md, private selection; Papernot and Steinke 2022). Each run is mu-Gaussian
/// private.
class RunsLaw {
  public:
    /// poisson: K may be 0, and nothing is released then. logarithmic and geometric: the negative binomials
    /// of eta 0 and 1, K >= 1.
    enum class Kind { poisson, logarithmic, geometric };

    /// "poisson", "logarithmic" or "geometric", and the mean of K. Errors (usage): another name; a mean
    /// outside [1, 100], or of 1 where K would be no secret.
    static RunsLaw of(const std::string& name, std::int64_t mean);

    Kind kind() const { return kind_; }
    const char* name() const;
    std::int64_t mean() const { return mean_; }
    const Rational& gamma() const { return gamma_; }  ///< of a negative binomial; else 0
    /// Renyi curve of what is released, of runs with mu^2 > 0. [renyi_orders().size()]
    std::vector<Rational> curve(const Rational& mu_squared) const;
    /// The mu^2 of a run that lets what is released cost no more than (epsilon, delta); nearly the largest.
    /// Errors (usage): epsilon <= 0, delta outside (0, 1), or none is left.
    Rational mu_squared_for(const Rational& epsilon, const Rational& delta) const;
    /// K, exactly by its law.
    std::int64_t draw(RandomBits& bits) const;

  private:
    RunsLaw(Kind kind, std::int64_t mean);

    Kind kind_;
    std::int64_t mean_;
    Rational gamma_, log_of_inverse_gamma_, log_of_mean_;  // the logarithms from above
};

extern const char* const selection_mechanism;        ///< of the payment for the models
extern const char* const selection_score_mechanism;  ///< and for the scores, of those held out

}  // namespace holdfast
