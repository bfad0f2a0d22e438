#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "jobs/program/context.hpp"
#include "jobs/training/plan/scaling.hpp"
#include "models/kinds/kinds.hpp"

namespace holdfast {

/// Short trainings on made-up records of a dataset's columns, timed: what a step costs here. No record is
/// read.
class Calibration {
  public:
    /// All ranks measure at once, as they train at once; rank 0's figures count.
    Calibration(const Context& context, const Kind& kind, Settings settings, const DatasetInfo& data,
                std::shared_ptr<const Backend> backend);

    /// Up to most_records in a step, fewer where a step of them takes long.
    StepCost steps(double most_records) const;
    /// Of a network of a leave-one-out ensemble on one thread: the part that grows with its records.
    StepCost steps_side_by_side(double most_records, const std::string& backend) const;
    std::size_t records_measured() const { return many_; }  ///< of the longest step that was timed

    /// Adds messages of 8 bytes and of so many over all ranks; `otherwise`: of one rank.
    Link link(double bytes, const Link& otherwise) const;

  private:
    double seconds_of_step(std::size_t records, const std::vector<std::int64_t>& levels) const;
    Settings settings_for(std::size_t records) const;

    const Context& context_;
    const Kind& kind_;
    Settings settings_;
    const DatasetInfo& data_;
    std::shared_ptr<const Backend> backend_;
    mutable std::size_t many_ = 0;
};

}  // namespace holdfast
