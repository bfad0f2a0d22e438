// From unanimity about one record alone: uniform, unless the label withstands any one change. Of
// two neighbours both of which it withstands, the labels are equal and the law is one; of others one is
// uniform. So it needs no smooth distance: leave-one-out votes will do, or bounds that do not nest.

#include <algorithm>

#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> one_record_rr_law(const LawParameters& p) {
    const Integer uniform = ceil(Rational(power_of_two(128)) / p.classes);
    const std::int64_t last = std::min<std::int64_t>(p.cap, 1);
    return make_flip_law(least_flip_table(uniform, p.epsilon, 0, p.classes, last), p.classes,
                         DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo one_record_rr{
    .name = "one_record_rr",
    .law = "uniform if h = 0, else keep the label with min(1 - (C-1) e^-eps/C, e^eps/C)",
    .condition = "neighbouring datasets at which the stable distance is 1 or more give the same label",
    .make_law = one_record_rr_law,
};

}  // namespace holdfast::mechanisms
