#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/rational.hpp"

namespace holdfast {

/// How a number of answers is drawn so that all of them together keep to one (epsilon, delta). Public.
struct TotalRoute {
    std::string mechanism;     ///< "stable_rr" or "stable_gauss"
    std::int64_t answers = 0;  ///< all together
    double epsilon = 0;        ///< of each, by stable_rr; else 0
    double mu = 0;             ///< of each, by stable_gauss; else 0

    Rational mu_squared() const;          ///< of all together: what an account of Gaussian privacy adds
    std::vector<Rational> curve() const;  ///< of all together. [renyi_orders().size()]
};

/// The largest mu of one of many answers, a double that means its shortest decimal: answers mu^2 <=
/// gaussian_mu(epsilon, delta)^2.
double mu_for_answers(const Rational& epsilon, const Rational& delta, std::int64_t answers);

/// Chosen from public numbers alone. stable_rr at the largest epsilon whose optimal composition fits, or
/// stable_gauss at its share of mu: whichever keeps the label more often on average over the distances 0, …,
/// min(cap, 2/epsilon of one answer by stable_rr), where answers are in doubt at all. Without delta there is
/// stable_rr alone. `mechanism`: "auto", or the name of one. Errors (ExitCode::usage): epsilon or delta out
/// of range; no such route; so many answers that nothing is left for one.
TotalRoute route_for_total(const Rational& epsilon, const Rational& delta, std::int64_t answers, int classes,
                           std::int64_t cap, const std::string& mechanism);

}  // namespace holdfast
