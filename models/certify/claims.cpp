#include "models/certify/claims.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

const char* name_of(Relation relation) {
    switch (relation) {
        case Relation::add_remove:
            return "add_remove";
        case Relation::substitute:
            return "substitute";
        case Relation::remove:
            return "remove";
    }
    return "";
}

Guarantee certificate_claim(const Settings& settings, const DataFacts& facts) {
    Guarantee claim = Guarantee::proved(
        std::string("for every k and every dataset at distance at most k, the parameters this program "
                    "computes from it") +
            (settings.precision == Precision::single_precision ? " in single precision" : "") +
            " lie, bit by bit, in the box of level k, and a query of stable distance h >= k gets the same "
            "label",
        name_of(settings.relation));
    if (facts.scaling == Scaling::private_data) {
        claim.weaken(
            "the features were scaled by the range of the private records; another record could change the "
            "scaling, which the boxes do not cover");
    } else if (facts.scaling == Scaling::unknown) {
        claim.require("the features were scaled by public constants (the file does not say how)");
    }
    if (!facts.has_ids)
        claim.require(
            "the row number is a record's id: in a neighbouring dataset the other records keep theirs");
    if (settings.expected_records == 0)
        claim.require(
            "the number of records, rounded to two digits, is public: it sets the normaliser (state it as "
            "training.expected_records)");
    if (settings.normalise == Normalise::actual)
        claim.weaken("the step divides by the batch's count, which an added or removed record changes");
    if (settings.batching == Batching::sequential)
        claim.weaken(
            "batches are rows in order and assumed not to move: an added or removed record shifts those "
            "behind it");
    if (settings.product == Product::rump)
        claim.weaken(
            "midpoint-radius products nest up to rounding only, so distances of neighbours may differ by "
            "more than 1");
    if (!settings.contiguous_levels())
        claim.require(
            "only the listed levels have boxes: a distance counts those that hold, it is not a number of "
            "records");
    return claim;
}

Guarantee release_claim(const Settings& settings, const DataFacts& facts) {
    const auto refuse = [](const std::string& message, const std::string& hint, const std::string& key) {
        throw Error(ExitCode::usage, message, hint, key);
    };
    if (settings.relation == Relation::remove) {
        refuse("no release may rest on boxes for removals only",
               "train with certificate.relation = \"add_remove\" or \"substitute\"", "certificate.relation");
    }
    if (!settings.contiguous_levels()) {
        refuse(
            "a sparse list of levels gives a distance that jumps between neighbours: not differentially "
            "private",
            "train with certificate.levels = K", "certificate.level_list");
    }
    if (settings.product == Product::rump) {
        refuse("boxes of midpoint-radius products do not nest bit by bit",
               "train with certificate.product = \"exact\"", "certificate.product");
    }
    return certificate_claim(settings, facts);
}

}  // namespace holdfast
