#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/data/dataset.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/training/gradient_sums.hpp"

namespace holdfast {

/// For certificate.relation = "remove": how far the removal of each record may move the result of this very
/// training, all parameters of a member together (models/mathematics.md, convex removals). It depends on the
/// records: for unlearning and for the owner, never for a release.
class Removals {
  public:
    /// Plan and records, those of this rank, must outlive it.
    Removals(const TrainingPlan& plan, const Records& records);

    /// What a step at these parameters adds for the records of its batch; `sums`: over the batch, not scaled.
    void add(std::int64_t step, std::span<const std::int64_t> parameters,
             std::span<const std::uint32_t> batch, const StepSums& sums);

    /// By how much the removal of any k records may move the result, in parameter units, for k = 0..most: the
    /// k largest added up, and the rounding of both trainings. Collective over the ranks that hold the
    /// records.
    std::vector<std::int64_t> radii(std::size_t most, const Communicator& ranks) const;

  private:
    Upper gradient_of(std::uint32_t record, std::span<const double> logits, Upper rounding) const;
    bool is_first_of_person(std::size_t record) const;
    Upper weight_of(std::size_t record) const;
    std::vector<double> of_persons() const;

    const TrainingPlan& plan_;
    const Records& records_;
    ConvexBounds bounds_;
    Upper size_, rounding_;       ///< of one group: parameters, and both trainings' steps
    std::vector<double> shares_;  ///< [steps] of a gradient in the result
    std::unique_ptr<Engine> engine_;
    std::vector<double> lengths_;     ///< [records] |(phi, 1)|_2
    std::vector<double> influences_;  ///< [records] so far; of a person, those of the rows together
};

}  // namespace holdfast
