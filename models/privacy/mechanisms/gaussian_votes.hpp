#pragma once

#include "models/privacy/mechanisms/gaussian_counts.hpp"
#include "models/privacy/mechanisms/outcome_law.hpp"

namespace holdfast {

/// A member changes its vote: two counts move by one each.
inline constexpr int squared_change_of_counts = 2;

inline constexpr const char* normal_noise_on_votes =
    "each record is assigned to its ensemble member by a keyed hash of its own id, and nobody times the "
    "draws of normal noise, which take as long as its bits say (and no record)";

/// Laws of votes with normal noise: their fractions are their doubles.
class GaussianVotesLaw : public OutcomeLaw {
  public:
    std::vector<Rational> exact_law(const Evidence& evidence) const final;
};

/// The class of the greatest noisy count; the least index of equal ones.
int draw_greatest(const GaussianCounts& counts, const std::vector<std::int64_t>& votes, RandomBits& bits);

}  // namespace holdfast
