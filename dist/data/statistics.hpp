#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"

namespace holdfast {

/// One feature over all records; lowest and highest are over its finite values.
struct FeatureStatistics {
    double lowest = 0, highest = 0;
    std::uint64_t nan = 0, infinite = 0, outside = 0;  ///< outside: finite, but not in [0, 1]
    bool constant() const { return lowest == highest && nan == 0 && infinite == 0; }
};

/// What one pass over a split shows. For the data owner only: none of it is protected.
struct DatasetStatistics {
    DatasetInfo info;
    std::vector<FeatureStatistics> features;             ///< [d]
    std::map<std::int32_t, std::uint64_t> class_counts;  ///< by label; empty without labels
    std::uint64_t duplicate_rows =
        0;  ///< records whose features and label or target equal an earlier one's (64-bit hash)
    std::uint64_t duplicate_ids = 0;  ///< records whose id an earlier one has
    /// The first of them: id and its two rows; only if duplicate_ids > 0.
    std::uint64_t first_duplicate_id = 0, first_row = 0, second_row = 0;

    std::uint64_t nan() const;
    std::uint64_t infinite() const;
};

/// Reads the split slab by slab; NaN and infinities are counted, not errors. Errors otherwise as
/// DatasetReader.
DatasetStatistics describe(const DatasetReader& reader);

/// Throws ExitCode::input naming an id that two records share and their rows; reads the ids only.
void require_unique_ids(const DatasetReader& reader);

/// One note for each property of the data that weakens or breaks a guarantee, and one for the scaling and one
/// for the ids in any case.
std::vector<std::string> guarantee_notes(const DatasetStatistics& statistics);

}  // namespace holdfast
