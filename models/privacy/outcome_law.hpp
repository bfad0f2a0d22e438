#pragma once

#include <memory>
#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"
#include "models/privacy/tables.hpp"

namespace holdfast {

/// The law of one family of mechanisms, over checked evidence. Outcomes are classes; `ptr` adds "refused" as
/// the last.
class OutcomeLaw {
  public:
    virtual ~OutcomeLaw() = default;
    virtual std::vector<double> law(const Evidence& evidence) const = 0;
    virtual std::vector<Rational> exact_law(const Evidence& evidence) const = 0;
    virtual int draw(const Evidence& evidence, RandomBits& bits) const = 0;
};

/// Which distance of the evidence a flip law reads.
enum class DistanceUsed { stable, none, sparse };

/// Keep the label, or move to another class, each with probability table[h]/2^128.
std::unique_ptr<const OutcomeLaw> make_flip_law(FlipTable table, int classes, DistanceUsed used);
/// Release the label with probability table[h]/2^128, else refuse.
std::unique_ptr<const OutcomeLaw> make_release_or_refuse_law(std::vector<Word128> table, int classes);
/// P(j) ~ weights[d_j]; weights[0] = 2^112.
std::unique_ptr<const OutcomeLaw> make_exponential_law(std::vector<Word128> weights);
/// Classes in random order, each accepted with probability weights[d_j]/2^112 (McKenna and Sheldon 2020).
std::unique_ptr<const OutcomeLaw> make_permute_and_flip_law(std::vector<Word128> weights);
/// The class of the greatest noisy count, ties drawn at random.
std::unique_ptr<const OutcomeLaw> make_noisy_argmax_law(NoiseTable table);

}  // namespace holdfast
