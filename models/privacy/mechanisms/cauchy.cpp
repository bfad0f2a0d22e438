// What 000 releases: noise of Cauchy's law, scaled by a smooth bound of the sensitivity.

#include "models/privacy/mechanisms/cauchy.hpp"

#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast {

FlipTable cauchy_table(const Rational& epsilon, std::int64_t cap) {
    return binary_table(epsilon, 0, cap, [&](std::int64_t h) {
        return atan_over_pi_upper(12 * exp_upper(-epsilon * Rational(h) / 6) / epsilon);  // atan(2 s)/pi
    });
}

namespace mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> cauchy_law(const LawParameters& p) {
    return make_flip_law(cauchy_table(p.epsilon, p.cap), p.classes, DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo cauchy{
    .name = "cauchy",
    .law = "flip with atan(2 s)/pi, s = 6 e^(-eps h/6)/eps",
    .binary_only = true,
    .condition = nested_distances,
    .make_law = cauchy_law,
};

}  // namespace mechanisms
}  // namespace holdfast
