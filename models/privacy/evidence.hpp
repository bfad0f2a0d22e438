#pragma once

#include <cstdint>
#include <vector>

namespace holdfast {

/// What a mechanism may look at to answer one query. It depends on the private records: for the owner's eyes
/// only. Two neighbouring datasets give evidence with |distance - distance'| <= 1, equal labels wherever a
/// distance is >= 1, |class_distances[j] - class_distances'[j]| <= 1 for every j, and votes that differ in
/// one member's vote.
struct Evidence {
    int classes = 2;
    int label = 0;                              ///< the label without noise, in [0, classes)
    std::int64_t distance = 0;                  ///< stable distance h of `label`, in [0, cap], 1-Lipschitz
    std::vector<std::int64_t> class_distances;  ///< [classes] or empty: d_j, 0 for `label`, in [0, cap + 1]
    std::vector<std::int64_t> votes;  ///< [classes] or empty (single model): members voting for each class
    std::int64_t cap = 0;             ///< the public largest distance
    /// The largest certified k of a sparse list of levels, what 000 recommends. NOT 1-Lipschitz:
    /// `paper_sparse` only.
    std::int64_t sparse_distance = 0;
};

/// Which kinds of evidence a run has, whatever the query. Public.
struct AvailableEvidence {
    int classes = 2;
    bool votes = false;            ///< of an ensemble
    bool class_distances = false;  ///< not from votes counted as published
    bool sparse_levels = false;    ///< the run has boxes for a sparse list of levels only
    bool leave_one_out = false;    ///< what leaving a record out changes
};

}  // namespace holdfast
