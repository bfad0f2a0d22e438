#pragma once

#include "models/privacy/rational.hpp"

namespace holdfast {

// The Gaussian mechanism, exactly (Balle and Wang 2018; Dong, Roth, Su 2022): with 2-norm sensitivity s and
// deviation sigma it is mu-GDP for mu = s/sigma, and mechanisms of mu_1, mu_2, … that follow each other are
// sqrt(mu_1^2 + mu_2^2 + …)-GDP. delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), no less and no
// more. Errors (ExitCode::usage): mu or epsilon below 0, delta outside (0, 1).

/// delta(epsilon), rounded up; at most 1, and at least 2^-65536 unless mu is 0.
Rational gaussian_delta(const Rational& mu, const Rational& epsilon);
/// The least epsilon with delta(epsilon) <= delta, rounded up by less than 2^-40 of it.
Rational gaussian_epsilon(const Rational& mu, const Rational& delta);
/// The largest mu with delta(epsilon) <= delta, rounded down by less than 2^-40 of it. 0 < mu <= 4096.
Rational gaussian_mu(const Rational& epsilon, const Rational& delta);
/// A mu that every epsilon-differentially private mechanism has: -2 Phi^-1(1/(1 + e^epsilon)), rounded up by
/// less than 2^-40 of it (models/privacy/mathematics.md, gaussian filter).
Rational gaussian_mu_of_pure(const Rational& epsilon);

/// Phi(-x), the normal law's mass beyond x, from below and from above. |x| <= 8192.
Rational normal_tail_lower(const Rational& x);
Rational normal_tail_upper(const Rational& x);
/// The same up to the rounding of long double: for guesses that are verified.
long double near_normal_tail(long double x);

}  // namespace holdfast
