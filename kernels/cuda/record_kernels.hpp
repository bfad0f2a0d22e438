#pragma once

#include "kernels/base/arithmetic.hpp"
#include "kernels/cuda/kernel.hpp"
#include "kernels/ops/correct_rule.hpp"
#include "kernels/ops/input_transform.hpp"
#include "kernels/ops/loss_rule.hpp"
#include "kernels/ops/undecided_rule.hpp"

namespace holdfast::device {

/// x [inputs, stride] = what the network sees, in Real, of records `indices` of features [*, inputs]; the
/// first `count` records if there are no indices. A transpose by tiles, so that both sides are read along
/// memory.
template <typename Feature, typename Real>
struct GatherKernel {
    static constexpr int side = 32, threads = 256;
    struct Shared {
        double values[side][side + 1];
    };
    using Registers = Nothing;

    const Feature* features;
    const std::uint32_t* indices;  // [count] or null
    double* x;
    std::size_t stride;
    int inputs, count;
    InputTransform input;

    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(count), side),
                blocks_for(static_cast<std::size_t>(inputs), side), 1};
    }
    HOLDFAST_PORTABLE int steps(Block) const { return 1; }
    HOLDFAST_PORTABLE void begin(Block, int, Nothing&) const {}
    HOLDFAST_PORTABLE void load(Block block, int, int thread, Shared& shared) const {
        const int j = block.y * side + thread % side;
        for (int r = thread / side; r < side; r += threads / side) {
            const int record = block.x * side + r;
            if (record >= count || j >= inputs) continue;
            const std::size_t row =
                indices == nullptr ? static_cast<std::size_t>(record) : std::size_t{indices[record]};
            const auto feature = static_cast<double>(
                features[row * static_cast<std::size_t>(inputs) + static_cast<std::size_t>(j)]);
            shared.values[r][thread % side] = static_cast<double>(input.apply<Real>(feature));
        }
    }
    HOLDFAST_PORTABLE void compute(Block, int, int, const Shared&, Nothing&) const {}
    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared& shared, const Nothing&) const {
        const int record = block.x * side + thread % side;
        for (int row = thread / side; row < side; row += threads / side) {
            const int j = block.y * side + row;
            if (record >= count || j >= inputs) continue;
            x[static_cast<std::size_t>(j) * stride + static_cast<std::size_t>(record)] =
                shared.values[thread % side][row];
        }
    }
};

/// Parameter units become values, in place.
struct ParameterKernel : FlatKernel {
    double* values;
    std::size_t count;

    Extent extent() const { return {blocks_for(count, threads)}; }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const std::size_t i = static_cast<std::size_t>(block.x) * threads + static_cast<std::size_t>(thread);
        if (i < count) values[i] = parameter_value(reinterpret_cast<const std::int64_t*>(values)[i]);
    }
};

/// Labels and targets of the records of a chunk.
struct Labels {
    const std::int32_t* labels;    // null: all 0
    const std::uint32_t* indices;  // null: the chunk's own
    const double* targets;         // null: the labels
    HOLDFAST_PORTABLE std::int32_t operator()(int record) const {
        return labels == nullptr ? 0 : labels[row(record)];
    }
    HOLDFAST_PORTABLE double target(int record) const {
        return targets == nullptr ? (*this)(record) : targets[row(record)];
    }
    HOLDFAST_PORTABLE std::uint32_t row(int record) const {
        return indices == nullptr ? static_cast<std::uint32_t>(record) : indices[record];
    }
};

/// delta = the derivative of the loss by the logits, as a Real, [outputs, records] at every level.
template <typename Real>
struct LossKernel : FlatKernel {
    Loss loss;
    ConstVariants logits;
    Variants delta;
    Labels labels;
    int outputs, records, levels;
    bool is_point;

    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(records), threads), outputs, levels};
    }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int record = item(block, thread), c = block.y;
        if (record >= records) return;
        const double target = labels.target(record);
        for (int side = 0; side < (is_point ? 1 : 2); ++side) {
            const int other = is_point ? 0 : 1 - side;
            const double derivative =
                loss_derivative(loss, static_cast<std::size_t>(outputs), static_cast<std::size_t>(c), target,
                                &logits.at(side, block.z, 0, record), &logits.at(other, block.z, 0, record),
                                logits.row_stride);
            constexpr auto most = static_cast<double>(RealFormat<Real>::saturation);
            delta.at(side, block.z, c, record) =
                static_cast<double>(static_cast<Real>(clamped(derivative, most)));
        }
    }
};

/// How many records' labels the whole box predicts, and how many some of it may predict, added to
/// counts[level * counts_stride + {0, 1}].
struct CountKernel {
    static constexpr int threads = 256;
    struct Shared {
        std::uint8_t surely[threads], possibly[threads];
    };
    using Registers = Nothing;

    ConstVariants logits;  // [outputs, records]
    Labels labels;
    std::int64_t* counts;
    std::size_t counts_stride;
    int outputs, records, levels;
    bool is_point;

    Extent extent() const { return {blocks_for(static_cast<std::size_t>(records), threads), 1, levels}; }
    HOLDFAST_PORTABLE int steps(Block) const { return 1; }
    HOLDFAST_PORTABLE void begin(Block, int, Nothing&) const {}
    HOLDFAST_PORTABLE void load(Block block, int, int thread, Shared& shared) const {
        const int record = block.x * threads + thread, upper = is_point ? 0 : 1;
        Correct correct{false, false};
        if (record < records) {
            correct = correct_of(static_cast<std::size_t>(outputs), static_cast<std::size_t>(labels(record)),
                                 &logits.at(0, block.z, 0, record), &logits.at(upper, block.z, 0, record),
                                 logits.row_stride);
        }
        shared.surely[thread] = correct.surely ? 1 : 0;
        shared.possibly[thread] = correct.possibly ? 1 : 0;
    }
    HOLDFAST_PORTABLE void compute(Block, int, int, const Shared&, Nothing&) const {}
    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared& shared, const Nothing&) const {
        if (thread >= 2) return;
        const std::uint8_t* flags = thread == 0 ? shared.surely : shared.possibly;
        std::int64_t count = 0;
        for (int i = 0; i < threads; ++i) count += flags[i];
        add_atomically(counts + static_cast<std::size_t>(block.z) * counts_stride + thread, count);
    }
};

/// How many activations z >= 0 of one level are undecided, added to *undecided. A thread counts a record's.
struct UndecidedKernel {
    static constexpr int threads = 256;
    struct Shared {
        std::int32_t of_record[threads];
    };
    using Registers = Nothing;

    ConstVariants z;  // [rows, records]
    std::int64_t* undecided;
    int rows, records, level;

    Extent extent() const { return {blocks_for(static_cast<std::size_t>(records), threads)}; }
    HOLDFAST_PORTABLE int steps(Block) const { return 1; }
    HOLDFAST_PORTABLE void begin(Block, int, Nothing&) const {}
    HOLDFAST_PORTABLE void load(Block block, int, int thread, Shared& shared) const {
        const int record = block.x * threads + thread;
        std::int32_t count = 0;
        for (int row = 0; row < rows && record < records; ++row)
            count += is_undecided(z.at(0, level, row, record), z.at(1, level, row, record)) ? 1 : 0;
        shared.of_record[thread] = count;
    }
    HOLDFAST_PORTABLE void compute(Block, int, int, const Shared&, Nothing&) const {}
    HOLDFAST_PORTABLE void store(Block, int thread, const Shared& shared, const Nothing&) const {
        if (thread > 0) return;
        std::int64_t count = 0;
        for (int i = 0; i < threads; ++i) count += shared.of_record[i];
        add_atomically(undecided, count);
    }
};

}  // namespace holdfast::device
