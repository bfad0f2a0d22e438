#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/guarantee.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// Renyi divergence of order `order` > 1 of an answer about this dataset from that about any neighbour, at
/// most: where one outcome is nearly sure here, it is nearly sure there (Papernot et al. 2018, theorem 6;
/// models/privacy/mathematics.md, data-dependent cost). The mechanism is mu-Gaussian differentially private,
/// and gives another outcome than the likeliest one with probability `otherwise` in [0, 1]. At most order
/// mu^2/2.
double data_dependent_divergence(double order, double mu, double otherwise);

/// What many answers of one mechanism cost where the votes were as they were. It depends on the votes: for
/// their owner alone, never for a release, whose cost is that of any votes.
class DataDependentCost {
  public:
    explicit DataDependentCost(double mu);

    /// So many answers more, each drawn with these probabilities of its outcomes.
    void add(const std::vector<double>& law, std::int64_t answers = 1);
    std::int64_t answers() const { return answers_; }
    /// The epsilon of all of them for delta in (0, 1), by conversion at the best order.
    double epsilon(const Rational& delta) const;

    static Guarantee guarantee();

  private:
    double mu_;
    std::int64_t answers_ = 0;
    std::vector<double> curve_;  ///< [renyi_orders().size()]
};

}  // namespace holdfast
