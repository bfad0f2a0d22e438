#include "models/idp/clusters.hpp"

#include <algorithm>
#include <limits>

namespace holdfast {
namespace {

constexpr std::size_t most_groups = 6;
constexpr int rounds = 12;

using Vector = std::vector<double>;

Vector parameters_of(const PlainNetwork& network) {
    Vector all;
    for (const AffineLayer& layer : network.layers) {
        all.insert(all.end(), layer.weight.begin(), layer.weight.end());
        all.insert(all.end(), layer.bias.begin(), layer.bias.end());
    }
    return all;
}

double squared_distance(const Vector& one, const Vector& other) {
    double sum = 0;
    for (std::size_t i = 0; i < one.size(); ++i) sum += (one[i] - other[i]) * (one[i] - other[i]);
    return sum;
}

struct Parting {
    std::vector<std::size_t> group;
    double squares = 0;
};

/// From centres far apart: each next one is the point furthest from those chosen.
Parting lloyd(const std::vector<Vector>& points, std::size_t groups) {
    std::vector<Vector> centres{points.front()};
    while (centres.size() < groups) {
        const auto nearest = [&](const Vector& point) {
            double least = std::numeric_limits<double>::infinity();
            for (const Vector& centre : centres) least = std::min(least, squared_distance(point, centre));
            return least;
        };
        centres.push_back(
            *std::max_element(points.begin(), points.end(),
                              [&](const Vector& a, const Vector& b) { return nearest(a) < nearest(b); }));
    }
    Parting parting{std::vector<std::size_t>(points.size()), 0};
    for (int round = 0; round < rounds; ++round) {
        parting.squares = 0;
        std::vector<Vector> sums(groups, Vector(points.front().size()));
        std::vector<double> counts(groups);
        for (std::size_t p = 0; p < points.size(); ++p) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t g = 0; g < groups; ++g) {
                const double distance = squared_distance(points[p], centres[g]);
                if (distance < least) {
                    least = distance;
                    parting.group[p] = g;
                }
            }
            parting.squares += least;
            Vector& sum = sums[parting.group[p]];
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += points[p][i];
            ++counts[parting.group[p]];
        }
        for (std::size_t g = 0; g < groups; ++g) {
            if (!(counts[g] > 0)) continue;
            for (std::size_t i = 0; i < centres[g].size(); ++i) centres[g][i] = sums[g][i] / counts[g];
        }
    }
    return parting;
}

}  // namespace

std::vector<std::vector<std::size_t>> clusters_of(std::span<const PlainNetwork> networks) {
    std::vector<Vector> points;
    for (const PlainNetwork& network : networks) points.push_back(parameters_of(network));
    // The elbow: where one group more gains much less than the one before gained.
    const std::size_t most = std::min(most_groups, points.size());
    Parting best = lloyd(points, 1);
    double before = best.squares, gained = std::numeric_limits<double>::infinity();
    for (std::size_t groups = 2; groups <= most; ++groups) {
        Parting next = lloyd(points, groups);
        const double gain = before - next.squares;
        if (groups > 2 && gain < gained / 2) break;
        before = next.squares;
        gained = gain;
        best = std::move(next);
    }
    std::vector<std::vector<std::size_t>> clusters(most);
    for (std::size_t p = 0; p < points.size(); ++p) clusters[best.group[p]].push_back(p);
    std::erase_if(clusters, [](const std::vector<std::size_t>& cluster) { return cluster.empty(); });
    if (clusters.size() == 1 && points.size() > 1) {  // all of them are the same: any parting will do
        const auto half = clusters[0].begin() + static_cast<std::ptrdiff_t>(points.size() / 2);
        clusters.emplace_back(half, clusters[0].end());
        clusters[0].erase(half, clusters[0].end());
    }
    return clusters;
}

}  // namespace holdfast
