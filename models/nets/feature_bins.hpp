#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "kernels/ops/input_transform.hpp"

namespace holdfast {

/// One-hot bins of columns: entry b of a column's bins is `hot` where edges[b - 1] <= x < edges[b], else 0.
/// With `trend`, the standardised column precedes them: (x - m) / s, cut to +-trend_limit, where the edges
/// give the middle m and the spread s. A linear model then learns a slope from one entry and its shape from
/// bins.
struct FeatureBins {
    std::vector<std::vector<double>> edges;  ///< [columns], each finite, none below the one before
    double hot = 1;                          ///< > 0
    std::vector<std::array<std::size_t, 2>> pairs = {};  ///< columns whose bins are multiplied, from 0
    bool trend = false;

    static constexpr std::size_t most_edges = 1023, least_trend_edges = 3;
    static constexpr double trend_limit = 3;

    /// What is wrong with them; empty: nothing.
    std::string problem() const;

    std::size_t columns() const { return edges.size(); }
    /// Does the column have a trend: enough edges, of which the middle ones differ? Fewer bins say it all.
    bool has_trend(std::size_t column) const;
    std::size_t trends() const;  ///< columns that have one; their entries come first
    std::size_t outputs() const;
    FeatureRange entries() const;
    double norm() const;  ///< of a record's entries, at most
    /// The entries [outputs] of a record's columns, clamped to their public range.
    void apply(const double* columns, double* entries) const;
};

}  // namespace holdfast
