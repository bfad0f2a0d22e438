#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/data/dataset.hpp"
#include "kernels/base/random.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/robust/attack.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// What a step adds up on all ranks.
struct NoisyStepSums {
    std::vector<std::int64_t> sums;  ///< [parameters], gradient grid units
    std::int64_t records = 0, correct = 0;
};

/// The sums of noisy training on noise copies and adversarial copies (section robust), or on the rows of
/// persons that are clipped together (training.clip_rows), on labels that are corrected, or on inputs less
/// their measured mean (noise.centre): in step t a record adds one vector, the mean over its copies of their
/// gradients, over its rows by their weights, clipped as a whole to a 2-norm of clip.norm_limit and rounded;
/// where the mean is not measured yet, its inputs in place of a gradient. It is a function of the record, of
/// the parameters and the mean so far and of bits that the key draws under its id, whatever others there are
/// (models/privacy/mathematics.md, one vector a record). In double, by the host.
class RobustSums {
  public:
    /// Plan, records and key must outlive it.
    RobustSums(const TrainingPlan& plan, const Records& records, const SecretKey& key);

    /// Where a step begins: the parameters, and the mean of the inputs, empty before it is measured.
    struct Start {
        const std::vector<std::int64_t>& parameters;
        const std::vector<double>& centre;
        std::int64_t step;
    };

    /// Collective over the ranks; indices: this rank's records of the step, of a person all rows, side by
    /// side.
    NoisyStepSums of(const Start& start, std::span<const std::uint32_t> indices,
                     const Communicator& ranks) const;

    /// What one record adds, or a person of these rows, [parameters] in grid units: of a 2-norm of at most
    /// Clip::weight_units().
    std::vector<std::int64_t> vector_of(const Start& start, std::span<const std::uint32_t> rows) const;

  private:
    struct Point;
    class Worker;
    const TrainingPlan& plan_;
    const Records& records_;
    const SecretKey& key_;
};

}  // namespace holdfast
