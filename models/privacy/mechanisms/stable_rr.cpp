// The default: the least flip that keeps every ratio, for any number of classes, pure or with delta; optimal
// among binary symmetric mechanisms. Two classes, pure: flip with e^(-eps h)/(1 + e^eps).

#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

/// Q(0) = (1-delta)/(e^eps + C - 1).
std::unique_ptr<const OutcomeLaw> stable_rr_law(const LawParameters& p) {
    const Rational scale(power_of_two(128));
    const Integer first = ceil(scale * (1 - p.delta) / (exp_lower(p.epsilon) + (p.classes - 1)));
    return make_flip_law(least_flip_table(first, p.epsilon, p.delta, p.classes, p.cap), p.classes,
                         DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo stable_rr{
    .name = "stable_rr",
    .law =
        "keep the label with s(h), s(0) = (e^eps + delta (C-1))/(e^eps + C-1); two classes: flip with "
        "e^(-eps h)/(1 + e^eps)",
    .takes_delta = true,
    .condition = nested_distances,
    .make_law = stable_rr_law,
};

}  // namespace holdfast::mechanisms
