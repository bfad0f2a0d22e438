#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast {

/// Public parameters of a mechanism. None may be computed from the private records.
struct MechanismParameters {
    double epsilon = 0;    ///< per answer, in [1e-6, 1000]; means its shortest decimal exactly (0.1 is 1/10)
    double delta = 0;      ///< per answer, 0 or in [1e-30, 1)
    int classes = 2;       ///< in [2, 4096]
    std::int64_t cap = 0;  ///< the largest distance evidence can have, >= 0
    std::int64_t members = 0;  ///< ensemble size; 0 for a single model
    /// Of a gaussian mechanism, in place of epsilon and delta (both 0): the mu of one answer, in [1e-6,
    /// 1000].
    double mu = 0;
    /// In [0, 1], of the members: what a mechanism that takes a threshold asks for before it answers; unset:
    /// default_threshold.
    std::optional<double> threshold = std::nullopt;
};

/// Above the half that one of two classes always has, below what members mostly agree on.
inline constexpr double default_threshold = 0.7;

/// A mechanism ready to answer: its integer tables are built once, from public parameters only.
class Mechanism {
  public:
    /// Errors (ExitCode::usage), each naming the option: unknown name; epsilon or delta NaN, infinite or out
    /// of range; delta missing or not taken; likewise the threshold; more than two classes with a binary
    /// mechanism; votes needed and no ensemble.
    Mechanism(const std::string& name, const MechanismParameters& parameters);

    const MechanismInfo& info() const { return *info_; }
    const MechanismParameters& parameters() const { return parameters_; }
    const Rational& epsilon() const { return epsilon_; }
    const Rational& delta() const { return delta_; }
    const Rational& mu() const { return mu_; }  ///< of a gaussian mechanism, else 0
    std::size_t outcomes() const;               ///< classes, plus one (the last: refused) if it may refuse

    /// Probability of every outcome, to double precision; nothing is sampled. [outcomes]
    /// law(evidence)[true label] is the exact expected private accuracy on that query.
    std::vector<double> law(const Evidence& evidence) const;
    /// The law of `draw` as fractions, for tests of the privacy loss (permutations counted as uniform, ties
    /// of noisy counts as split evenly; the slack in the tables pays for the 2^-100 by which the drawn bits
    /// miss that). Slow for many classes. Of mechanisms with normal noise no probability is a fraction: of
    /// these, that of `law`, to double precision.
    std::vector<Rational> exact_law(const Evidence& evidence) const;

    /// One label, or `refused`. The number of random bits and of operations depends on public parameters
    /// only; with normal noise on these and the bits themselves. Call it once an answer, after the ledger has
    /// charged it. Error (ExitCode::usage) for a mechanism that is not differentially private;
    /// (ExitCode::input) for evidence that does not fit the parameters.
    int draw(const Evidence& evidence, RandomBits& bits) const;

    /// What one answer guarantees. `relation`: "add_remove" or "substitute"; others are refused
    /// (ExitCode::usage).
    Guarantee guarantee(const std::string& relation) const;

  private:
    void check(const Evidence& evidence) const;

    const MechanismInfo* info_;
    MechanismParameters parameters_;
    Rational epsilon_, delta_, mu_;
    std::unique_ptr<const OutcomeLaw> law_;
};

}  // namespace holdfast
