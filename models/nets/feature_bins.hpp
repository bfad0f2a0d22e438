#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/ops/input_transform.hpp"

namespace holdfast {

/// One-hot bins of columns: entry b of a column's bins is `hot` where edges[b - 1] <= x < edges[b], else 0.
struct FeatureBins {
    std::vector<std::vector<double>> edges;  ///< [columns], each finite, none below the one before
    double hot = 1;                          ///< > 0
    std::vector<std::array<std::size_t, 2>> pairs = {};  ///< columns whose bins are multiplied, from 0

    static constexpr std::size_t most_edges = 1023;

    /// What is wrong with them; empty: nothing.
    std::string problem() const;

    std::size_t columns() const { return edges.size(); }
    std::size_t outputs() const;
    FeatureRange entries() const { return {0, hot}; }
    double norm() const;  ///< of a record's entries, whatever the record
    /// The entries [outputs] of a record's columns, clamped to their public range.
    void apply(const double* columns, double* entries) const;
};

}  // namespace holdfast
