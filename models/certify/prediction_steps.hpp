#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/ops/input_transform.hpp"
#include "models/certify/output_bounds.hpp"
#include "models/certify/stable_distance.hpp"

namespace holdfast {

/// A regression's predictions as answers to choose from: class j is the j-th of so many equal steps of their
/// public range, as far away as the first level whose box reaches it
/// (models/mathematics.md, prediction steps).
class PredictionSteps {
  public:
    static constexpr std::size_t most = 4096;

    /// steps: 2 to `most`.
    PredictionSteps(FeatureRange range, std::size_t steps);

    /// Of a prediction beyond the range the step at its end. Does not fall as the prediction rises.
    std::size_t step_of(double prediction) const;
    double middle_of(std::size_t step) const;

    /// Bounds of the queries' predictions over the box of the next level; first of level 0, which is a point.
    void add_level(const OutputBounds& bounds);
    const Certificates& certificates() const& { return found_; }
    Certificates certificates() && { return std::move(found_); }

  private:
    FeatureRange range_;
    std::size_t steps_;
    std::int64_t level_ = 0;
    Certificates found_;
};

}  // namespace holdfast
