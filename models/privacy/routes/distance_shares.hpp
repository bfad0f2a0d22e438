#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/evidence_table.hpp"

namespace holdfast {

/// Of the queries that a model was asked, the fraction at one stable distance: all of them, and those whose
/// label is the true one.
struct DistanceShare {
    std::int64_t distance;
    double all, right;
};

/// One model's, by ascending distance.
std::vector<DistanceShare> distance_shares(const EvidenceTable& evidence, std::size_t model);

}  // namespace holdfast
