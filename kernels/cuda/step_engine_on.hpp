#pragma once

#include <algorithm>
#include <vector>

#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/level_pass.hpp"
#include "kernels/cuda/record_feed.hpp"
#include "kernels/cuda/step_plan.hpp"

namespace holdfast::device {

/// Whole steps on an executor's device: boxes go up, the message comes down, all between stays there.
template <typename Executor>
class StepEngineOn final : public StepEngine {
  public:
    StepEngineOn(const Executor& executor, const StepShape& shape)
        : executor_(executor), shape_(shape), feed_(executor, shape_), memory_(executor), host_(executor) {}

    void set_records(std::span<const RecordSet> sets) override {
        executor_.bind();
        memory_.release();
        feed_.set_records({}, 0);
        feed_.set_records(sets, executor_.free_memory());
        free_memory_ = executor_.free_memory();
    }

    DeviceSpan run(std::span<const StepLevel> asked,
                   std::span<const std::span<const std::uint32_t>> indices) override {
        executor_.bind();
        ensure(indices.size() == feed_.sets(), "a batch for every set of records");
        std::size_t records = 0;
        for (const auto& set : indices) records += set.size();
        // There are not more least values than records.
        std::vector<StepLevel> levels(asked.begin(), asked.end());
        for (StepLevel& level : levels) level.selected = std::min(level.selected, records);
        const StepPlan plan = plan_step(shape_, levels, records, feed_.chunk_limit(), free_memory_);
        memory_.reserve(workspace_bytes(shape_, plan));
        begin(plan, indices);
        for (const LevelGroup& group : plan.groups) run_group(plan, group, levels);
        return {message_, message_size(levels.size(), shape_.parameters()), executor_.stream()};
    }

    std::span<const std::int64_t> finish() override {
        executor_.bind();
        const std::size_t words = message_size(kept_.size(), shape_.parameters());
        const std::size_t bytes = words * sizeof(std::int64_t);
        host_.reserve(bytes);
        executor_.download(host_.template as<std::int64_t>(), message_, bytes);
        executor_.synchronize();
        return {host_.template as<std::int64_t>(), words};
    }

    void selections(std::size_t level, Selection& least_upper,
                    Selection& least_negated_lower) const override {
        const Kept& kept = kept_[level];
        const std::size_t entries = shape_.parameters();
        const std::int64_t* value = kept.values.data();
        for (Selection* selection : {&least_negated_lower, &least_upper}) {
            for (std::size_t slot = 0; slot < kept.slots; ++slot) {
                for (std::size_t entry = 0; entry < entries; ++entry) selection->insert(entry, *value++);
            }
        }
    }

  private:
    /// Values kept for one level, [2, slots, parameters], the negated lower bounds first.
    struct Kept {
        std::size_t slots = 0;
        std::vector<std::int64_t> values;
    };

    Workspace workspace_of(const StepPlan& plan, const LevelGroup& group) const {
        Carver carver(memory_.template as<std::byte>());
        return Workspace(shape_, plan, group, carver);
    }

    void begin(const StepPlan& plan, std::span<const std::span<const std::uint32_t>> indices) {
        const Workspace workspace = workspace_of(plan, plan.groups.front());
        message_ = workspace.message;
        executor_.fill(message_, 0,
                       message_size(plan.message_levels, shape_.parameters()) * sizeof(std::int64_t));
        const auto records = static_cast<std::int64_t>(plan.batch_records);
        executor_.upload(message_, &records, sizeof records);
        feed_.begin_step(indices, workspace.indices);
        kept_.assign(plan.message_levels, {});
    }

    void run_group(const StepPlan& plan, const LevelGroup& group, std::span<const StepLevel> levels) {
        const Workspace workspace = workspace_of(plan, group);
        const std::span<const StepLevel> members = levels.subspan(group.first, group.levels());
        const GroupResults results = results_of(group);
        upload_parameters(workspace, group, members);
        const std::vector<LevelSelection> selections = upload_selections(workspace, members);
        const LevelPass<Executor> pass(executor_, shape_, workspace, group, results);
        std::size_t seen = 0;
        for (std::size_t set = 0; set < feed_.sets(); ++set) {
            const bool select = group.selects && feed_.selectable(set);
            for (std::size_t first = 0; first < feed_.records(set); first += plan.chunk) {
                const std::size_t count = std::min(plan.chunk, feed_.records(set) - first);
                pass.run(feed_.load(set, first, count, workspace.x, plan.chunk), select, seen);
                if (select) seen += count;
            }
        }
        if (group.is_point) copy_points(group, results);
        if (group.selects) download_selections(workspace, group, selections, seen);
    }

    GroupResults results_of(const LevelGroup& group) const {
        const std::size_t parameters = shape_.parameters(), stride = 2 * parameters + 2;
        std::int64_t* first = message_ + 1 + group.first * stride;
        return {{first, first + parameters}, first + 2 * parameters, stride};
    }

    void upload_parameters(const Workspace& workspace, const LevelGroup& group,
                           std::span<const StepLevel> members) const {
        const std::size_t parameters = shape_.parameters();
        const Launches<Executor> launches(executor_);
        for (int side = 0; side < (group.is_point ? 1 : 2); ++side) {
            double* to = workspace.parameters.side[side];
            for (std::size_t level = 0; level < members.size(); ++level) {
                executor_.upload(to + level * parameters,
                                 side == 0 ? members[level].lower : members[level].upper,
                                 parameters * sizeof(std::int64_t));
            }
            launches.parameters(to, members.size() * parameters);
        }
    }

    std::vector<LevelSelection> upload_selections(const Workspace& workspace,
                                                  std::span<const StepLevel> members) const {
        std::vector<LevelSelection> selections;
        std::size_t offset = 0;
        for (const StepLevel& level : members) {
            selections.push_back({offset, static_cast<std::int32_t>(level.selected)});
            offset += 2 * level.selected * shape_.parameters();
        }
        executor_.upload(workspace.selections, selections.data(), selections.size() * sizeof(LevelSelection));
        return selections;
    }

    /// One bound was computed, for both.
    void copy_points(const LevelGroup& group, const GroupResults& results) const {
        for (std::size_t level = 0; level < group.levels(); ++level) {
            executor_.copy(results.sums[1] + level * results.stride, results.sums[0] + level * results.stride,
                           shape_.parameters() * sizeof(std::int64_t));
        }
    }

    /// The heaps' memory is the next group's, so they leave it now.
    void download_selections(const Workspace& workspace, const LevelGroup& group,
                             const std::vector<LevelSelection>& selections, std::size_t seen) {
        const std::size_t entries = shape_.parameters();
        for (std::size_t level = 0; level < group.levels(); ++level) {
            const auto count = static_cast<std::size_t>(selections[level].count);
            Kept& kept = kept_[group.first + level];
            kept.slots = std::min(count, seen);
            kept.values.resize(2 * kept.slots * entries);
            const std::int64_t* values = workspace.selected_values + selections[level].offset;
            for (std::size_t side = 0; side < 2; ++side) {
                executor_.download(kept.values.data() + side * kept.slots * entries,
                                   values + side * count * entries,
                                   kept.slots * entries * sizeof(std::int64_t));
            }
        }
    }

    const Executor& executor_;
    StepShape shape_;
    RecordFeed<Executor> feed_;
    Memory<Executor> memory_;
    PinnedMemory<Executor> host_;
    std::size_t free_memory_ = 0;
    std::vector<Kept> kept_;           // [levels of the last run]
    std::int64_t* message_ = nullptr;  // in memory_
};

}  // namespace holdfast::device
