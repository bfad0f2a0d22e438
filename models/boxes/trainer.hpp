#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/layout/assignment.hpp"
#include "models/boxes/device_sums.hpp"
#include "models/boxes/gradient_sums.hpp"
#include "models/boxes/optimiser.hpp"
#include "models/boxes/plan.hpp"
#include "models/boxes/state.hpp"

namespace holdfast {

/// Abstract gradient training of one member over the records this rank holds (mathematics.md, enclosure).
class MemberTrainer {
  public:
    /// Starts from `state`, which may be fresh_state() or a checkpoint's. The plan must outlive the trainer.
    MemberTrainer(const TrainingPlan& plan, Records records, const Records& public_records,
                  MemberState state);
    static MemberState fresh_state(const TrainingPlan& plan, std::uint64_t member);

    std::int64_t steps() const { return plan_.settings.training.steps(); }  ///< of the whole training
    bool done() const { return state_.step >= steps(); }
    /// One step of every level. Collective over the member's block group. Total: whatever the records are and
    /// however many, it gives a result; only Normalise::actual can fail (input), where a batch has no more
    /// records than may go.
    void step(const Communicator& block_group);

    const MemberState& state() const { return state_; }
    /// T^k of a level of the state: encloses the parameters of every run on every neighbour at distance <= k.
    LevelState box(std::size_t level) const;

  private:
    struct StepPosition {
        std::int64_t epoch, batch;
    };
    StepPosition position() const {
        return {state_.step / plan_.settings.training.batches, state_.step % plan_.settings.training.batches};
    }
    Batch batch_of(const Records& records, bool selectable) const;
    bool selects(std::int64_t k) const;
    bool all_levels_equal() const;
    std::vector<LevelSums> sums_of_levels(const Communicator& block_group, std::int64_t& records_in_batch);
    std::vector<LevelSums> reduced_sums(std::span<const BoxView> boxes, std::span<const Batch> batches,
                                        std::span<const std::int64_t> selection_counts,
                                        const Communicator& block_group, std::int64_t& records_in_batch);
    void reduce(std::vector<LevelSums>& sums, std::int64_t& records_in_batch,
                const Communicator& block_group) const;
    std::int64_t parts_of(std::span<const Batch> batches, const Communicator& block_group);
    std::vector<LevelSums> sums_in_parts(std::int64_t parts, std::span<const BoxView> boxes,
                                         std::span<const Batch> batches,
                                         std::span<const std::int64_t> selection_counts,
                                         const Communicator& block_group, std::int64_t& records_in_batch);
    void charge(const LevelState& level, LevelSums& sums, const Communicator& block_group) const;
    double normaliser_of(std::int64_t k, std::int64_t records_in_batch) const;
    void advance_responses(std::int64_t step, double normaliser);
    void record_metrics(const std::vector<LevelSums>& sums, std::int64_t records_in_batch);

    const TrainingPlan& plan_;
    Records records_;
    const Records& public_records_;
    Assignment assignment_;
    std::vector<bool> biases_;
    GradientScale scale_;
    std::unique_ptr<Optimiser> optimiser_;
    std::unique_ptr<ImpulseResponse> weight_response_, bias_response_;
    // Made by the first step and given up after the last: members train one after the other, and each wants
    // the device's memory for its records. Null: the backend has no engine.
    std::unique_ptr<DeviceSums> device_sums_;
    std::optional<bool> one_part_;  ///< no batch of this member can need more; known from the first step on
    MemberState state_;
};

}  // namespace holdfast
