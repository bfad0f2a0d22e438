#pragma once

#include <memory>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "models/boxes/charges.hpp"
#include "models/boxes/state.hpp"
#include "models/boxes/validation.hpp"
#include "models/training/batches.hpp"
#include "models/training/gradient_sums.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/phase_times.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Abstract gradient training of one member over the records this rank holds (models/mathematics.md,
/// enclosure).
class MemberTrainer {
  public:
    /// Starts from `state`, which may be fresh_state() or a checkpoint's. The plan must outlive the trainer.
    MemberTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                  MemberState state);
    static MemberState fresh_state(const TrainingPlan& plan, std::uint64_t member);
    /// The same after training.public_steps steps on public records alone: the same bytes for every
    /// neighbour, so the boxes are still points. Their rates are counted apart, and no velocity is kept.
    static MemberState fresh_state(const TrainingPlan& plan, std::uint64_t member,
                                   const Records& public_records);
    /// Every box the point of these parameters [parameters], in parameter units.
    static MemberState state_at(const TrainingPlan& plan, std::uint64_t member,
                                const std::vector<std::int64_t>& initial);

    std::int64_t steps() const { return plan_.settings.training.steps(); }  ///< of the whole training
    bool done() const { return state_.step >= steps(); }
    /// One step of every level. Collective over the member's block group. Total: whatever the records are and
    /// however many, it gives a result; only Normalise::actual can fail (input), where a batch has no more
    /// records than may go.
    /// Adds to `times`.
    void step(const Communicator& block_group, PhaseTimes& times);
    void step(const Communicator& block_group) {
        PhaseTimes unasked;
        step(block_group, unasked);
    }

    const MemberState& state() const { return state_; }
    /// T^k of a level of the state: encloses the parameters of every run on every neighbour at distance <= k.
    LevelState box(std::size_t level) const { return charges_->box(state_.levels[level]); }

  private:
    bool all_levels_equal() const;
    StepSums sums_of_step(const Communicator& block_group, PhaseTimes& times);
    double normaliser_of(std::int64_t k, std::int64_t records_in_batch) const;
    void record_metrics(const StepSums& sums, const std::vector<double>& uncharged);
    void record_layers(const StepSums& sums, const std::vector<double>& uncharged, const LevelState& widest,
                       StepMetrics& metrics) const;

    const TrainingPlan& plan_;
    std::unique_ptr<const Records> records_;  // where batches and sums find them, wherever the trainer is
    std::unique_ptr<Optimiser> optimiser_;
    std::unique_ptr<Charges> charges_;
    Batches batches_;
    PublicBatches public_batches_;
    GradientSums sums_;
    Validation validation_;
    MemberState state_;
};

}  // namespace holdfast
