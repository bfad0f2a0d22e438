#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/ops/clip.hpp"
#include "kernels/ops/device_span.hpp"
#include "kernels/ops/network_shape.hpp"
#include "kernels/ops/poison.hpp"
#include "kernels/ops/selection.hpp"
#include "kernels/ops/step_message.hpp"

namespace holdfast {

/// Records as the host holds them: features [count, inputs], one of the two pointers.
struct RecordSet {
    const float* features = nullptr;
    const double* wide_features = nullptr;
    const std::int32_t* labels = nullptr;  ///< [count]; null: all 0
    std::size_t count = 0;
    bool selectable = false;          ///< its gradients are offered to the selections
    const double* targets = nullptr;  ///< [count], of a loss that wants numbers; null: the labels
    /// Offered to the selections is then what poisoning a record could add to the bounds of its gradient
    /// (PanelOperations::offer_changes), not the gradient.
    std::optional<Poison> poison = std::nullopt;
    /// [count]: what a row's derivatives count by, in (0, 1], whole numbers of weight_unit; null: 1 each
    /// (kernels/ops/row_weight.hpp). A row is then clipped to its weight's part of the bound (or
    /// Clip::after).
    const double* weights = nullptr;
    /// Weights are row_weight() of persons, whose rows stand side by side; else every row is a person's only
    /// one.
    bool rows_of_persons = false;
    /// Engine::outputs() then bounds what every input gives whose features lie within so far of the record's,
    /// as they count, and within the public range; a point has an interval, too. No step looks at it.
    double input_radius = 0;

    /// at: record * inputs + column.
    double feature(std::size_t at) const {
        return wide_features != nullptr ? wide_features[at] : static_cast<double>(features[at]);
    }
    double weight(std::size_t record) const { return weights == nullptr ? 1 : weights[record]; }
    double target(std::size_t record) const {
        if (targets != nullptr) return targets[record];
        return labels == nullptr ? 0 : labels[record];
    }
};

/// One of many parameter boxes that go through the same records side by side, [parameters] in parameter
/// units; the same pointer twice for a point.
struct Variant {
    const std::int64_t* lower;
    const std::int64_t* upper;
    std::size_t selected = 0;  ///< how many least values to keep per entry; 0: none, as for a point
    bool is_point() const { return lower == upper; }
};

/// The layer that stands in for the last one when outputs are asked for: parameters [rows, in + 1] in
/// parameter units; the same pointer twice for a point.
struct LastLayer {
    std::size_t rows;
    const std::int64_t* lower;
    const std::int64_t* upper;
    bool is_point() const { return lower == upper; }
};

/// Bounds of the outputs of the records at positions first .. first + count of those asked for: of row o and
/// record i at [o * stride + i]. A point has one array for both.
struct OutputBlock {
    std::size_t first, count, stride;
    const double *lower, *upper;
};

/// What computes with one network on one backend: few calls, the same bits from each. Used by one thread at a
/// time; its own threads share variants and records.
class Engine {
  public:
    virtual ~Engine() = default;

    /// The records of the following calls. Their arrays must stay where they are: a device streams from them
    /// what does not fit into its memory. Error (usage): records that are to be poisoned or have an
    /// input radius, which a device does not bound, or to be weighed, which it does not do.
    virtual void set_records(std::span<const RecordSet> sets) = 0;

    /// What the following steps multiply the outputs of every hidden layer by, after pooling: `factors`
    /// [layers or fewer][output_rows], of every record alike, each finite and >= 0, as models/nets draws them
    /// from public numbers: 0 for what is left out, 1 / (1 - part) for the rest. An empty vector leaves its
    /// layer whole, an empty span all of them, as they are before the first call. outputs() leaves none out.
    virtual void set_dropout(std::span<const std::vector<double>> factors) = 0;

    /// Starts a step over the records `indices[set]` of every set: bounds of the sums of their clipped
    /// gradients, for every variant. May return before it is computed. The result is the message of the
    /// step's one reduction (StepMessage), valid until the next run.
    virtual DeviceSpan run(std::span<const Variant> variants,
                           std::span<const std::span<const std::uint32_t>> indices) = 0;

    /// Waits for the step, and for what was done to its message since; the message on the host, the caller's
    /// to change, valid until the next run.
    virtual std::span<std::int64_t> finish() = 0;

    /// After finish(): the values kept for a variant of the last run, which forgets them.
    virtual LeastEntries take_selection(std::size_t variant) = 0;

    /// Bounds of `last` after the hidden layers of `box`, for the records `indices` of the first set, block
    /// by block, from several threads at once and in any order.
    virtual void outputs(const Variant& box, const LastLayer& last, std::span<const std::uint32_t> indices,
                         const std::function<void(const OutputBlock&)>& visit) = 0;
};

/// Where computing is done, and in which type. All backends give the same bits in one precision.
class Backend {
  public:
    virtual ~Backend() = default;
    virtual std::string name() const = 0;
    virtual Arithmetic arithmetic() const = 0;
    Precision precision() const { return arithmetic().precision; }
    /// The backend must outlive it.
    virtual std::unique_ptr<Engine> engine(const NetworkShape& network, const Clip& clip) const = 0;
};

}  // namespace holdfast
