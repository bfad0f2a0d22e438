#include "models/certify/claims.hpp"

#include <charconv>

#include "dist/data/schema.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/public_model.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

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
std::string adversary(const Settings& settings) {
    const Poison& poison = settings.poison;
    std::string text =
        std::string("a dataset at distance at most k is made by poisoning at most k private ") +
        (settings.training.rows_of_persons() ? "persons, any of their rows" : "records") +
        ": every feature, as it lies in the public range, moves by at most " + number(poison.input_radius);
    if (poison.target_radius > 0) text += ", the target by at most " + number(poison.target_radius);
    if (poison.labels == Poison::Labels::any) text += ", and the label becomes any other";
    if (poison.labels == Poison::Labels::targeted)
        text += ", and the label becomes " + std::to_string(poison.target_label) + " or stays";
    return text;
}

}  // namespace

const char* const settings_condition =
    "no setting, no seed, no constant of scaling and no column, category or class was chosen by looking at "
    "the private records";
const char* const row_condition =
    "one record is all there is of one person: of who has several, each is covered by itself alone (event "
    "level)";
const char* const public_records_condition =
    "the public records concern nobody whose records are private, and were not chosen by looking at "
    "those";
const char* const measured_settings_condition =
    "no setting, no seed, no constant of scaling, column or category but those measured and paid for, and no "
    "class was chosen by looking at the private records";
const char* const queries_condition = "the queries concern nobody whose records are private";
const char* const answered_condition =
    "whoever asks sees labels, cost and exit code: the work is the same for all records, but the "
    "processor's caches and branches, timed by a neighbour on the machine, are not covered";

namespace {

constexpr const char* measured_condition =
    "its neighbours are datasets at the constants (ranges, number of records, categories, columns) that were "
    "measured from this one, as they are: what one record changes in the constants themselves, the (epsilon, "
    "delta) paid for them covers";
constexpr const char* measured_beside =
    "; the constants (ranges, number of records, categories, columns) of its data were drawn from the same "
    "records under privacy, and are paid for apart, from the same account";
constexpr const char* drawn_condition =
    "a record is one whose label was drawn under privacy: its own label the epsilon paid for that covers";
constexpr const char* given_ids = "an id names one person, whatever other records there are";
constexpr const char* content_ids =
    "no two records of either dataset are equal: an id is a hash of its record's content";
constexpr const char* never_empty = "either dataset has a record in every split that its import makes";
constexpr const char* kept_row = "a replaced record keeps its row, which is its id";

/// Whom a record stands for.
void state_unit(const DataFacts& facts, Guarantee& claim) {
    if (facts.unit == Unit::row) return claim.require(row_condition);
    claim.require(
        facts.rows_at_most == 1
            ? "a person is the one row of an id, which the import made of their rows, or found"
            : "a person is all rows of one id, " + std::to_string(facts.rows_at_most) +
                  " at most: of who has more the import kept so many, by a rule of their own rows alone");
}

/// Has one of two neighbours a record more?
bool counts_differ(Relation relation) {
    return relation == Relation::add_remove || relation == Relation::remove;
}

void state_scaling(Scaling scaling, const std::string& uncovered, Guarantee& claim) {
    if (scaling == Scaling::public_constants || scaling == Scaling::measured) return;
    if (scaling == Scaling::private_data)
        return claim.weaken(
            "the features were scaled by the range of the private records, or made of the categories found "
            "in them; another record could change the "
            "scaling, which " +
            uncovered);
    claim.require("the features were made and scaled by public constants (the file states no public range)");
}

/// Which of the table's records are trained on. An adversary poisons records of the table too.
void state_dealing(const DataFacts& facts, Relation relation, Guarantee& claim) {
    if (facts.labels_select && !counts_differ(relation))
        claim.weaken(
            "rows with none of the stated labels were left out: a person whose label changes may come or go "
            "(import the table with --missing error, which refuses such rows)");
    switch (facts.dealt) {
        case Dealt::no:
            return claim.require(
                counts_differ(relation)
                    ? "whether a record is among those trained on was settled without regard to the others"
                    : "which records are trained on was settled without regard to what they say");
        case Dealt::given:
            return claim.require(given_ids);
        case Dealt::content:
            if (counts_differ(relation)) return claim.require(content_ids);
            return claim.weaken(
                "a hash of its content decided whether a record is among those trained on: a changed record "
                "may "
                "come or go");
        case Dealt::unknown:
            if (facts.ids == IdKind::row_number && !counts_differ(relation)) {
                claim.require("which records are trained on was settled without regard to what they say");
                return claim.require(kept_row);
            }
            return claim.weaken(
                "the file does not say how its splits were made: by row numbers, one record more or less "
                "would "
                "deal all behind it anew; by content, a changed record might come or go: import the table "
                "again");
        case Dealt::row_number:
            if (!counts_differ(relation)) return claim.require(kept_row);
            return claim.weaken(
                "a hash of its row number decided whether a record is among those trained on: one record "
                "more "
                "or less in the table deals all behind it anew");
    }
}

void state_ids(IdKind ids, const RecordUse& use, Guarantee& claim) {
    if (use.relation == Relation::poison) return state_poisoned_ids(ids, claim);
    switch (ids) {
        case IdKind::given:
            return claim.require(given_ids);
        case IdKind::content:
            claim.require(content_ids);
            if (use.by_ids && use.relation == Relation::substitute)
                claim.weaken(
                    "an id is a hash of its record's content, so a replaced record changes its id, and with "
                    "it its batch and member: it counts as one removed and one added");
            return;
        case IdKind::row_number:
            if (!use.by_ids) return;
            if (!counts_differ(use.relation)) return claim.require(kept_row);
            return claim.weaken(
                "records are known by row number: one record more or less renames those behind it, and they "
                "move to other batches and members");
    }
}

/// What steps divide by and settings follow from.
void state_count(const Settings& settings, const DataFacts& facts, Relation relation, Guarantee& claim) {
    if (!counts_differ(relation)) return;
    claim.require(never_empty);
    if (facts.count_found)
        return claim.weaken(
            "the number of records was found in them, not stated: one record more or less can change it, and "
            "with it the steps and what they divide by: state a public number, import --expected-records N");
    if (settings.training.expected_records == 0 && settings.training.normalise == Normalise::expected)
        claim.weaken(
            "the step divides by the number of records found, which one record more or less can change: "
            "state "
            "a public number as training.expected_records");
}

}  // namespace

void state_public_models(const Settings& settings, Guarantee& claim) {
    const auto state = [&](const char* option) {
        claim.require(std::string("the model that ") + option +
                      " names was made without the private records");
    };
    if (names_model(settings.network.initial)) state("network.initial");
    if (settings.features.map == FeatureSettings::Map::prefix) state("features.prefix");
}

Guarantee claim_about_labels(const RecordClaim& basis, const Guarantee& drawn, bool queries_said) {
    Guarantee claim = basis;
    claim.combine(drawn);
    claim.require(answered_condition);
    claim.require(queries_condition);
    if (queries_said)
        claim.require(
            "the owner is right that the queries are public: they may come from the file, bear the "
            "population or have the features of private records");
    return claim;
}

Guarantee claim_about_publication(const RecordClaim& basis, const Rational& epsilon, const Rational& delta) {
    Guarantee claim = Guarantee::proved(
        "the parameters that are published, and all that is computed from them alone, are (" +
            decimal_text(epsilon) + ", " + decimal_text(delta) + ")-differentially private",
        basis.relation());
    claim.rest_on(basis);
    claim.require(
        "who sees the parameters does not know the key of their noise, which is destroyed once it is drawn, "
        "and cannot tell ChaCha20 and BLAKE2b under it from random (a computational assumption)");
    claim.require("nobody times the draws of the noise, which take as long as its bits say (and no record)");
    claim.require("nothing else of the run leaves its owner but what this ledger is charged for");
    return claim;
}

namespace {

/// Categories that nobody has named yet are places in a list that was found in private records.
Scaling claimed_scaling(Scaling scaling, const std::string& schema) {
    const std::optional<Schema> kept = kept_schema(schema, "dataset");
    return kept && kept->has_unnamed() ? Scaling::private_data : scaling;
}

}  // namespace

DataFacts facts_of(const PublicFacts& facts, bool public_records) {
    return {claimed_scaling(facts.scaling, facts.schema),
            facts.ids,
            public_records,
            facts.dealt,
            facts.count_found,
            facts.unit,
            facts.rows_at_most,
            !facts.measured.empty(),
            !facts.label_law.empty(),
            facts.labels_select};
}

DataFacts facts_of(const RunManifest& manifest) {
    const DatasetFacts& dataset = manifest.dataset;
    return {claimed_scaling(dataset.scaling, dataset.schema),
            dataset.ids,
            manifest.public_records.records > 0,
            dataset.dealt,
            dataset.count_found,
            dataset.unit,
            dataset.rows_at_most,
            !dataset.measured.empty(),
            !dataset.label_law.empty(),
            dataset.labels_select};
}

RecordClaim claim_about_records(std::string statement, const Settings& settings, const DataFacts& facts,
                                const RecordUse& use) {
    if (facts.measured && !use.of_certificate) statement += measured_beside;
    RecordClaim claim(Guarantee::proved(std::move(statement), name_of(use.relation)));
    claim.require(facts.measured ? measured_settings_condition : settings_condition);
    if (facts.measured && use.of_certificate) claim.require(measured_condition);
    if (facts.labels_drawn) claim.require(drawn_condition);
    state_unit(facts, claim);
    state_scaling(facts.scaling, use.uncovered, claim);
    state_ids(facts.ids, use, claim);
    state_dealing(facts, use.relation, claim);
    state_count(settings, facts, use.relation, claim);
    state_public_models(settings, claim);
    if (facts.public_records) {
        const bool poisoned = use.relation == Relation::poison;  // what they are is not the point there
        claim.require(poisoned ? "the public records are clean: no adversary has changed them"
                               : public_records_condition);
    }
    return claim;
}

namespace {

/// Of what is drawn from counts of persons: which id a person has moves none of it, only who is counted does.
Guarantee claim_about_counts(std::string statement, const DataFacts& facts, Relation relation) {
    Guarantee claim = Guarantee::proved(std::move(statement), name_of(relation));
    claim.require(measured_settings_condition);
    state_unit(facts, claim);
    state_ids(facts.ids, {relation, "", false}, claim);
    state_dealing(facts, relation, claim);
    if (counts_differ(relation)) claim.require(never_empty);
    return claim;
}

}  // namespace

Guarantee claim_about_constants(const DataFacts& facts, Relation relation, const Rational& mu_squared,
                                const Rational& names_delta) {
    constexpr int parts = 1000000;  // rounded up to one of them
    const Rational mu = Rational(ceil(Rational(sqrt_upper(mu_squared) * parts))) / parts;
    Guarantee claim = claim_about_counts(
        "the constants that were measured, and all that is computed from them alone, are mu-Gaussian "
        "differentially private for mu = " +
            decimal_text(mu) +
            (names_delta == 0 ? ""
                              : ", but for a delta of " + decimal_text(names_delta) +
                                    ", at most the probability that somebody shows a category that nobody "
                                    "else has"),
        facts, relation);
    // Values as they were recorded have no constants of their own.
    if (facts.scaling != Scaling::none) state_scaling(facts.scaling, "what they cost does not cover", claim);
    return claim;
}

Guarantee claim_about_columns(const DataFacts& facts, Relation relation, const Rational& epsilon) {
    Guarantee claim =
        claim_about_counts(std::string("which columns were chosen, ") +
                               (facts.measured ? "at its other constants as they are, " : "") +
                               "and all that is computed from that alone, is (" + decimal_text(epsilon) +
                               ", 0)-differentially private" + (facts.measured ? measured_beside : ""),
                           facts, relation);
    state_scaling(facts.scaling, "what the choice cost does not cover", claim);
    return claim;
}

Guarantee claim_about_drawn_labels(const DataFacts& facts, const Rational& epsilon) {
    Guarantee claim = Guarantee::proved(
        "labels alone are private: those that were drawn, and all that is computed from them and from what "
        "is public, are (" +
            decimal_text(epsilon) +
            ", 0)-differentially private where one record has another label; features are taken to be "
            "public, and nothing protects them, nor who is in the data",
        label_relation);
    claim.require(
        "the features, the ids, the order and the number of records are public, and none of them says "
        "anything of labels that is not");
    claim.require(
        "no setting, no seed, no constant, column or class was chosen by looking at the private labels");
    state_unit(facts, claim);
    if (facts.public_records) claim.require(public_records_condition);
    return claim;
}

Guarantee claim_about_scores(const DataFacts& facts, Relation relation, const Rational& epsilon,
                             const Rational& delta, const std::string& what) {
    Guarantee claim = claim_about_counts(
        what + " of the persons held out, and all that is computed from it alone, is (" +
            decimal_text(epsilon) + ", " + decimal_text(delta) +
            ")-differentially private; who is held out and who is trained on are different persons with an "
            "account each, and both accounts together cost a person the larger of the two",
        facts, relation);
    state_scaling(facts.scaling, "the counts of those held out do not cover", claim);
    claim.require("no choice of seed or fraction of the split was made by looking at the private records");
    claim.require("ids name persons in one way in both accounts");
    return claim;
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

}  // namespace

// models/mathematics.md, enclosure; models/mathematics.md, nesting.
RecordClaim certificate_claim(const Settings& settings, const DataFacts& facts) {
    RecordClaim claim = claim_about_records(
        std::string("for every k and every dataset at distance at most k, the parameters this program "
                    "computes from it") +
            (settings.training.precision == Precision::double_precision
                 ? std::string()
                 : std::string(" in ") + name_of(settings.training.precision) + " precision") +
            " lie, bit by bit, in the box of level k, " +
            (settings.network.classes == 1
                 ? "and its prediction of a query in the query's interval of level k"
                 : "and a query of stable distance h >= k gets the same label"),
        settings, facts, {settings.certificate.relation, "the boxes do not cover"});
    state_boxes(settings, claim);
    // Poisoning changes no count, no row and no batch: what a step divides by and how batches are made is the
    // same of every dataset at a distance.
    if (settings.poisoned()) {
        claim.require(adversary(settings));
        if (settings.training.rows_of_persons())
            claim.require(
                "the poison comes behind the import, which kept rows by what they say: of who had more than "
                "it keeps, poisoned before, other rows would be there");
        return claim;
    }
    if (settings.training.normalise == Normalise::actual)
        claim.weaken("the step divides by the batch's count, which an added or removed record changes");
    if (settings.training.batching == Batching::sequential)
        claim.weaken(
            "batches are rows in order and assumed not to move: an added or removed record shifts those "
            "behind it");
    return claim;
}

RecordClaim release_claim(const Settings& settings, const DataFacts& facts) {
    const auto refuse = [](const std::string& message, const std::string& hint, const std::string& key) {
        throw Error(ExitCode::usage, message, hint, key);
    };
    require_releasable(settings.certificate.relation);
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
