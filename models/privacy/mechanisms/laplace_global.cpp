// Laplace noise for the global sensitivity: what is had without certificates.

#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> laplace_global_law(const LawParameters& p) {
    const auto upper = [&](std::int64_t) { return Rational(exp_upper(-p.epsilon / 2) / 2); };
    return make_flip_law(binary_table(p.epsilon, 0, 0, upper), p.classes, DistanceUsed::none);
}

}  // namespace

extern constinit const MechanismInfo laplace_global{
    .name = "laplace_global",
    .law = "flip with e^(-eps/2)/2, whatever h",
    .binary_only = true,
    .make_law = laplace_global_law,
};

}  // namespace holdfast::mechanisms
