#include "models/fleet/access_claim.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

RecordClaim access_claim(const Settings& settings, const DataFacts& facts, Relation relation) {
    ensure(relation == Relation::add_remove || relation == Relation::substitute, "neighbours of a release");
    if (settings.network.classes == 1)
        throw Error(ExitCode::usage, "a regression has no labels to release",
                    "holdfast influence shows the owner what a record changes; for access train a fleet of a "
                    "classifier, network.classes = 2 or more",
                    "network.classes");
    const bool counted = settings.training.normalise == Normalise::expected;
    if (relation == Relation::add_remove && counted && settings.training.expected_records == 0)
        throw Error(ExitCode::usage,
                    "the step divides by a number that follows from the count of records found, which "
                    "another record may change",
                    "state a public number: import --expected-records, or training.expected_records, and "
                    "train the fleet again",
                    "training.expected_records");
    RecordClaim claim = claim_about_records(
        "two neighbouring datasets at both of which no record that is left out changes the label of a query "
        "give it the same label",
        settings, facts, {relation, "the fleet does not cover"});
    // A replaced record leaves the others, their count and their rows as they are, and what both datasets are
    // without the two is one dataset with an empty slot.
    if (settings.training.batching == Batching::sequential && relation == Relation::add_remove)
        claim.weaken(
            "batches are rows in order: the fleet leaves the slot of a record empty, a training of the "
            "records "
            "without it would move those behind it");
    if (relation == Relation::add_remove)
        claim.require(
            "nobody times the answers: their time grows with the number of records, and from whoever learns "
            "that number only what a record says is kept");
    return claim;
}

}  // namespace holdfast
