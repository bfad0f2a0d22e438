// For a distance that joins leave-one-out votes with nested boxes: the label may differ from that of a
// neighbour wherever either distance is 0, so the law begins uniform, and goes on as steeply as it may
// (models/privacy/mathematics.md, joined distances).

#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> unanimous_rr_law(const LawParameters& p) {
    const Integer uniform = ceil(Rational(power_of_two(128)) / p.classes);
    return make_flip_law(least_flip_table(uniform, p.epsilon, 0, p.classes, p.cap), p.classes,
                         DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo unanimous_rr{
    .name = "unanimous_rr",
    .law = "uniform if h = 0, then e^-eps of the probability to move for every step of h",
    .needs_leave_one_out = true,
    .condition =
        "distances of neighbouring datasets differ by at most one, and two of 1 or more mean equal labels",
    .make_law = unanimous_rr_law,
};

}  // namespace holdfast::mechanisms
