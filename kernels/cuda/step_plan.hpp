#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/fixed_plan.hpp"
#include "kernels/cuda/least_values.hpp"
#include "kernels/ops/engine.hpp"

namespace holdfast::device {

/// Variants [first, last) of a step that go through the records together: all points or none, all selecting
/// or none.
struct VariantGroup {
    std::size_t first, last;
    bool is_point, selects;
    std::size_t selected;  ///< sum of the variants' counts
    std::size_t variants() const { return last - first; }
};

/// How a step fits into memory: variants by groups, each a pass over the records, chunk after chunk.
struct StepPlan {
    std::size_t step_variants;       ///< all variants of the step
    std::size_t batch_records;       ///< all records of the step
    std::size_t chunk;               ///< records of a launch at most
    std::optional<FixedPlan> fixed;  ///< of fixed precision
    std::vector<VariantGroup> groups;
};

/// The arrays of one group of a step, carved from one piece of memory. What comes first lies in the same
/// place for every group of a plan.
struct Workspace {
    Workspace(const NetworkShape& network, const StepPlan& plan, const VariantGroup& group, Carver& carver);

    std::int64_t* message;              // StepMessage
    std::uint32_t* indices;             // [records of the step]
    double* x;                          // [inputs, chunk]
    Variants parameters;                // [variants, parameters]
    std::vector<Variants> activations;  // [layer]: [variants, out, chunk]
    /// Of layer l at l modulo their number: a point's are all kept, a box's as long as the next needs them;
    /// [variants, out, chunk].
    std::vector<Variants> deltas;
    double* scales;                 // [variants, chunk], of points
    std::byte* products = nullptr;  // FixedPlan::bytes
    std::int64_t* selected_values;  // VariantSelection
    VariantSelection* selections;   // [variants]
};

/// Bytes of the largest workspace of a plan.
std::size_t workspace_bytes(const NetworkShape& network, const StepPlan& plan);

/// Large chunks fill the device, few groups read the records seldom: chunks shrink to 1024 records before
/// variants are parted. chunk_limit: records a chunk can have, however much memory there is.
/// fixed: the products of fixed precision. Error (input): one level of 64 records does not fit.
StepPlan plan_step(const NetworkShape& network, std::span<const Variant> variants, std::size_t batch_records,
                   std::size_t chunk_limit, std::size_t memory_bytes,
                   const std::optional<FixedPlan>& fixed = std::nullopt);

/// How many points go through the records together in so much memory, in chunks that need not be small: a
/// power of two, at most `most`; 1 where none fits.
std::size_t points_that_fit(const NetworkShape& network, std::size_t most, std::size_t memory_bytes);

/// out [indices.size(), row_bytes] = the rows of those indices, by all threads.
void gather_rows(const std::byte* rows, std::size_t row_bytes, std::span<const std::uint32_t> indices,
                 std::byte* out);

}  // namespace holdfast::device
