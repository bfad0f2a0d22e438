#pragma once

#include <cstdint>
#include <vector>

#include "models/nets/feature_map.hpp"
#include "models/settings/option.hpp"

namespace holdfast {

/// Section "features".
struct FeatureSettings {
    enum class Map { none, bins };
    Map map = Map::none;
    std::vector<std::int64_t> bins{16};      ///< of equal width: of every column, or one number a column
    std::vector<std::vector<double>> edges;  ///< instead of them: of every column, or one list a column
    bool keep = true;
    double hot = 1.0;
    std::vector<std::int64_t> pairs;  ///< [i, j, i, j, …], columns counted from 0
    double norm_limit = 0;            ///< 0: none

    /// Error (usage): bins or pairs of columns that are not there; equal widths of a range that nobody
    /// stated.
    FeatureMap make(std::size_t columns, InputTransform input) const;
};

std::vector<BasicOption<FeatureSettings>> feature_options();
/// Error (usage): settings that contradict.
void check(const FeatureSettings& settings);

}  // namespace holdfast
