#pragma once

#include <memory>
#include <vector>

#include "models/boxes/state.hpp"
#include "models/certify/output_bounds.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// How the boxes of a training do on the records that its plan holds out; where it holds none out, nothing.
class Validation {
  public:
    /// The plan must outlive it.
    explicit Validation(const TrainingPlan& plan);

    /// Is a training looked at that has taken so many steps?
    bool due(std::int64_t steps) const;
    /// `least`, `widest`: boxes of this rank's least and greatest level.
    ValidationMetrics of(const LevelState& least, const LevelState& widest) const;

  private:
    const TrainingPlan& plan_;
    std::vector<double> targets_;
    std::unique_ptr<const OutputBounder> outputs_;
};

}  // namespace holdfast
