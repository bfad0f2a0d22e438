#pragma once

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What of the data decides the conditions of a claim.
struct DataFacts {
    Scaling scaling = Scaling::unknown;
    IdKind ids = IdKind::row_number;
    bool public_records = false;  ///< trained on beside the private ones
};

/// Of a finished run.
DataFacts facts_of(const RunManifest& manifest);

/// Adds to a claim that rests on features made and scaled without looking at the records; else what
/// `uncovered` does not cover.
void state_scaling(Scaling scaling, const std::string& uncovered, Guarantee& claim);
/// The same of what names a record, and so assigns it to members and batches.
void state_ids(IdKind ids, Relation relation, Guarantee& claim);
/// The same of the models that training starts from, or that make its features: files that are taken for
/// public.
void state_public_models(const Settings& settings, Guarantee& claim);
extern const char* const settings_condition;        ///< of every claim
extern const char* const public_records_condition;  ///< where records beside are taken for public

/// What the boxes and stable distances of a run guarantee, with every condition and gap of its settings.
Guarantee certificate_claim(const Settings& settings, const DataFacts& facts);

/// The same as the basis of a release. Error (usage) where no release may rest on it: a regression, relation
/// `remove`, a sparse list of levels, boxes that do not nest bit by bit, a step divided by a private count;
/// says which.
Guarantee release_claim(const Settings& settings, const DataFacts& facts);

}  // namespace holdfast
