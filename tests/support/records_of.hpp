#pragma once

#include <vector>

#include "dist/data/dataset.hpp"

namespace holdfast {

/// Records without labels, of ids 0, 1, …, held as doubles or as floats.
inline Records records_of(const std::vector<std::vector<double>>& rows, bool wide = true) {
    Records records{FeatureMatrix(rows.front().size(), wide), {}, {}, {}};
    for (const std::vector<double>& row : rows) {
        records.features.append(row.data());
        records.ids.push_back(records.ids.size());
        records.rows.push_back(records.rows.size());
    }
    return records;
}

}  // namespace holdfast
