#pragma once

#include <algorithm>

#include "kernels/base/arithmetic.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/training/iterate_average.hpp"

namespace holdfast {

/// By which factor C_s what enters the parameters in step s reaches the result: w_s + (1 - alpha_(s+1)
/// lambda) C_(s+1), w_s the weight of the parameters behind the step (models/mathematics.md, convex radius).
/// From the last step back.
class ConvexReach {
  public:
    ConvexReach(const ConvexBounds& bounds, const Settings& settings)
        : bounds_(bounds), averaged_(averaged_steps(settings.convex.average, bounds.steps())) {}

    /// C of a step: of the last one first, then of each the one before.
    Upper before(std::int64_t step) {
        factor_ = bounds_.kept(step + 1) * factor_;
        if (step >= bounds_.steps() - averaged_)
            factor_ = factor_ + (averaged_ == 1 ? Upper(1) : Upper(1) / static_cast<double>(averaged_));
        return factor_;
    }
    Upper factor() const { return factor_; }  ///< the last that before() gave
    /// What rounding an average down adds to the distance of two results of a group.
    Upper average_rounding() const {
        if (averaged_ == 1) return Upper();
        return sqrt(Upper::of_count(bounds_.parameters())) * Upper(parameter_unit);
    }

  private:
    const ConvexBounds& bounds_;
    std::int64_t averaged_;
    Upper factor_;
};

}  // namespace holdfast
