#pragma once

#include <algorithm>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/record_feed.hpp"
#include "kernels/cuda/step_plan.hpp"
#include "kernels/cuda/variant_pass.hpp"

namespace holdfast::device {

/// Whole steps on an executor's device: boxes go up, the message comes down, all between stays there.
template <typename Executor>
class EngineOn final : public Engine {
  public:
    /// arithmetic: double or fixed.
    EngineOn(const Executor& executor, const NetworkShape& network, const Clip& clip, Arithmetic arithmetic)
        : executor_(executor),
          network_(network),
          clip_(clip),
          feed_(executor, network_.inputs(), network_.input,
                arithmetic.precision == Precision::double_precision),
          memory_(executor),
          host_(executor) {
        if (arithmetic.precision == Precision::fixed)
            fixed_ = FixedPlan{FixedFormat::of(network, arithmetic.activation_bits), clip.by_factors(),
                               executor.longest_product()};
    }

    void set_records(std::span<const RecordSet> sets) override {
        for (const RecordSet& set : sets) {
            if (set.poison || set.input_radius > 0)
                throw Error(ExitCode::usage, "backend \"cuda\" bounds no records that move",
                            "use --set run.backend=cpu", "run.backend");
            if (set.weights != nullptr)
                throw Error(ExitCode::usage, "backend \"cuda\" weighs no rows", "use --set run.backend=cpu",
                            "run.backend");
        }
        executor_.bind();
        memory_.release();
        feed_.set_records({}, 0);
        feed_.set_records(sets, executor_.free_memory());
        free_memory_ = executor_.free_memory();
    }

    void set_dropout(std::span<const std::vector<double>> factors) override {
        ensure(std::all_of(factors.begin(), factors.end(), [](const auto& layer) { return layer.empty(); }),
               "dropout is computed by the host");
    }

    DeviceSpan run(std::span<const Variant> asked,
                   std::span<const std::span<const std::uint32_t>> indices) override {
        executor_.bind();
        ensure(indices.size() == feed_.sets(), "a batch for every set of records");
        std::size_t records = 0;
        for (const auto& set : indices) records += set.size();
        // There are not more least values than records.
        std::vector<Variant> variants(asked.begin(), asked.end());
        asked_.clear();
        for (Variant& variant : variants) {
            asked_.push_back(variant.selected);
            variant.selected = std::min(variant.selected, records);
        }
        const StepPlan plan =
            plan_step(network_, variants, records, feed_.chunk_limit(), free_memory_, fixed_);
        memory_.reserve(workspace_bytes(network_, plan));
        begin(plan, indices);
        for (const VariantGroup& group : plan.groups) run_group(plan, group, variants);
        return {message_, layout().size(), executor_.stream()};
    }

    std::span<std::int64_t> finish() override {
        executor_.bind();
        const std::size_t words = layout().size(), bytes = words * sizeof(std::int64_t);
        host_.reserve(bytes);
        executor_.download(host_.template as<std::int64_t>(), message_, bytes);
        executor_.synchronize();
        return {host_.template as<std::int64_t>(), words};
    }

    LeastEntries take_selection(std::size_t variant) override {
        const std::size_t entries = network_.parameters();
        LeastEntries least(entries, asked_[variant]);
        Kept& kept = kept_[variant];
        const std::int64_t* value = kept.values.data();
        for (Selection* selection : {&least.negated_lower, &least.upper}) {
            for (std::size_t slot = 0; slot < kept.slots; ++slot) {
                for (std::size_t entry = 0; entry < entries; ++entry) selection->insert(entry, *value++);
            }
        }
        kept = {};
        return least;
    }

    /// A network of its own, with one variant: a point's outputs are a box where `last` is one.
    void outputs(const Variant& box, const LastLayer& last, std::span<const std::uint32_t> indices,
                 const std::function<void(const OutputBlock&)>& visit) override {
        executor_.bind();
        NetworkShape network = network_;
        network.layers.back().out = last.rows;
        const std::size_t hidden = network_.offset(network_.last());
        std::vector<std::int64_t> lower(box.lower, box.lower + hidden), upper(box.upper, box.upper + hidden);
        const std::size_t behind = network.layers.back().parameters();
        lower.insert(lower.end(), last.lower, last.lower + behind);
        upper.insert(upper.end(), last.upper, last.upper + behind);
        const bool point = box.is_point() && last.is_point();
        const std::vector<Variant> variants{{lower.data(), point ? lower.data() : upper.data()}};
        const StepPlan plan =
            plan_step(network, variants, indices.size(), feed_.chunk_limit(), free_memory_, fixed_);
        memory_.reserve(workspace_bytes(network, plan));
        const Workspace workspace = workspace_of(network, plan, plan.groups.front());
        std::vector<std::span<const std::uint32_t>> batches(feed_.sets());
        batches.front() = indices;
        feed_.begin_step(batches, workspace.indices);
        upload_parameters(network, workspace, plan.groups.front(), variants);
        VariantPass<Executor> pass(executor_, network, clip_, workspace, plan, plan.groups.front(), {});
        std::vector<double> sides[2];
        for (std::size_t first = 0; first < indices.size(); first += plan.chunk) {
            const std::size_t count = std::min(plan.chunk, indices.size() - first);
            pass.outputs(feed_.load(0, first, count, workspace.x, plan.chunk));
            for (int side = 0; side < (point ? 1 : 2); ++side) {
                sides[side].resize(last.rows * plan.chunk);
                executor_.download(sides[side].data(), workspace.activations.back().side[side],
                                   sides[side].size() * sizeof(double));
            }
            executor_.synchronize();
            visit({first, count, plan.chunk, sides[0].data(), sides[point ? 0 : 1].data()});
        }
    }

  private:
    /// Values kept for one variant, [2, slots, parameters], the negated lower bounds first.
    struct Kept {
        std::size_t slots = 0;
        std::vector<std::int64_t> values;
    };

    StepMessage layout() const { return StepMessage::of(kept_.size(), network_); }

    Workspace workspace_of(const NetworkShape& network, const StepPlan& plan,
                           const VariantGroup& group) const {
        Carver carver(memory_.template as<std::byte>());
        return Workspace(network, plan, group, carver);
    }

    void begin(const StepPlan& plan, std::span<const std::span<const std::uint32_t>> indices) {
        const Workspace workspace = workspace_of(network_, plan, plan.groups.front());
        kept_.assign(plan.step_variants, {});
        message_ = workspace.message;
        executor_.fill(message_, 0, layout().size() * sizeof(std::int64_t));
        const auto records = static_cast<std::int64_t>(plan.batch_records);
        executor_.upload(message_ + StepMessage::records, &records, sizeof records);
        feed_.begin_step(indices, workspace.indices);
    }

    void run_group(const StepPlan& plan, const VariantGroup& group, std::span<const Variant> variants) {
        const Workspace workspace = workspace_of(network_, plan, group);
        const std::span<const Variant> members = variants.subspan(group.first, group.variants());
        const GroupResults results = results_of(group);
        upload_parameters(network_, workspace, group, members);
        const std::vector<VariantSelection> selections = upload_selections(workspace, members);
        VariantPass<Executor> pass(executor_, network_, clip_, workspace, plan, group, results);
        std::size_t seen = 0;
        for (std::size_t set = 0; set < feed_.sets(); ++set) {
            const bool select = group.selects && feed_.selectable(set);
            for (std::size_t first = 0; first < feed_.records(set); first += plan.chunk) {
                const std::size_t count = std::min(plan.chunk, feed_.records(set) - first);
                pass.add_gradients(feed_.load(set, first, count, workspace.x, plan.chunk), select, seen);
                if (select) seen += count;
            }
        }
        if (group.is_point) copy_points(group, results);
        if (group.selects) download_selections(workspace, group, selections, seen);
    }

    GroupResults results_of(const VariantGroup& group) const {
        const StepMessage at = layout();
        return {{message_ + at.lower(group.first), message_ + at.upper(group.first)},
                message_ + at.surely_correct(group.first),
                at.stride(),
                group.last == at.variants && !group.is_point ? message_ + at.undecided(0) : nullptr};
    }

    void upload_parameters(const NetworkShape& network, const Workspace& workspace, const VariantGroup& group,
                           std::span<const Variant> members) const {
        const std::size_t parameters = network.parameters();
        const Launches<Executor> launches(executor_, Precision::double_precision);
        for (int side = 0; side < (group.is_point ? 1 : 2); ++side) {
            double* to = workspace.parameters.side[side];
            for (std::size_t member = 0; member < members.size(); ++member) {
                executor_.upload(to + member * parameters,
                                 side == 0 ? members[member].lower : members[member].upper,
                                 parameters * sizeof(std::int64_t));
            }
            if (!fixed_) launches.parameters(to, members.size() * parameters);
        }
    }

    std::vector<VariantSelection> upload_selections(const Workspace& workspace,
                                                    std::span<const Variant> members) const {
        std::vector<VariantSelection> selections;
        std::size_t offset = 0;
        for (const Variant& variant : members) {
            selections.push_back({offset, static_cast<std::int32_t>(variant.selected)});
            offset += 2 * variant.selected * network_.parameters();
        }
        executor_.upload(workspace.selections, selections.data(),
                         selections.size() * sizeof(VariantSelection));
        return selections;
    }

    /// One bound was computed, for both.
    void copy_points(const VariantGroup& group, const GroupResults& results) const {
        for (std::size_t member = 0; member < group.variants(); ++member) {
            executor_.copy(results.sums[1] + member * results.stride,
                           results.sums[0] + member * results.stride,
                           network_.parameters() * sizeof(std::int64_t));
        }
    }

    /// The heaps' memory is the next group's, so they leave it now.
    void download_selections(const Workspace& workspace, const VariantGroup& group,
                             const std::vector<VariantSelection>& selections, std::size_t seen) {
        const std::size_t entries = network_.parameters();
        for (std::size_t member = 0; member < group.variants(); ++member) {
            const auto count = static_cast<std::size_t>(selections[member].count);
            Kept& kept = kept_[group.first + member];
            kept.slots = std::min(count, seen);
            kept.values.resize(2 * kept.slots * entries);
            const std::int64_t* values = workspace.selected_values + selections[member].offset;
            for (std::size_t side = 0; side < 2; ++side) {
                executor_.download(kept.values.data() + side * kept.slots * entries,
                                   values + side * count * entries,
                                   kept.slots * entries * sizeof(std::int64_t));
            }
        }
    }

    const Executor& executor_;
    NetworkShape network_;
    Clip clip_;
    std::optional<FixedPlan> fixed_;
    RecordFeed<Executor> feed_;
    Memory<Executor> memory_;
    PinnedMemory<Executor> host_;
    std::size_t free_memory_ = 0;
    std::vector<std::size_t> asked_;   // [variants of the last run]: least values
    std::vector<Kept> kept_;           // [variants of the last run]
    std::int64_t* message_ = nullptr;  // in memory_
};

}  // namespace holdfast::device
