#include "models/convex/convex_claim.hpp"

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
    require_releasable(settings.certificate.relation);
    return convex_claim(settings, facts);
}

Guarantee convex_support_claim(const Settings& settings, const DataFacts& facts, const Rational& epsilon,
                               const Rational& delta) {
    require_releasable(settings.certificate.relation);
    Guarantee claim = claim_about_records(
        "which columns one more step of the run uses, or that it is not told, and all that is computed from "
        "that alone, is (" +
            decimal_text(epsilon) + ", " + decimal_text(delta) + ")-differentially private",
        settings, facts, {settings.certificate.relation, "the radius does not cover", true, false});
    claim.require("nothing else of the run leaves its owner but what this ledger is charged for");
    return claim;
}

}  // namespace holdfast
