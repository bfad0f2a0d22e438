#pragma once

#include <cstdint>

#include "models/privacy/rational.hpp"

namespace holdfast {

// What trials prove about epsilon: lower bounds, every one of them rounded down, that are wrong with
// probability at most `error` over the trials (0 < error < 1/2).

/// Bounds of a proportion of which `successes` of `trials` were seen (Clopper and Pearson 1934): the greatest
/// multiple of 2^-24 with P(Binomial(trials, p) >= successes) <= error, and the least by symmetry.
Rational proportion_lower(std::int64_t successes, std::int64_t trials, const Rational& error);
Rational proportion_upper(std::int64_t successes, std::int64_t trials, const Rational& error);

/// An event has probability p or more in one world, and q or less in its neighbour: ln((p - delta)/q), at
/// least 0, is a lower bound of any epsilon that goes with delta. A q of 0 counts as 2^-4096.
Rational epsilon_of_event(const Rational& p, const Rational& q, const Rational& delta);

/// One run (Steinke, Nasr, Jagielski 2023, corollary 5.4): each of `canaries` was in or out by a coin; of
/// `guesses` made, a number fixed beforehand, `correct` were right. A lower bound of epsilon with delta for
/// one record added or removed.
Rational epsilon_of_guesses(std::int64_t canaries, std::int64_t guesses, std::int64_t correct,
                            const Rational& delta, const Rational& error);

}  // namespace holdfast
