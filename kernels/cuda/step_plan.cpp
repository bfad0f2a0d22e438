#include "kernels/cuda/step_plan.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace holdfast::device {
namespace {

constexpr std::size_t least_chunk = 64, chunk_before_parting = 1024;

std::size_t rounded_up(std::size_t records) {
    return (records + least_chunk - 1) / least_chunk * least_chunk;
}

Levels take_levels(Carver& carver, bool is_point, std::size_t levels, std::size_t rows, std::size_t columns) {
    const std::size_t count = levels * rows * columns;
    double* lower = carver.take<double>(count);
    return {{lower, is_point ? lower : carver.take<double>(count)}, rows * columns, columns};
}

bool alike(const StepLevel& a, const StepLevel& b) {
    return a.is_point() == b.is_point() && (a.selected > 0) == (b.selected > 0);
}

std::size_t bytes_of(const StepShape& shape, const StepPlan& plan, const LevelGroup& group) {
    Carver measure(nullptr);
    const Workspace workspace(shape, plan, group, measure);
    return measure.used();
}

/// Groups as large as memory allows; false if a level alone is too large.
bool part_levels(const StepShape& shape, std::span<const StepLevel> levels, std::size_t memory_bytes,
                 StepPlan& plan) {
    plan.groups.clear();
    for (std::size_t first = 0; first < levels.size(); first = plan.groups.back().last) {
        LevelGroup group{first, first + 1, levels[first].is_point(), levels[first].selected > 0,
                         levels[first].selected};
        if (bytes_of(shape, plan, group) > memory_bytes) return false;
        while (group.last < levels.size() && alike(levels[first], levels[group.last])) {
            LevelGroup larger = group;
            larger.selected += levels[larger.last++].selected;
            if (bytes_of(shape, plan, larger) > memory_bytes) break;
            group = larger;
        }
        plan.groups.push_back(group);
    }
    return true;
}

std::size_t runs_of(std::span<const StepLevel> levels) {
    std::size_t runs = levels.empty() ? 0 : 1;
    for (std::size_t level = 1; level < levels.size(); ++level)
        runs += !alike(levels[level - 1], levels[level]);
    return runs;
}

}  // namespace

Workspace::Workspace(const StepShape& shape, const StepPlan& plan, const LevelGroup& group, Carver& carver) {
    const std::size_t levels = group.levels(), parameter_count = shape.parameters();
    message = carver.take<std::int64_t>(message_size(plan.message_levels, parameter_count));
    indices = carver.take<std::uint32_t>(plan.batch_records);
    x = carver.take<double>(shape.inputs() * plan.chunk);
    parameters = take_levels(carver, group.is_point, levels, 1, parameter_count);
    std::size_t widest = 0;
    for (const LayerShape& layer : shape.layers) {
        activations.push_back(take_levels(carver, group.is_point, levels, layer.out, plan.chunk));
        widest = std::max(widest, layer.out);
    }
    for (Levels& delta : deltas) delta = take_levels(carver, group.is_point, levels, widest, plan.chunk);
    selected_values = carver.take<std::int64_t>(2 * group.selected * parameter_count);
    selections = carver.take<LevelSelection>(levels);
}

std::size_t workspace_bytes(const StepShape& shape, const StepPlan& plan) {
    std::size_t bytes = 0;
    for (const LevelGroup& group : plan.groups) bytes = std::max(bytes, bytes_of(shape, plan, group));
    return bytes;
}

StepPlan plan_step(const StepShape& shape, std::span<const StepLevel> levels, std::size_t batch_records,
                   std::size_t chunk_limit, std::size_t memory_bytes) {
    StepPlan plan{levels.size(), batch_records, 0, {}};
    const std::size_t wanted_groups = runs_of(levels);
    plan.chunk = std::max(least_chunk, rounded_up(std::min(batch_records, chunk_limit)));
    for (;; plan.chunk = rounded_up(plan.chunk / 2)) {
        const bool fits = part_levels(shape, levels, memory_bytes, plan);
        if (fits && (plan.groups.size() == wanted_groups || plan.chunk <= chunk_before_parting)) return plan;
        if (plan.chunk == least_chunk) break;
    }
    throw Error(ExitCode::input,
                "one level of this network does not fit into the " + std::to_string(memory_bytes >> 20) +
                    " MiB that are free on the device",
                "let fewer ranks share a device, spread the levels over more ranks, or use --set "
                "run.backend=cpu",
                "run.backend");
}

void gather_rows(const std::byte* rows, std::size_t row_bytes, std::span<const std::uint32_t> indices,
                 std::byte* out) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < indices.size(); ++i)
        std::memcpy(out + i * row_bytes, rows + indices[i] * row_bytes, row_bytes);
}

}  // namespace holdfast::device
