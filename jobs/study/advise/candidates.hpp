#pragma once

#include <string>
#include <vector>

#include "jobs/study/advise/public_numbers.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// Settings worth a trial, of public numbers alone.
struct Candidate {
    std::string kind;  ///< noisy: a published model; convex; votes: of plain models; boxes: one in boxes
    std::string map;   ///< columns | coarse bins | fine bins; behind "one step, " of boxes, "more, " of votes
    Settings settings;

    std::string name() const { return kind + ", " + map; }
    bool noisy() const { return settings.noisy(); }
};

/// Few of each route: models that are published, one whose change is known, votes of plain models, boxes of
/// one model, of one step and of several; on the columns as they are and on bins. How their settings follow
/// from the numbers is said beside each rule.
std::vector<Candidate> candidates(const PublicNumbers& numbers);

/// A noisy candidate with another clip, or with steps that go less or further in all: what its rule is held
/// against.
std::vector<Candidate> neighbours(const Candidate& candidate);

/// Edges of bins of [0, 1]: equal steps, and below the first of them quarters of quarters down to 2^-10,
/// since a few large amounts leave most of a column near 0.
std::vector<double> bin_edges(int equal_bins);

}  // namespace holdfast
