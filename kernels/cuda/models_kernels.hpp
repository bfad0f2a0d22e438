#pragma once

#include <cmath>

#include "kernels/cuda/outer_kernel.hpp"
#include "kernels/ops/models_pass.hpp"

/// What networks side by side (kernels/ops/models_pass.hpp) need beside the kernels of an engine: they are
/// levels at points.
namespace holdfast::device {

/// to [columns, to_stride] = from [rows, from_stride], transposed by tiles, so that both sides are read along
/// memory.
struct TransposeKernel {
    static constexpr int side = 32, threads = 256;
    struct Shared {
        std::int64_t values[side][side + 1];
    };
    using Registers = Nothing;

    const std::int64_t* from;
    std::size_t from_stride;
    std::int64_t* to;
    std::size_t to_stride;
    std::size_t rows, columns;

    HOLDFAST_PORTABLE int column_tiles() const { return static_cast<int>((columns + side - 1) / side); }
    Extent extent() const { return {blocks_for(rows, side) * column_tiles()}; }
    HOLDFAST_PORTABLE int steps(Block) const { return 1; }
    HOLDFAST_PORTABLE void begin(Block, int, Nothing&) const {}
    HOLDFAST_PORTABLE std::size_t row(Block block, int in_tile) const {
        return static_cast<std::size_t>(block.x / column_tiles()) * side + static_cast<std::size_t>(in_tile);
    }
    HOLDFAST_PORTABLE std::size_t column(Block block, int in_tile) const {
        return static_cast<std::size_t>(block.x % column_tiles()) * side + static_cast<std::size_t>(in_tile);
    }
    HOLDFAST_PORTABLE void load(Block block, int, int thread, Shared& shared) const {
        const int c = thread % side;
        for (int r = thread / side; r < side; r += threads / side) {
            if (row(block, r) < rows && column(block, c) < columns)
                shared.values[r][c] = from[row(block, r) * from_stride + column(block, c)];
        }
    }
    HOLDFAST_PORTABLE void compute(Block, int, int, const Shared&, Nothing&) const {}
    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared& shared, const Nothing&) const {
        const int r = thread % side;
        for (int c = thread / side; c < side; c += threads / side) {
            if (row(block, r) < rows && column(block, c) < columns)
                to[column(block, c) * to_stride + row(block, r)] = shared.values[r][c];
        }
    }
};

/// delta [outputs, records] = 0 of the record that a network does without
/// (models/mathematics.md, record left out): its position among the step's, of which `first` come before
/// these; beyond all of them: none.
struct LeaveOutKernel : FlatKernel {
    Variants delta;
    const std::size_t* without;  // [levels]
    std::size_t first;
    int outputs, records, levels;

    Extent extent() const { return {blocks_for(static_cast<std::size_t>(levels), threads)}; }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int level = item(block, thread);
        if (level >= levels || without[level] < first) return;
        const std::size_t record = without[level] - first;
        if (record >= static_cast<std::size_t>(records)) return;
        for (int c = 0; c < outputs; ++c) delta.at(0, level, c, static_cast<int>(record)) = 0.0;
    }
};

/// Clip "none": the chain fma(delta, z, sum) (ModelsPass).
struct PlainRule {
    using Sum = double;
    HOLDFAST_PORTABLE double delta(double value) const { return clamped(value, plain_delta_limit<double>); }
    HOLDFAST_PORTABLE double z(double value) const { return value; }
    HOLDFAST_PORTABLE double one() const { return 1.0; }
    HOLDFAST_PORTABLE Sum zero() const { return 0.0; }
    HOLDFAST_PORTABLE Sum add(Sum sum, double delta_factor, double z_factor) const {
        return fma(delta_factor, z_factor, sum);
    }
};

/// The chains of a layer go on over the records of a chunk, in their order: one block has them all. Beyond
/// the last record delta is 0, which changes no sum.
template <typename Tile>
struct PlainOuterKernel : OuterKernel<Tile, PlainRule, Activations::point, 1 << 30> {
    using Base = OuterKernel<Tile, PlainRule, Activations::point, 1 << 30>;
    using Base::arrays;
    using typename Base::Registers;
    using typename Base::Shared;

    Variants chains;  // [out, in + 1], of the records before

    HOLDFAST_PORTABLE bool inside(Block block, int thread, int i, int c) const {
        return row(block, thread, i) < arrays.out && column(block, thread, c) <= arrays.in;
    }
    HOLDFAST_PORTABLE int row(Block block, int thread, int i) const {
        return this->first_row(block) + row_in_tile(thread, i);
    }
    HOLDFAST_PORTABLE int column(Block block, int thread, int c) const {
        return this->first_column(block) + column_in_tile(thread, c);
    }
    HOLDFAST_PORTABLE void begin(Block block, int thread, Registers& sums) const {
        for (int i = 0; i < Tile::thread_rows; ++i) {
            for (int c = 0; c < Tile::thread_columns; ++c) {
                sums.at[0][i][c] = !inside(block, thread, i, c) ? 0.0
                                                                : chains.at(0, block.z, row(block, thread, i),
                                                                            column(block, thread, c));
            }
        }
    }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& sums) const {
        for (int i = 0; i < Tile::thread_rows; ++i) {
            for (int c = 0; c < Tile::thread_columns; ++c) {
                if (inside(block, thread, i, c))
                    chains.at(0, block.z, row(block, thread, i), column(block, thread, c)) = sums.at[0][i][c];
            }
        }
    }
};

/// sums [levels, stride] = the chains [levels, parameters], rounded once to their units.
struct PlainUnitsKernel : FlatKernel {
    const double* chains;
    std::int64_t* sums;
    std::size_t stride, parameters;
    int levels;

    static constexpr double units_of_one = 0x1p36;
    static_assert(Clip::plain_exponent == -36);

    Extent extent() const { return {blocks_for(parameters, threads), 1, levels}; }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const std::size_t p = static_cast<std::size_t>(block.x) * threads + static_cast<std::size_t>(thread);
        if (p >= parameters) return;
        const auto level = static_cast<std::size_t>(block.z);
        const double sum = clamped(chains[level * parameters + p], Clip::plain_limit);
        sums[level * stride + p] = static_cast<std::int64_t>(nearbyint(sum * units_of_one));
    }
};

}  // namespace holdfast::device
