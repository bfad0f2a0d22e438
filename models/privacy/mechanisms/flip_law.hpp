#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "models/privacy/mechanisms/outcome_law.hpp"
#include "models/privacy/mechanisms/probability_table.hpp"

namespace holdfast {

// Mechanisms that keep the label or move to another class, by one distance: each is its table.

/// A class other than the label is released with probability entry/2^128 each, the label with the rest.
using FlipTable = ProbabilityTable;

/// Which distance of the evidence a flip law reads.
enum class DistanceUsed { stable, none, sparse };

std::unique_ptr<const OutcomeLaw> make_flip_law(FlipTable table, int classes, DistanceUsed used);

/// The least table after its entry `first`, of distance 0, that is (epsilon, delta)-private between equal
/// labels (models/privacy/mathematics.md, stable randomised response), written for what is left over to each
/// other class: Q(h+1) = max(0, e^-eps (Q - delta/(C-1)), (1 - e^eps s(h) - delta)/(C-1)), s = 1 - (C-1) Q.
/// Ensures that Q(0) <= e^eps s(0), rounded up as it is: C (e^eps + C - 1) <= 2^128 (e^eps - 1) is enough.
FlipTable least_flip_table(const Integer& first, const Rational& epsilon, const Rational& delta, int classes,
                           std::int64_t cap);

/// Two classes, any flip law p <= 1/2 that is (epsilon, delta)-private: P(h+1) = max(ceil(2^128 p(h+1)),
/// ceil(e^-eps (P(h) - 2^128 delta))). `upper(h)` bounds p(h) from above and does not increase.
FlipTable binary_table(const Rational& epsilon, const Rational& delta, std::int64_t cap,
                       const std::function<Rational(std::int64_t)>& upper);

}  // namespace holdfast
