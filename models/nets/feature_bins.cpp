#include "models/nets/feature_bins.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast {
namespace {

bool ascends(const std::vector<double>& edges) {
    const auto finite = [](double edge) { return std::isfinite(edge); };
    return std::all_of(edges.begin(), edges.end(), finite) && std::is_sorted(edges.begin(), edges.end());
}

/// Where a column's values lie: the edge in the middle, and half the distance between the edges that have a
/// sixth of all edges beyond them.
struct Location {
    explicit Location(const std::vector<double>& edges)
        : middle(edges[edges.size() / 2]),
          spread((edges[edges.size() - 1 - edges.size() / 6] - edges[edges.size() / 6]) / 2) {}
    double middle, spread;
};

}  // namespace

std::string FeatureBins::problem() const {
    if (!std::all_of(edges.begin(), edges.end(), ascends))
        return "edges that do not ascend, or are not finite";
    if (!(hot > 0 && std::isfinite(hot))) return "a one of the one-hot entries that is not positive";
    for (const auto& [one, other] : pairs) {
        if (one >= edges.size() || other >= edges.size() || one == other)
            return "a pair of columns " + std::to_string(one) + " and " + std::to_string(other) +
                   ", where two different ones of 0.." + std::to_string(edges.size() - 1) + " are wanted";
    }
    return "";
}

bool FeatureBins::has_trend(std::size_t column) const {
    return trend && edges[column].size() >= least_trend_edges && Location(edges[column]).spread > 0;
}

std::size_t FeatureBins::trends() const {
    std::size_t count = 0;
    for (std::size_t column = 0; column < edges.size(); ++column) count += has_trend(column) ? 1 : 0;
    return count;
}

FeatureRange FeatureBins::entries() const {
    if (trends() == 0) return {0, hot};
    return {-trend_limit, std::max(hot, trend_limit)};
}

std::size_t FeatureBins::outputs() const {
    std::size_t count = trends();
    for (const std::vector<double>& column : edges) count += column.size() + 1;
    for (const auto& [one, other] : pairs) count += (edges[one].size() + 1) * (edges[other].size() + 1);
    return count;
}

double FeatureBins::norm() const {
    return std::sqrt(hot * hot * static_cast<double>(edges.size() + pairs.size()) +
                     trend_limit * trend_limit * static_cast<double>(trends()));
}

void FeatureBins::apply(const double* columns, double* entries) const {
    const auto bin = [&](std::size_t column) {
        const std::vector<double>& ends = edges[column];
        return static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), columns[column]) -
                                        ends.begin());
    };
    std::fill(entries, entries + outputs(), 0.0);
    for (std::size_t column = 0; column < edges.size(); ++column) {
        if (!has_trend(column)) continue;
        const Location at(edges[column]);
        *entries++ = std::clamp((columns[column] - at.middle) / at.spread, -trend_limit, trend_limit);
    }
    for (std::size_t column = 0; column < edges.size(); ++column) {
        entries[bin(column)] = hot;
        entries += edges[column].size() + 1;
    }
    for (const auto& [one, other] : pairs) {
        const std::size_t each = edges[other].size() + 1;
        entries[bin(one) * each + bin(other)] = hot;
        entries += (edges[one].size() + 1) * each;
    }
}

}  // namespace holdfast
