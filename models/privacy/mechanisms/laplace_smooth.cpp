// Laplace noise for a smooth bound of the sensitivity, which costs a delta.

#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> laplace_smooth_law(const LawParameters& p) {
    // beta = epsilon/(2 ln(2/delta)) bounded below, so that the scale 2 e^(-beta h)/epsilon is bounded above.
    const Rational beta = p.epsilon / (2 * log_upper(2 / p.delta));
    const auto upper = [&](std::int64_t h) {
        return Rational(exp_upper(-p.epsilon * exp_lower(beta * Rational(h)) / 4) /
                        2);  // exp(-1/(2 scale))/2
    };
    return make_flip_law(binary_table(p.epsilon, p.delta, p.cap, upper), p.classes, DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo laplace_smooth{
    .name = "laplace_smooth",
    .law = "flip with e^(-1/(2 s))/2, s = 2 e^(-beta h)/eps, beta = eps/(2 ln(2/delta))",
    .takes_delta = true,
    .needs_delta = true,
    .binary_only = true,
    .condition = nested_distances,
    .make_law = laplace_smooth_law,
};

}  // namespace holdfast::mechanisms
