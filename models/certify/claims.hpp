#pragma once

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "models/certify/record_claim.hpp"
#include "models/privacy/rational.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What of the data decides the conditions of a claim.
struct DataFacts {
    Scaling scaling = Scaling::unknown;
    IdKind ids = IdKind::row_number;
    bool public_records = false;  ///< trained on beside the private ones
    Dealt dealt = Dealt::no;
    bool count_found = false;
    Unit unit = Unit::row;
    std::uint64_t rows_at_most = 1;
    bool measured = false;       ///< constants were drawn from the records under privacy, and paid for
    bool labels_drawn = false;   ///< so were the labels
    bool labels_select = false;  ///< rows with none of the stated labels are no records
};

/// Of a finished run.
DataFacts facts_of(const RunManifest& manifest);
/// Of a training to come.
DataFacts facts_of(const PublicFacts& facts, bool public_records);

/// What a proof makes of its records.
struct RecordUse {
    Relation relation;
    std::string uncovered;  ///< where the scaling is private: "the boxes do not cover"
    /// Is what becomes of a record, its batch and member, a function of its id that anyone can compute? Else
    /// only coins of a secret key are drawn under the id, and which id that is changes no law.
    bool by_ids = true;
    /// Is it about one table and its neighbours, bit by bit, rather than about laws of what is drawn? Then it
    /// holds at the constants that were measured, as they are (models/privacy/mathematics.md, measured
    /// constants).
    bool of_certificate = true;
};

/// A claim about private records, `statement` under every condition and gap of what their file says of them
/// and of what is taken for public. The one way to make such a claim: neighbours are tables as they were
/// imported, not splits of them (models/mathematics.md, imported table).
RecordClaim claim_about_records(std::string statement, const Settings& settings, const DataFacts& facts,
                                const RecordUse& use);

/// A claim on labels that are given out: `basis` about the records, `drawn` of how labels are drawn from
/// them, whose the queries may be and what is seen of answers. The one way to make such a claim.
/// queries_said: public, against the look of their file (`--queries-are-public`).
Guarantee claim_about_labels(const RecordClaim& basis, const Guarantee& drawn, bool queries_said = false);
/// A claim on parameters that get noise when they are published, by a key of that moment. Likewise the one
/// way.
Guarantee claim_about_publication(const RecordClaim& basis, const Rational& epsilon, const Rational& delta);
/// A claim on constants that are drawn from a table under noise: mu-Gaussian private. Likewise the one way.
Guarantee claim_about_constants(const DataFacts& facts, Relation relation, const Rational& mu_squared,
                                const Rational& names_delta = 0);
/// A claim on the columns of a table that were chosen by pure draws of so much together. Likewise.
Guarantee claim_about_columns(const DataFacts& facts, Relation relation, const Rational& epsilon);
/// A claim on labels that were drawn under privacy, of `label` neighbours, and on what is learnt from them:
/// what leaves with `settings` is made of nothing else that is private. Likewise.
Guarantee claim_about_drawn_labels(const DataFacts& facts, const Rational& epsilon);
/// A claim on what is told of scores of persons who were held out, by models that were paid for: of a noisy
/// table, or of the score that the best of several was chosen by.
Guarantee claim_about_scores(const DataFacts& facts, Relation relation, const Rational& epsilon,
                             const Rational& delta, const std::string& what = "the table of scores");
/// The same of the models that training starts from, or that make its features: files that are taken for
/// public.
void state_public_models(const Settings& settings, Guarantee& claim);
extern const char* const settings_condition;  ///< of every claim
extern const char* const
    measured_settings_condition;                    ///< in its place, where constants may have been measured
extern const char* const row_condition;             ///< of every claim about rows, not persons
extern const char* const public_records_condition;  ///< where records beside are taken for public
extern const char* const queries_condition;         ///< of every claim on labels
extern const char* const answered_condition;        ///< of every claim on labels

/// What the boxes and stable distances of a run guarantee, with every condition and gap of its settings.
RecordClaim certificate_claim(const Settings& settings, const DataFacts& facts);

/// The same as the basis of a release. Error (usage) where no release may rest on it: a regression, relation
/// `remove`, a sparse list of levels, boxes that do not nest bit by bit, a step divided by a private count;
/// says which.
RecordClaim release_claim(const Settings& settings, const DataFacts& facts);

}  // namespace holdfast
