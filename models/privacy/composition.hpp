#pragma once

#include <cstdint>

#include "models/privacy/rational.hpp"

namespace holdfast {

// What `answers` answers cost together, each epsilon-differentially private (pure), epsilon fixed beforehand;
// the queries may be chosen as answers come. Every result is an upper bound: rounding is upward throughout.
// Errors (ExitCode::usage): epsilon <= 0, answers < 0, delta outside [0, 1).

/// answers * epsilon, exactly; costs no delta.
Rational basic_composition(const Rational& epsilon, std::int64_t answers);
/// k eps (e^eps - 1)/(e^eps + 1) + eps sqrt(2 k ln(1/delta)) (Dwork, Rothblum, Vadhan 2010, with the mean of
/// randomised response: Kairouz, Oh, Viswanath 2015, theorem 3.4). With delta = 0 it is the basic bound.
Rational advanced_composition(const Rational& epsilon, std::int64_t answers, const Rational& delta);
/// The least epsilon that holds for every epsilon-private mechanism (Kairouz, Oh, Viswanath 2015,
/// theorem 3.3): k-fold randomised response attains it. Exact between the grid points (k - 2i) epsilon too.
Rational optimal_composition(const Rational& epsilon, std::int64_t answers, const Rational& delta);
/// The least of the three.
Rational least_composition(const Rational& epsilon, std::int64_t answers, const Rational& delta);

/// The largest epsilon of one answer, to about 1 in 10000, with least_composition(epsilon, answers, delta) <=
/// total: a double that means its shortest decimal (decimal_value). Error (ExitCode::usage): total <= 0,
/// answers < 1, delta outside [0, 1).
double epsilon_for_answers(const Rational& total, const Rational& delta, std::int64_t answers);

}  // namespace holdfast
