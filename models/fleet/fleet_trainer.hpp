#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/models_pass.hpp"
#include "models/training/optimiser.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

/// Trains networks that differ by the record they do without, as many side by side as a pass takes: the same
/// start, the same batches, in which that record's slot stays empty. Each is what MemberTrainer makes of the
/// records without it, level 0 (models/mathematics.md, record left out).
class FleetTrainer {
  public:
    /// Plan and records, as the network takes them, must outlive it. left_out: of every network the record it
    /// does without, an index (of a person's rows that of the first), or nothing_left_out.
    FleetTrainer(const TrainingPlan& plan, const Records& records, std::vector<std::size_t> left_out);

    std::size_t networks() const { return left_out_.size(); }

    /// Networks [first, first + count): their parameters after the last step, [count, parameters]; nothing:
    /// `stop`, which is asked before every step, said so. May be called from several threads at once, each
    /// with a pass of its own.
    std::optional<std::vector<std::int64_t>> train(std::size_t first, std::size_t count, ModelsPass& pass,
                                                   const std::function<bool()>& stop) const;

  private:
    struct Block;
    /// Of networks side by side; false: stopped.
    bool train_block(Block& block, ModelsPass& pass, const std::function<bool()>& stop) const;
    void update(std::int64_t step, std::size_t records, std::span<const std::size_t> without,
                Block& block) const;
    double normaliser(std::size_t records) const;

    const TrainingPlan& plan_;
    const Records& records_;
    std::vector<std::size_t> left_out_;
    std::unique_ptr<Optimiser> optimiser_;
    std::vector<std::size_t> pinned_;
};

}  // namespace holdfast
