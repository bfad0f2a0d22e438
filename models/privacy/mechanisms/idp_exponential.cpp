// Label-only access as 001 publishes it: no noise where no record that is left out changes the label, else
// the exponential mechanism of a utility that is 1 for the label. Each is private where it is used; which is
// used depends on the records, and that is not paid for (models/privacy/mathematics.md, published access).

#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> idp_exponential_law(const LawParameters& p) {
    const Rational scale(power_of_two(128)), stays = exp_lower(Rational(p.epsilon / 2));
    std::vector<Integer> entries{ceil(scale / (stays + p.classes - 1))};
    if (p.cap > 0) entries.emplace_back(0);
    return make_flip_law(to_words(entries), p.classes, DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo idp_exponential{
    .name = "idp_exponential",
    .law = "the label itself if h >= 1, else with e^(eps/2)/(e^(eps/2) + C - 1), as published",
    .needs_leave_one_out = true,
    .condition = "no record that is left out changes a label of h >= 1",
    .gap =
        "an individual's epsilon only if the dataset without them is assumed to keep this one's decisions "
        "where "
        "to add noise (001, Theorem 6.1); it answers without noise where a neighbour answers with it, which "
        "as differential privacy costs a delta of at least (C-1)/(e^(eps/2) + C - 1) an answer",
    .make_law = idp_exponential_law,
};

}  // namespace holdfast::mechanisms
