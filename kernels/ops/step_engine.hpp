#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/ops/backend.hpp"
#include "kernels/ops/device_span.hpp"
#include "kernels/ops/input_transform.hpp"

namespace holdfast {

/// What of a training a step's sums depend on, besides records and boxes.
struct StepShape {
    std::vector<LayerShape> layers;  ///< parameters one after the other, as in models/nets/network.hpp
    Loss loss;
    Clip clip;
    InputTransform input = {};

    std::size_t inputs() const { return layers.front().in; }
    std::size_t outputs() const { return layers.back().out; }
    std::size_t parameters() const;
};

/// Records as the host holds them: features [count, inputs], one of the two pointers.
struct RecordSet {
    const float* features = nullptr;
    const double* wide_features = nullptr;
    const std::int32_t* labels = nullptr;  ///< [count]; null: all 0
    std::size_t count = 0;
    bool selectable = false;  ///< its gradients are offered to the selections
};

/// The box of one level, [parameters] in parameter units; the same pointer twice for a point.
struct StepLevel {
    const std::int64_t* lower;
    const std::int64_t* upper;
    std::size_t selected = 0;  ///< how many least values to keep per entry; 0: none, as for a point
    bool is_point() const { return lower == upper; }
};

/// Bounds of the sum over the records of their clipped gradients, all levels of a step at once: what
/// models/boxes/gradient_sums.hpp computes by the operations of a Backend, bit for bit the same. One
/// engine is used by one thread at a time.
class StepEngine {
  public:
    virtual ~StepEngine() = default;

    /// The records of the following steps. Their arrays must stay where they are: what does not fit into the
    /// device's memory is streamed from them in every step.
    virtual void set_records(std::span<const RecordSet> sets) = 0;

    /// Starts a step over the records `indices[set]` of every set; returns before it is computed. The result
    /// is the message of the step's one reduction, valid until the next run:
    /// [records, then for every level: lower sums, upper sums (parameters each), surely, possibly correct].
    virtual DeviceSpan run(std::span<const StepLevel> levels,
                           std::span<const std::span<const std::uint32_t>> indices) = 0;

    /// Waits for the step, and for what was done to its message since; the message on the host, valid until
    /// the next run.
    virtual std::span<const std::int64_t> finish() = 0;

    /// After finish(): offers the values kept for a level of the last run; both [parameters].
    virtual void selections(std::size_t level, Selection& least_upper,
                            Selection& least_negated_lower) const = 0;
};

/// Length of the message of a step.
constexpr std::size_t message_size(std::size_t levels, std::size_t parameters) {
    return 1 + levels * (2 * parameters + 2);
}

}  // namespace holdfast
