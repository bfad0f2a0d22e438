#pragma once

#include <cstdint>
#include <vector>

#include "models/settings/relation.hpp"

namespace holdfast {

/// What columns, scaled to [0, 1] by public constants, are known to be.
enum class Columns {
    amounts,     ///< amounts, counts, flags, categories of a table: mostly in the lower half, effects of any
                 ///< shape
    coordinates  ///< signed coordinates about 1/2, as of an embedding
};

/// All that advice may rest on: what anybody may know of a table.
struct PublicNumbers {
    std::int64_t records = 0, features = 0;
    std::int64_t classes = 2;  ///< 1: none, what is learnt are numbers in [0, 1]
    std::int64_t answers = 0;  ///< 0: any number of them
    double epsilon = 1, delta = 1e-5;
    Relation relation = Relation::add_remove;
    Columns columns = Columns::amounts;
    std::vector<double> class_shares{};  ///< of the records, add up to 1; empty: nobody knows

    bool is_regression() const { return classes == 1; }
};

}  // namespace holdfast
