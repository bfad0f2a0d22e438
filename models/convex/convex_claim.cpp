#include "models/convex/convex_claim.hpp"

#include "kernels/base/error.hpp"
#include "models/convex/convex_bounds.hpp"

namespace holdfast {

Settings settled_for_convex(const Settings& asked) {
    Settings settings = asked;
    settings.convex.most_records = most_records_of(asked);
    if (asked.certificate.relation != Relation::remove) settings.certificate.levels = 0;
    return settings;
}

RecordClaim convex_claim(const Settings& settings, const DataFacts& facts) {
    return claim_about_records(
        "for every k and every dataset at distance at most k, the parameters this program computes from it "
        "are at most k times the run's public radius away in the 2-norm, every rounding counted, and a query "
        "of "
        "stable distance h >= k gets the same label",
        settings, facts, {settings.certificate.relation, "the radius does not cover"});
}

RecordClaim convex_release_claim(const Settings& settings, const DataFacts& facts) {
    if (settings.certificate.relation == Relation::remove)
        throw Error(ExitCode::usage, "no release may rest on distances for removals only",
                    "train with certificate.relation = \"add_remove\" or \"substitute\"",
                    "certificate.relation");
    return convex_claim(settings, facts);
}

}  // namespace holdfast
