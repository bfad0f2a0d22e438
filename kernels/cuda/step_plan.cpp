#include "kernels/cuda/step_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast::device {
namespace {

constexpr std::size_t least_chunk = 64, chunk_before_parting = 1024;

std::size_t rounded_up(std::size_t records) {
    return (records + least_chunk - 1) / least_chunk * least_chunk;
}

Variants take_variants(Carver& carver, bool is_point, std::size_t variants, std::size_t rows,
                       std::size_t columns) {
    const std::size_t count = variants * rows * columns;
    double* lower = carver.take<double>(count);
    return {{lower, is_point ? lower : carver.take<double>(count)}, rows * columns, columns};
}

bool alike(const Variant& a, const Variant& b) {
    return a.is_point() == b.is_point() && (a.selected > 0) == (b.selected > 0);
}

std::size_t bytes_of(const NetworkShape& network, const StepPlan& plan, const VariantGroup& group) {
    Carver measure(nullptr);
    const Workspace workspace(network, plan, group, measure);
    return measure.used();
}

/// Groups as large as memory allows; false if a level alone is too large.
bool part_variants(const NetworkShape& network, std::span<const Variant> variants, std::size_t memory_bytes,
                   StepPlan& plan) {
    plan.groups.clear();
    for (std::size_t first = 0; first < variants.size(); first = plan.groups.back().last) {
        VariantGroup group{first, first + 1, variants[first].is_point(), variants[first].selected > 0,
                           variants[first].selected};
        if (bytes_of(network, plan, group) > memory_bytes) return false;
        while (group.last < variants.size() && alike(variants[first], variants[group.last])) {
            VariantGroup larger = group;
            larger.selected += variants[larger.last++].selected;
            if (bytes_of(network, plan, larger) > memory_bytes) break;
            group = larger;
        }
        plan.groups.push_back(group);
    }
    return true;
}

std::size_t runs_of(std::span<const Variant> variants) {
    std::size_t runs = variants.empty() ? 0 : 1;
    for (std::size_t variant = 1; variant < variants.size(); ++variant)
        runs += !alike(variants[variant - 1], variants[variant]);
    return runs;
}

}  // namespace

Workspace::Workspace(const NetworkShape& network, const StepPlan& plan, const VariantGroup& group,
                     Carver& carver) {
    const std::size_t variants = group.variants(), parameter_count = network.parameters();
    message = carver.take<std::int64_t>(StepMessage::of(plan.step_variants, network).size());
    indices = carver.take<std::uint32_t>(plan.batch_records);
    x = carver.take<double>(network.inputs() * plan.chunk);
    parameters = take_variants(carver, group.is_point, variants, 1, parameter_count);
    for (const LayerShape& layer : network.layers)
        activations.push_back(take_variants(carver, group.is_point, variants, layer.out, plan.chunk));
    if (group.is_point) {
        for (const LayerShape& layer : network.layers)
            deltas.push_back(take_variants(carver, true, variants, layer.out, plan.chunk));
    } else {
        for (int i = 0; i < 2; ++i)
            deltas.push_back(take_variants(carver, false, variants, network.widest(), plan.chunk));
    }
    scales = carver.take<double>(group.is_point ? variants * plan.chunk : 0);
    if (plan.fixed)
        products = carver.take<std::byte>(plan.fixed->bytes(network, group.is_point, plan.chunk, variants));
    selected_values = carver.take<std::int64_t>(2 * group.selected * parameter_count);
    selections = carver.take<VariantSelection>(variants);
}

std::size_t workspace_bytes(const NetworkShape& network, const StepPlan& plan) {
    std::size_t bytes = 0;
    for (const VariantGroup& group : plan.groups) bytes = std::max(bytes, bytes_of(network, plan, group));
    return bytes;
}

StepPlan plan_step(const NetworkShape& network, std::span<const Variant> variants, std::size_t batch_records,
                   std::size_t chunk_limit, std::size_t memory_bytes, const std::optional<FixedPlan>& fixed) {
    StepPlan plan{variants.size(), batch_records, 0, fixed, {}};
    const std::size_t wanted_groups = runs_of(variants);
    plan.chunk = std::max(least_chunk, rounded_up(std::min(batch_records, chunk_limit)));
    for (;; plan.chunk = rounded_up(plan.chunk / 2)) {
        const bool fits = part_variants(network, variants, memory_bytes, plan);
        if (fits && (plan.groups.size() == wanted_groups || plan.chunk <= chunk_before_parting)) return plan;
        if (plan.chunk == least_chunk) break;
    }
    throw Error(ExitCode::input,
                "one level of this network does not fit into the " + std::to_string(memory_bytes >> 20) +
                    " MiB that are free on the device",
                "let fewer ranks share a device, spread the variants over more ranks, or use --set "
                "run.backend=cpu",
                "run.backend");
}

std::size_t points_that_fit(const NetworkShape& network, std::size_t most, std::size_t memory_bytes) {
    std::size_t points = std::bit_floor(most);
    for (; points > 1; points /= 2) {
        const StepPlan plan{points, chunk_before_parting, chunk_before_parting, std::nullopt, {}};
        if (bytes_of(network, plan, {0, points, true, false, 0}) <= memory_bytes) break;
    }
    return points;
}

void gather_rows(const std::byte* rows, std::size_t row_bytes, std::span<const std::uint32_t> indices,
                 std::byte* out) {
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < indices.size(); ++i)
        std::memcpy(out + i * row_bytes, rows + indices[i] * row_bytes, row_bytes);
}

}  // namespace holdfast::device
