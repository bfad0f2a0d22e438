#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jobs/program/runs/finished_fleet.hpp"
#include "models/fleet/newton.hpp"

namespace holdfast {

/// The one-step estimate of what every record changed, beside the exact changes: how far off it is. Of models
/// that have none it holds why, and nothing else.
class NewtonComparison {
  public:
    /// Of a fleet without the records it was trained on: no estimate, and no word of it.
    NewtonComparison() = default;
    /// all: the records of the training, mapped.
    NewtonComparison(const FinishedFleet& fleet, const Records& all);

    bool made() const { return estimate_.has_value(); }
    /// What it says of a mapped query and the class c, of which the exact changes are these: [left_out].
    std::vector<double> beside(const Records& queries, std::size_t query, std::size_t c,
                               std::span<const double> exact);

    /// Null, {missing}, or {correlation, largest_error, largest_change, gradient} over all that was compared.
    nlohmann::json summary() const;
    static std::string text_of(const nlohmann::json& summary);

  private:
    std::string missing_;
    std::optional<NewtonEstimate> estimate_;
    double pairs_ = 0, exact_ = 0, estimated_ = 0, exact_squares_ = 0, estimated_squares_ = 0, products_ = 0;
    double largest_error_ = 0, largest_change_ = 0;
};

}  // namespace holdfast
