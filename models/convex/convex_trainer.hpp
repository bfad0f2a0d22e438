#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/convex/proximal.hpp"
#include "models/convex/removals.hpp"
#include "models/training/batches.hpp"
#include "models/training/gradient_sums.hpp"
#include "models/training/iterate_average.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/step_metrics.hpp"

namespace holdfast {

/// Everything that convex training needs to go on, after `step` steps.
struct ConvexState {
    std::int64_t step = 0;
    std::vector<std::int64_t> parameters;
    IterateAverage average;
    std::vector<StepMetrics> metrics;

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& step& parameters& average& metrics;
    }
    std::vector<std::byte> packed() const;
    static ConvexState unpacked(std::span<const std::byte> bytes);  ///< Error (input): damaged
};

/// sum f(n), f(n) = max(0, M + 1 - n) / M, rounded to nearest: what a batch of n records counts, so that one
/// record more moves it by at most one record's part, whatever n (models/mathematics.md, convex step). |sum|
/// <= 2^62, M <= 2^40.
std::int64_t counted_sum(std::int64_t sum, std::int64_t records, std::int64_t most_records);

/// Training of a linear model from 0 by gradient steps over the records this rank holds, each a public
/// contraction of the parameters whatever the records (models/mathematics.md, convex radius).
class ConvexTrainer {
  public:
    /// The plan, with the clip of convex_clip(), must outlive it.
    ConvexTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                  ConvexState state);
    static ConvexState fresh_state(const TrainingPlan& plan);

    std::int64_t steps() const { return plan_.settings.training.steps(); }
    bool done() const { return state_.step >= steps(); }
    /// Collective over the ranks that hold the records. Total: whatever the records are and however many, it
    /// gives a result. Adds to `times`.
    void step(const Communicator& ranks, PhaseTimes& times);

    const ConvexState& state() const { return state_; }
    /// Once it is done: the last parameters, or their average over the last steps, rounded down.
    std::vector<std::int64_t> result() const;
    /// Of relation `remove`, and of a training that began here: what removals may do to the result; else
    /// null.
    const Removals* removals() const { return removals_.get(); }

  private:
    const TrainingPlan& plan_;
    std::int64_t most_records_;
    std::unique_ptr<const Records> records_;  // where the sums find them, wherever the trainer is
    std::unique_ptr<Optimiser> optimiser_;
    Proximal proximal_;
    Batches batches_, public_batches_;
    GradientSums sums_;
    std::unique_ptr<Removals> removals_;
    ConvexState state_;
};

}  // namespace holdfast
