#pragma once

#include "kernels/cuda/entry_rules.hpp"
#include "kernels/cuda/fixed_product.hpp"
#include "kernels/cuda/fixed_units.hpp"

/// Before and after the products of fixed precision (kernels/ops/fixed_grid.hpp): operands become digits, and
/// sums become values. What is between products is a float, kept in a double.
namespace holdfast::device {

/// Parameters in parameter units, lower and upper [levels, out, in + 1].
struct ParameterUnits {
    const std::int64_t* side[2];
    std::size_t level_stride;
    int in, out;

    HOLDFAST_PORTABLE std::int64_t at(int bound, int level, int o, int j) const {
        return side[bound][static_cast<std::size_t>(level) * level_stride +
                           static_cast<std::size_t>(o) * static_cast<std::size_t>(in + 1) +
                           static_cast<std::size_t>(j)];
    }
};

/// Weights as an operand: a position is an output and the depth runs over inputs; transposed, the other way.
struct WeightSource {
    ParameterUnits parameters;
    bool transposed;

    HOLDFAST_PORTABLE bool runs_along_depth() const { return !transposed; }
    HOLDFAST_PORTABLE std::int32_t units(int side, int level, int position, int depth) const {
        const int o = transposed ? depth : position, j = transposed ? position : depth;
        return o < parameters.out && j < parameters.in ? fixed_weight(parameters.at(side, level, o, j)) : 0;
    }
};

/// Values [rows, records] as an operand: a position is a record and the depth runs over rows; by_row, the
/// other way. Row number `rows` holds ones where there are any.
struct ValueSource {
    ConstVariants values;
    FixedUnits grid;
    int rows, records;
    bool by_row, ones;

    HOLDFAST_PORTABLE bool runs_along_depth() const { return by_row; }
    HOLDFAST_PORTABLE std::int32_t units(int side, int level, int position, int depth) const {
        const int row = by_row ? position : depth, record = by_row ? depth : position;
        if (record >= records) return 0;
        if (row >= rows) return ones && row == rows ? 1 : 0;
        return grid.units(values.at(side, level, row, record));
    }
};

/// An operand's digits, by tiles, so that both sides are read along memory: v = 256 h + l with h and l in
/// [-128, 127] (models/mathematics.md, fixed products), or v itself where it has one.
template <typename Source>
struct DigitKernel {
    static constexpr int side = 32, threads = 256;
    struct Shared {
        std::int32_t units[2][side][side + 1];  // [bound][position][depth]
    };
    using Registers = Nothing;

    Source source;
    DigitArray digits;
    Operands operands;
    int parts, part_depth;
    bool rows;  // of the product, or its columns

    HOLDFAST_PORTABLE int depth_tiles() const { return (part_depth + side - 1) / side; }
    Extent extent() const {
        return {depth_tiles() * blocks_for(static_cast<std::size_t>(digits.positions), side), 1,
                digits.levels};
    }
    HOLDFAST_PORTABLE int first_position(Block block) const { return block.x / depth_tiles() * side; }
    HOLDFAST_PORTABLE int first_depth(Block block) const { return block.x % depth_tiles() * side; }
    HOLDFAST_PORTABLE int steps(Block) const { return 1; }
    HOLDFAST_PORTABLE void begin(Block, int, Nothing&) const {}
    HOLDFAST_PORTABLE void load(Block block, int, int thread, Shared& shared) const {
        for (int i = thread / side; i < side; i += threads / side) {
            const int position = source.runs_along_depth() ? i : thread % side,
                      depth = source.runs_along_depth() ? thread % side : i;
            for (int bound = 0; bound < digits.ends; ++bound)
                shared.units[bound][position][depth] = source.units(
                    bound, block.z, first_position(block) + position, first_depth(block) + depth);
        }
    }
    HOLDFAST_PORTABLE void compute(Block, int, int, const Shared&, Nothing&) const {}
    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared& shared, const Nothing&) const {
        const int depth = first_depth(block) + thread % side;
        if (depth >= part_depth) return;
        for (int i = thread / side; i < side; i += threads / side) {
            const int position = first_position(block) + i;
            if (position >= digits.positions) return;
            for (int end = 0; end < digits.ends; ++end) {
                for (int part = 0; part < parts; ++part) {
                    const Part of = rows ? row_part(operands, end, part) : column_part(operands, end, part);
                    put(end, block.z, position, part * part_depth + depth,
                        of.of(shared.units[of.side][i][thread % side]));
                }
            }
        }
    }

  private:
    HOLDFAST_PORTABLE void put(int end, int level, int position, int depth, std::int32_t value) const {
        const std::int32_t low = digits.planes == 1 ? value : ((value + 128) & 255) - 128;
        digits.at(end, 0, level, position)[depth] = static_cast<std::int8_t>(low);
        if (digits.planes == 2)
            digits.at(end, 1, level, position)[depth] = static_cast<std::int8_t>((value - low) / 256);
    }
};

/// One thread an entry of a product: `rows` x `columns` of its sums, those within its edges.
struct EntryKernel : FlatKernel {
    DigitSums sums;
    int rows, columns;

    HOLDFAST_PORTABLE int column_blocks() const { return (columns + threads - 1) / threads; }
    Extent extent() const { return {column_blocks() * rows, 1, sums.levels}; }
    HOLDFAST_PORTABLE int row(Block block) const { return block.x / column_blocks(); }
    HOLDFAST_PORTABLE int column(Block block, int thread) const {
        return block.x % column_blocks() * threads + thread;
    }
};

/// a = W z + b; of a hidden layer max(a, 0). No sum reaches what saturated() keeps it from: it is below 2^53
/// units of at most 2^-11.
struct FixedForwardKernel : EntryKernel {
    ParameterUnits parameters;
    std::int64_t ones;  // units of z in 1
    double unit;
    Variants a;
    bool is_point, relu;

    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int o = row(block), record = column(block, thread);
        if (record >= columns) return;
        for (int end = 0; end < (is_point ? 1 : 2); ++end) {
            const std::int64_t bias = fixed_parameter(parameters.at(end, block.z, o, parameters.in)) * ones;
            const double value = fixed_real(sums.at(end, block.z, o, record) + bias, unit);
            a.at(end, block.z, o, record) = relu ? greater(value, 0.0) : value;
        }
    }
};

/// d = gate(z) * (W^T delta).
struct FixedBackwardKernel : EntryKernel {
    double unit;
    ConstVariants z;
    Variants d;
    bool is_point;

    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int j = row(block), record = column(block, thread);
        if (record >= columns) return;
        const Gate gate{z.at(0, block.z, j, record), z.at(is_point ? 0 : 1, block.z, j, record)};
        d.at(0, block.z, j, record) = gate.least(fixed_real(sums.at(0, block.z, j, record), unit));
        if (is_point) return;
        d.at(1, block.z, j, record) = gate.greatest(fixed_real(sums.at(1, block.z, j, record), unit));
    }
};

/// The sums of a layer's clipped gradients += those of a chunk: exact, so they go on as they are. The column
/// of the bias was a product with 1.
struct FixedOuterKernel : EntryKernel {
    OuterArrays arrays;
    std::int64_t one;  // units of z in 1
    bool is_point;

    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int o = row(block), j = column(block, thread);
        if (j >= columns) return;
        for (int end = 0; end < (is_point ? 1 : 2); ++end)
            *arrays.sum(end, block.z, o, j) += sums.at(end, block.z, o, j) * (j == arrays.in ? one : 1);
    }
};

}  // namespace holdfast::device
