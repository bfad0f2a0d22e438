#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/record_feed.hpp"
#include "kernels/cuda/step_plan.hpp"
#include "kernels/cuda/variant_pass.hpp"
#include "kernels/ops/models_pass.hpp"

namespace holdfast::device {

/// Networks side by side on an executor's device, in double: the points of a step, as an engine's are. How
/// many follows from the memory that is free when it is made, of which it takes its share and no more.
template <typename Executor>
class ModelsPassOn final : public ModelsPass {
  public:
    /// arguments: of the executor, its own.
    template <typename... Arguments>
    ModelsPassOn(const NetworkShape& network, const Clip& clip, const DeviceShare& share,
                 Arguments... arguments)
        : executor_(arguments...),
          network_(network),
          clip_(clip),
          feed_(executor_, network_.inputs(), network_.input, true),
          own_(executor_),
          workspace_(executor_),
          host_(executor_),
          memory_bytes_(executor_.free_memory() / std::max<std::size_t>(1, share.passes)) {
        const std::size_t asked = std::bit_ceil(std::clamp<std::size_t>(share.networks, 1, most_models));
        // The other half is for the records.
        models_ = points_that_fit(network_, asked, memory_bytes_ / 2);
    }

    std::size_t models() const override { return models_; }

    void add(const std::int64_t* parameters, const RecordSet& records, std::span<const std::uint32_t> indices,
             std::span<const std::size_t> without, std::int64_t* sums) override {
        ensure(without.size() == models_, "what every network does without");
        executor_.bind();
        hold(records);
        const std::size_t held = feed_.bytes() + own_bytes();
        const StepPlan plan = plan_step(network_, std::vector<Variant>(models_), indices.size(),
                                        feed_.chunk_limit(), memory_bytes_ - std::min(held, memory_bytes_));
        const Arrays arrays = own_arrays();
        workspace_.reserve(workspace_bytes(network_, plan));
        executor_.upload(arrays.units, parameters, count() * sizeof(std::int64_t));
        executor_.upload(arrays.without, without.data(), without.size_bytes());
        const Workspace first = workspace_of(plan, plan.groups.front());
        executor_.fill(first.message, 0, layout().size() * sizeof(std::int64_t));
        feed_.begin_step({&indices, 1}, first.indices);
        for (const VariantGroup& group : plan.groups) run_group(plan, group, arrays);
        take_sums(first.message, arrays.units, sums);
    }

  private:
    static constexpr std::size_t most_models = 1024;

    /// What every group of a plan needs, for all networks.
    struct Arrays {
        std::int64_t* units;   // [parameters, models]: parameters, at last sums
        std::size_t* without;  // [models]
        double* chains;        // [models, parameters], of clip "none"; else null
    };
    Arrays carve(Carver& carver) const {
        Arrays arrays{carver.take<std::int64_t>(count()), carver.take<std::size_t>(models_), nullptr};
        if (clip_.kind == Clip::Kind::none) arrays.chains = carver.take<double>(count());
        return arrays;
    }
    std::size_t own_bytes() const {
        Carver measure(nullptr);
        carve(measure);
        return measure.used();
    }
    Arrays own_arrays() {
        own_.reserve(own_bytes());
        Carver carver(own_.template as<std::byte>());
        return carve(carver);
    }

    std::size_t count() const { return network_.parameters() * models_; }
    StepMessage layout() const { return StepMessage::of(models_, network_); }
    Launches<Executor> launches() const { return {executor_, Precision::double_precision}; }

    /// Once for all steps over the same.
    void hold(const RecordSet& records) {
        const auto same = [&](const RecordSet& other) {
            return records.features == other.features && records.wide_features == other.wide_features &&
                   records.labels == other.labels && records.targets == other.targets &&
                   records.count == other.count;
        };
        if (feed_.sets() > 0 && same(records_)) return;
        feed_.set_records({&records, 1}, memory_bytes_);
        records_ = records;
    }

    Workspace workspace_of(const StepPlan& plan, const VariantGroup& group) const {
        Carver carver(workspace_.template as<std::byte>());
        return Workspace(network_, plan, group, carver);
    }

    void run_group(const StepPlan& plan, const VariantGroup& group, const Arrays& arrays) {
        const Workspace workspace = workspace_of(plan, group);
        const std::size_t parameters = network_.parameters(), networks = group.variants();
        double* points = workspace.parameters.side[0];
        launches().transpose({arrays.units + group.first, models_, reinterpret_cast<std::int64_t*>(points),
                              parameters, parameters, networks});
        launches().parameters(points, networks * parameters);
        std::int64_t* sums = workspace.message + layout().lower(group.first);
        GroupResults results{{sums, sums}, nullptr, layout().stride(), nullptr};
        if (arrays.chains != nullptr) {
            results.chains = arrays.chains + group.first * parameters;
            executor_.fill(results.chains, 0, networks * parameters * sizeof(double));
        }
        VariantPass<Executor> pass(executor_, network_, clip_, workspace, plan, group, results);
        for (std::size_t first = 0; first < feed_.records(0); first += plan.chunk) {
            const std::size_t records = std::min(plan.chunk, feed_.records(0) - first);
            pass.add_gradients_without(feed_.load(0, first, records, workspace.x, plan.chunk),
                                       arrays.without + group.first, first);
        }
        if (arrays.chains != nullptr)
            launches().plain_units(results.chains, sums, results.stride, parameters,
                                   static_cast<int>(networks));
    }

    /// sums += what a message has, through `units`.
    void take_sums(const std::int64_t* message, std::int64_t* units, std::int64_t* sums) {
        const StepMessage at = layout();
        launches().transpose(
            {message + at.lower(0), at.stride(), units, models_, models_, network_.parameters()});
        host_.reserve(count() * sizeof(std::int64_t));
        const std::int64_t* added = host_.template as<std::int64_t>();
        executor_.download(host_.template as<std::int64_t>(), units, count() * sizeof(std::int64_t));
        executor_.synchronize();
        for (std::size_t i = 0; i < count(); ++i) sums[i] += added[i];
    }

    Executor executor_;
    NetworkShape network_;
    Clip clip_;
    RecordFeed<Executor> feed_;
    Memory<Executor> own_, workspace_;
    PinnedMemory<Executor> host_;
    std::size_t memory_bytes_, models_ = 1;
    RecordSet records_;
};

}  // namespace holdfast::device
