#pragma once

#include <cstdint>
#include <span>

#include "models/training/settings.hpp"

namespace holdfast {

/// What training.l1 takes from the parameters of a step, s = alpha_t l1: either of two
/// (models/mathematics.md, l1 penalty).
class L1Penalty {
  public:
    explicit L1Penalty(const TrainingSettings& settings) : settings_(settings) {}

    /// Of the soft threshold after a step, in parameter units; 0 where there is none.
    std::int64_t threshold(std::int64_t step) const {
        return settings_.l1_step == L1Step::proximal ? units(step) : 0;
    }
    /// The step against the sign of each parameter of the box, where there is one.
    void before(std::int64_t step, std::span<std::int64_t> lower, std::span<std::int64_t> upper) const;
    /// And of what must keep its distance from the parameters.
    void before(std::int64_t step, std::span<std::int64_t> lower, std::span<std::int64_t> upper,
                std::span<std::int64_t> lower_beside, std::span<std::int64_t> upper_beside) const;

  private:
    std::int64_t units(std::int64_t step) const;

    TrainingSettings settings_;
};

}  // namespace holdfast
