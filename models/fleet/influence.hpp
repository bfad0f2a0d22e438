#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/fleet/fleet_outputs.hpp"

namespace holdfast {

/// What all N_-i put out for some queries: exact, as each was trained. For the owner's eyes.
struct LeftOutValues {
    std::size_t queries, rows, networks;
    std::vector<double> values;  ///< [queries, rows, networks], the networks in the order of the fleet

    double at(std::size_t query, std::size_t row, std::size_t network) const {
        return values[(query * rows + row) * networks + network];
    }
    /// By how much each network is for class c, or of a regression its answer. [networks]
    std::vector<double> leads(const Decision& decision, std::size_t query, std::size_t c) const;
};

/// Of mapped queries, the same on all ranks. Collective; all ranks have all values.
LeftOutValues left_out_values(const FleetOutputs& fleet, const Communicator& world, const Records& queries);

/// The rows that the N_-i give for the record each did without: [records, rows]. own: mapped, in the order of
/// this rank's networks.
std::vector<double> own_values(const FleetReader& fleet, std::int64_t first, const Records& own);

/// Jackknife+ (Barber, Candes, Ramdas, Tibshirani 2021): predictions of the N_-i for a query, residuals
/// |y_i - N_-i(x_i)| of the records, both [n]; alpha in (0, 1). For exchangeable records and a training that
/// treats them alike it holds the query's target with probability 1 - 2 alpha at least; infinite where n
/// is too small for alpha.
struct PredictionInterval {
    double low, high;
};
PredictionInterval jackknife_interval(std::span<const double> predictions, std::span<const double> residuals,
                                      double alpha);

/// The same for classes (Romano, Sesia, Candes 2020): is a class in the set, of the leads that the N_-i give
/// it at the query and those they give its own class at the record each did without, both [n]? It is unless
/// (1 - alpha)(n + 1) records or more were more at home in theirs.
bool jackknife_keeps(std::span<const double> leads, std::span<const double> own_leads, double alpha);

}  // namespace holdfast
