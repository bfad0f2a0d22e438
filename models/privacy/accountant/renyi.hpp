#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/rational.hpp"

namespace holdfast {

// Renyi differential privacy (Mironov 2017). A mechanism has a curve: rho(a) >= D_a(M(D) || M(D')) for every
// order a of renyi_orders() and all neighbours D, D'. Curves of mechanisms that follow each other add up,
// entry by entry, whatever order is looked at in the end. Every number here is an upper bound (budgets: a
// lower one); an entry that had to be rounded has 64 significant bits. Errors (ExitCode::usage): an epsilon
// or rho below 0, an order below 2, a delta outside (0, 1).

/// 2, 3, …, 64, then four to each doubling, up to 2048.
const std::vector<std::int64_t>& renyi_orders();

/// Of any epsilon-differentially private mechanism: the curve of randomised response
/// (models/privacy/mathematics.md, pure curve). [renyi_orders().size()]
std::vector<Rational> renyi_curve_of_pure(const Rational& epsilon);
/// Of a rho-zCDP mechanism (Bun and Steinke 2016): a rho, exactly. A Gaussian of 2-norm sensitivity s and
/// deviation sigma has rho = s^2/(2 sigma^2), so has a discrete one. [renyi_orders().size()]
std::vector<Rational> renyi_curve_of_concentrated(const Rational& rho);

/// The epsilon for delta that D_a <= rho proves (models/privacy/mathematics.md, conversion); at least 0.
Rational epsilon_of_renyi(std::int64_t order, const Rational& rho, const Rational& delta);
/// The least over the orders. `curve`: [renyi_orders().size()], else ExitCode::internal.
Rational epsilon_of_renyi_curve(const std::vector<Rational>& curve, const Rational& delta);
/// The largest rho whose conversion is at most epsilon, rounded down; below 0: there is none.
Rational renyi_budget(std::int64_t order, const Rational& epsilon, const Rational& delta);
/// The order at which the largest Gaussian fits the budget: public, a function of the budget alone.
std::int64_t order_for_budget(const Rational& epsilon, const Rational& delta);

}  // namespace holdfast
