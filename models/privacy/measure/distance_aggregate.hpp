#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/privacy/evidence.hpp"
#include "models/privacy/noise/output_noise.hpp"

namespace holdfast {

/// One number of the stable distances of a public file of queries, each of which moves by at most 1 between
/// neighbours (models/privacy/mathematics.md, aggregates of distances): their sum, or one of them by its
/// rank.
struct DistanceAggregate {
    static constexpr std::int64_t unit = 1 << 16;  ///< of a distance: what noise is rounded to

    std::string name;
    std::size_t queries = 0;
    std::size_t rank = 0;  ///< the rank-th least of them, from 1; 0: the sum
    bool right = false;    ///< a distance counts 0 where the label is not the true one

    /// "mean", "least", "quantile:P", "certified:S" (the largest k at which the share S of the file is
    /// certified) or "right:S" (and the label is the true one); P and S in (0, 1] mean their decimals. Errors
    /// (usage): none of these; no query.
    static DistanceAggregate of(const std::string& text, std::size_t queries);

    /// By how many units a neighbour moves it.
    std::int64_t sensitivity() const;
    /// Without noise, in units. `truth`: [queries], of `right` alone.
    std::int64_t units_of(std::span<const Evidence> evidence, std::span<const std::int32_t> truth) const;
    /// What units say: a distance.
    double distance(double units) const;
    /// What makes it cost (epsilon, delta). Errors (usage): as of OutputNoise.
    OutputNoise noise(const Rational& epsilon, const Rational& delta) const;
    /// With the noise of fresh bits.
    std::int64_t noisy(std::span<const Evidence> evidence, std::span<const std::int32_t> truth,
                       const OutputNoise& noise) const;
};

extern const char* const aggregate_mechanism;

}  // namespace holdfast
