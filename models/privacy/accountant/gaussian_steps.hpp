#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/privacy/rational.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

/// `steps` steps that follow each other, each: the sum over the records, every one taken with probability
/// sampling_rate (independently, anew in each step), of a vector of 2-norm <= 1, plus N(0,
/// noise_multiplier^2) in every coordinate. A vector may depend on its own record and on what earlier steps
/// gave. 0 < sampling_rate <= 1; 2^-6 <= noise_multiplier <= 2^40; 1 <= steps <= 2^40; relation add_remove
/// or substitute.
struct GaussianSteps {
    Rational sampling_rate;
    double noise_multiplier = 0;
    std::int64_t steps = 0;
    Relation relation = Relation::add_remove;
};

/// An upper bound, and which accountant gave it: "gdp" (Gaussian differential privacy of those whom any step
/// takes, exact without sampling), "rdp" (Renyi) or "pld" (the distribution of the privacy loss).
struct StepsCost {
    Rational epsilon;
    std::string accountant;
};

inline constexpr double least_multiplier = 0x1p-6, largest_multiplier = 0x1p40;

/// Error (ExitCode::usage) that names the field, unless all of the above holds.
void check(const GaussianSteps& steps);
/// The 2-norm distance of the sums of neighbouring datasets: 1, or 2 for a substitution.
int reach_of(Relation relation);

// All results are upper bounds. Errors (ExitCode::usage): those of check, delta outside (0, 1).

/// The least epsilon for delta that any accountant proves; a little more, and sooner, where losses are
/// counted on a grid that is `coarser` by so many doublings of its unit.
StepsCost cost_of(const GaussianSteps& steps, const Rational& delta, unsigned coarser = 0);
/// A multiplier whose cost_of(…).epsilon is surely at most `epsilon`: the least decimal of 5 digits, or one
/// that leaves less than 2^-13 of the budget. Error (ExitCode::usage): epsilon <= 0, or none of the range
/// serves.
double noise_multiplier_for(const Rational& epsilon, const Rational& delta, const Rational& sampling_rate,
                            std::int64_t steps, Relation relation);
/// The curve of all steps together. [renyi_orders().size()]
std::vector<Rational> renyi_curve(const GaussianSteps& steps);

}  // namespace holdfast
