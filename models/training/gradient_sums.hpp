#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/training/phase_times.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Bounds of the sum over a step's records of their clipped gradients, at one level.
struct LevelSums {
    std::span<std::int64_t> lower, upper;  ///< [parameters], gradient grid units
    std::int64_t surely_correct = 0;       ///< records whose label the whole box predicts
    std::int64_t possibly_correct = 0;     ///< records whose label some of it may predict
    /// Of this rank's private records, if asked for: their least bounds; under `poison` what it could add.
    std::optional<LeastEntries> least;
};

/// What a step adds up, on all ranks; the sums are spans of `message`.
struct StepSums {
    StepSums(StepMessage layout, std::vector<std::int64_t> words,
             std::vector<std::optional<LeastEntries>> selections);
    StepSums(StepSums&&) = default;
    /// The same for so many levels that are all like the first, which has no selection.
    StepSums repeated(std::size_t count) const;

    std::vector<std::int64_t> message;
    std::int64_t records;  ///< of persons with several rows: persons
    std::vector<LevelSums> levels;
    std::span<const std::int64_t> undecided;  ///< [hidden layers], of the last level (StepMessage)
};

/// After Engine::finish(): the selections of the levels that asked for one, [levels].
std::vector<std::optional<LeastEntries>> take_selections(Engine& engine, std::span<const Variant> levels);

/// Which of a rank's private records a step takes, and which of the public ones, which every rank has all of.
struct StepRecords {
    std::span<const std::uint32_t> private_ones, public_ones;
};

/// The sums of one member's steps: an engine over this rank's records, and the reduction.
class GradientSums {
  public:
    /// Plan and records must outlive it. Error (input): more than 2^32 records.
    GradientSums(const TrainingPlan& plan, const Records& private_records, const Records& public_records);

    /// What the following steps multiply the outputs of hidden layers by (Engine::set_dropout).
    void set_dropout(std::vector<std::vector<double>> factors) { dropout_ = std::move(factors); }

    /// Collective over the ranks, which share the member's records. Exact for any number of records: an int64
    /// adds record_limit of them, so a batch of more is summed in parts. Adds to `times`.
    StepSums of(std::span<const Variant> levels, const StepRecords& of_step, const Communicator& ranks,
                PhaseTimes& times);

    /// Gives the engine and its memory up; the next step makes another.
    void release() { engine_.reset(); }

  private:
    std::int64_t parts_of(const StepRecords& records, const Communicator& ranks);
    /// uncounted: how many of this rank's rows are a person's who is counted by another of them.
    std::vector<std::int64_t> part(std::span<const Variant> levels, const StepRecords& records,
                                   std::int64_t uncounted, const Communicator& ranks, PhaseTimes& times);

    StepSums without_pinned(StepSums sums) const;
    StepSums in_persons(StepSums sums) const;

    const TrainingPlan& plan_;
    std::vector<std::size_t> pinned_;  ///< biases of layers without
    const Records& private_records_;
    const Records& public_records_;
    std::vector<std::vector<double>> dropout_;
    std::vector<double> whole_;       ///< weights of public records beside rows that are weighed
    std::unique_ptr<Engine> engine_;  ///< from the first step on
    std::optional<bool> one_part_;    ///< no batch of this member can need more; known from the first step on
};

}  // namespace holdfast
