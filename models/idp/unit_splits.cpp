#include "models/idp/unit_splits.hpp"

#include <algorithm>

namespace holdfast::verify {
namespace {

using Workspace = DifferenceBounds::Workspace;

bool is_empty(const Workspace& w, std::size_t k) {
    return w.z_low[k] > w.z_high[k] || w.d_low[k] > w.d_high[k];
}

}  // namespace

bool give_signs(std::span<const UnitSplit> units, std::size_t l, Workspace& w) {
    for (const UnitSplit& split : units) {
        if (split.layer != l || split.of_twin) continue;
        double &low = w.z_low[split.unit], &high = w.z_high[split.unit];
        split.sign > 0 ? low = std::max(low, 0.0) : high = std::min(high, 0.0);
        if (is_empty(w, split.unit)) return false;
    }
    return true;
}

bool give_twin_signs(std::span<const UnitSplit> units, std::size_t l, Workspace& w) {
    for (const UnitSplit& split : units) {
        if (split.layer != l || !split.of_twin) continue;
        const std::size_t k = split.unit;
        if (split.sign > 0) {  // z' >= 0: z >= -d and d >= -z
            w.twin_low[k] = std::max(w.twin_low[k], 0.0);
            w.z_low[k] = std::max(w.z_low[k], -w.d_high[k]);
            w.d_low[k] = std::max(w.d_low[k], -w.z_high[k]);
        } else {
            w.twin_high[k] = std::min(w.twin_high[k], 0.0);
            w.z_high[k] = std::min(w.z_high[k], -w.d_low[k]);
            w.d_high[k] = std::min(w.d_high[k], -w.z_low[k]);
        }
        if (is_empty(w, k) || w.twin_low[k] > w.twin_high[k]) return false;
    }
    return true;
}

void keep_intervals(std::size_t l, Workspace& w) {
    const std::size_t count = w.low_z[l].size();
    std::copy_n(w.z_low.begin(), count, w.low_z[l].begin());
    std::copy_n(w.z_high.begin(), count, w.high_z[l].begin());
    std::copy_n(w.twin_low.begin(), count, w.low_twin[l].begin());
    std::copy_n(w.twin_high.begin(), count, w.high_twin[l].begin());
}

void add_costs(const PreparedNetwork& network, std::size_t lanes, std::span<const double> above,
               Workspace& w) {
    for (std::size_t l = 0; l < network.hidden(); ++l) {
        const DifferenceBounds::Units& units = w.units[l];
        for (std::size_t k = 0; k < network.layers[l].weight.out; ++k) {
            for (std::size_t t = 0; t < above.size(); ++t) {
                const double alpha = w.alphas[l][k * lanes + t], epsilon = w.epsilons[l][k * lanes + t];
                const double cost = std::max(alpha, 0.0) * units.chord_at_0[k] +
                                    std::max(epsilon, 0.0) * units.upper_at_0[k] -
                                    std::min(epsilon, 0.0) * units.lower_below_0[k];
                w.costs[l][k] += above[t] > 0 ? cost / above[t] : 0;
            }
        }
    }
}

void find_open(const PreparedNetwork& network, const Workspace& w, SplitBox& part) {
    double most = 0;
    for (std::size_t l = 0; l < network.hidden(); ++l) {
        for (std::size_t k = 0; k < network.layers[l].weight.out; ++k) {
            const bool of_n = w.low_z[l][k] < 0 && w.high_z[l][k] > 0;
            const bool of_twin = w.low_twin[l][k] < 0 && w.high_twin[l][k] > 0;
            if ((!of_n && !of_twin) || !(w.costs[l][k] > most)) continue;
            most = w.costs[l][k];
            part.open = UnitSplit{l, k, !of_n, 1};
        }
    }
    part.cost = most;
}

}  // namespace holdfast::verify
