#include "models/certify/claims.hpp"

#include <charconv>

#include "kernels/base/error.hpp"

namespace holdfast {

namespace {

/// An adversary moves no record to another batch.
void state_poisoned_ids(IdKind ids, Guarantee& claim) {
    switch (ids) {
        case IdKind::given:
            return claim.require("a poisoned record keeps its id");
        case IdKind::content:
            return claim.weaken(
                "an id is a hash of its record's content: who is poisoned before the import has another id, "
                "and "
                "with it another batch and member");
        case IdKind::row_number:
            return claim.require("a poisoned record keeps its row, which is its id");
    }
}

/// To the last digit: a radius that is rounded up would say more than is so.
std::string number(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

/// What distance k is.
std::string adversary(const Poison& poison) {
    std::string text =
        "a dataset at distance at most k is made by poisoning at most k private records: every "
        "feature, as it lies in the public range, moves by at most " +
        number(poison.input_radius);
    if (poison.target_radius > 0) text += ", the target by at most " + number(poison.target_radius);
    if (poison.labels == Poison::Labels::any) text += ", and the label becomes any other";
    if (poison.labels == Poison::Labels::targeted)
        text += ", and the label becomes " + std::to_string(poison.target_label) + " or stays";
    return text;
}

}  // namespace

void state_ids(IdKind ids, Relation relation, Guarantee& claim) {
    if (relation == Relation::poison) return state_poisoned_ids(ids, claim);
    switch (ids) {
        case IdKind::given:
            return claim.require("an id names one person, whatever other records there are");
        case IdKind::content:
            claim.require("no two records are equal: an id is a hash of its record's content");
            if (relation == Relation::substitute)
                claim.weaken(
                    "an id is a hash of its record's content, so a replaced record changes its id, and with "
                    "it its batch and member: it counts as one removed and one added");
            return;
        case IdKind::row_number:
            return claim.weaken(
                "records are known by row number: one record more or less renames those behind it, and they "
                "move to other batches and members");
    }
}

const char* const settings_condition =
    "no setting, no seed and no constant of scaling was chosen by looking at the private records";
const char* const public_records_condition =
    "the public records concern nobody whose records are private, and were not chosen by looking at "
    "those";

DataFacts facts_of(const RunManifest& manifest) {
    return {manifest.dataset.scaling, manifest.dataset.ids, manifest.public_records.records > 0};
}

void state_public_models(const Settings& settings, Guarantee& claim) {
    const auto state = [&](const char* option) {
        claim.require(std::string("the model that ") + option +
                      " names was made without the private records");
    };
    if (!settings.network.initial.empty()) state("network.initial");
    if (settings.features.map == FeatureSettings::Map::prefix) state("features.prefix");
}

void state_scaling(Scaling scaling, const std::string& uncovered, Guarantee& claim) {
    if (scaling == Scaling::public_constants) return;
    if (scaling == Scaling::private_data)
        return claim.weaken(
            "the features were scaled by the range of the private records; another record could change the "
            "scaling, which " +
            uncovered);
    claim.require("the features were made and scaled by public constants (the file states no public range)");
}

namespace {

/// What the boxes are, whatever they enclose.
void state_boxes(const Settings& settings, Guarantee& claim) {
    if (!settings.certificate.product.exact())
        claim.weaken(
            "midpoint-radius products nest up to rounding only, so distances of neighbours may differ by "
            "more than 1");
    if (settings.certificate.contiguous_levels()) return;
    claim.require(
        "only the listed levels have boxes: a distance counts those that hold, it is not a number of "
        "records");
}

/// Poisoning changes no count, no row and no batch: what a step divides by and how batches are made is the
/// same of every dataset at a distance.
Guarantee poison_claim(const Settings& settings, const DataFacts& facts, Guarantee claim) {
    claim.require(adversary(settings.poison));
    if (facts.public_records) claim.require("the public records are clean: no adversary has changed them");
    state_boxes(settings, claim);
    return claim;
}

}  // namespace

Guarantee certificate_claim(const Settings& settings, const DataFacts& facts) {
    Guarantee claim = Guarantee::proved(
        std::string("for every k and every dataset at distance at most k, the parameters this program "
                    "computes from it") +
            (settings.training.precision == Precision::double_precision
                 ? std::string()
                 : std::string(" in ") + name_of(settings.training.precision) + " precision") +
            " lie, bit by bit, in the box of level k, " +
            (settings.network.classes == 1
                 ? "and its prediction of a query in the query's interval of level k"
                 : "and a query of stable distance h >= k gets the same label"),
        name_of(settings.certificate.relation));
    claim.require(settings_condition);
    state_scaling(facts.scaling, "the boxes do not cover", claim);
    state_ids(facts.ids, settings.certificate.relation, claim);
    state_public_models(settings, claim);
    if (settings.poisoned()) return poison_claim(settings, facts, std::move(claim));
    if (facts.public_records) claim.require(public_records_condition);
    if (settings.training.expected_records == 0)
        claim.weaken(
            "the step divides by the number of records found, which one record more or less can change: "
            "state "
            "a public number as training.expected_records");
    if (settings.training.normalise == Normalise::actual)
        claim.weaken("the step divides by the batch's count, which an added or removed record changes");
    if (settings.training.batching == Batching::sequential)
        claim.weaken(
            "batches are rows in order and assumed not to move: an added or removed record shifts those "
            "behind it");
    state_boxes(settings, claim);
    return claim;
}

Guarantee release_claim(const Settings& settings, const DataFacts& facts) {
    const auto refuse = [](const std::string& message, const std::string& hint, const std::string& key) {
        throw Error(ExitCode::usage, message, hint, key);
    };
    if (settings.network.classes == 1)
        refuse("a regression has no labels to release",
               "certify and evaluate show the owner its intervals; for releases train a classifier, "
               "network.classes = 2 or more",
               "network.classes");
    if (settings.certificate.relation == Relation::remove) {
        refuse("no release may rest on boxes for removals only",
               "train with certificate.relation = \"add_remove\" or \"substitute\"", "certificate.relation");
    }
    if (settings.poisoned()) {
        refuse(
            "no release may rest on boxes against poisoning: it changes a record a little, a neighbour "
            "wholly",
            "train with certificate.relation = \"add_remove\" or \"substitute\"", "certificate.relation");
    }
    if (!settings.certificate.contiguous_levels()) {
        refuse(
            "a sparse list of levels gives a distance that jumps between neighbours: not differentially "
            "private",
            "train with certificate.levels = K", "certificate.level_list");
    }
    if (!settings.certificate.product.exact()) {
        refuse("boxes of midpoint-radius products do not nest bit by bit",
               "train with certificate.product = \"exact\"", "certificate.product");
    }
    if (settings.training.expected_records == 0) {
        refuse(
            "the step divides by the number of private records: neighbours can differ at every distance",
            "state a public number: import --expected-records, or training.expected_records, and train again",
            "training.expected_records");
    }
    if (settings.training.normalise == Normalise::actual) {
        refuse("the step divides by the batch's count, which one record more or less changes",
               "train with training.normalise = \"expected\"", "training.normalise");
    }
    return certificate_claim(settings, facts);
}

}  // namespace holdfast
