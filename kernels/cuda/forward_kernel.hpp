#pragma once

#include <cmath>

#include "kernels/cuda/tiles.hpp"

namespace holdfast::device {

/// a = W z + b at every level: rows are outputs, columns records, the depth runs over the inputs in ascending
/// order from the bias (PanelOperations::forward, forward_input). Points, of any sign; else z >= 0, or the
/// features of the input layer: one array for all levels, of any sign.
template <bool IsPoint, bool IsInput>
struct ForwardKernel {
    static constexpr int threads = tile_threads;
    static constexpr int sides = IsPoint ? 1 : 2;
    static constexpr int z_sides = IsPoint || IsInput ? 1 : 2;
    using Shared = TileShared<sides, z_sides>;
    using Registers = TileSums<sides>;

    ConstVariants weights;  // [out, in + 1]
    ConstVariants z;        // [in, records]
    Variants a;             // [out, records]
    int in, out, records, levels;
    bool relu;  // of a hidden layer: a = saturated(max(a, 0))

    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(records), tile),
                blocks_for(static_cast<std::size_t>(out), tile), levels};
    }
    HOLDFAST_PORTABLE int steps(Block) const { return (in + tile_depth - 1) / tile_depth; }

    HOLDFAST_PORTABLE void begin(Block block, int thread, Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < per_thread; ++i) {
                const int row = block.y * tile + row_in_tile(thread, i);
                const double bias = row < out ? weights.at(side, block.z, row, in) : 0.0;
                for (int c = 0; c < per_thread; ++c) sums.at[side][i][c] = bias;
            }
        }
    }

    // Beyond the edges both factors are 0: a product with 0 changes no sum.
    HOLDFAST_PORTABLE void load(Block block, int step, int thread, Shared& shared) const {
        const int first = step * tile_depth;
        for (int side = 0; side < sides; ++side) {
            stage_depths(thread, shared.rows[side], [&](int depth, int position) {
                const int row = block.y * tile + position, j = first + depth;
                return row < out && j < in ? weights.at(side, block.z, row, j) : 0.0;
            });
        }
        for (int side = 0; side < z_sides; ++side) {
            stage_positions(thread, shared.columns[side], [&](int depth, int position) {
                const int record = block.x * tile + position, j = first + depth;
                return record < records && j < in ? z.at(side, block.z, j, record) : 0.0;
            });
        }
    }

    HOLDFAST_PORTABLE void compute(Block, int, int thread, const Shared& shared, Registers& sums) const {
        for (int depth = 0; depth < tile_depth; ++depth) {
            const auto w = Factors<sides>::rows(shared.rows, depth, thread);
            const auto values = Factors<z_sides>::columns(shared.columns, depth, thread);
            for (int i = 0; i < per_thread; ++i) {
                for (int c = 0; c < per_thread; ++c) add(w, i, values, c, sums);
            }
        }
    }

    HOLDFAST_PORTABLE static void add(const Factors<sides>& w, int i, const Factors<z_sides>& values, int c,
                                      Registers& sums) {
        double* least = &sums.at[0][i][c];
        double* greatest = &sums.at[sides - 1][i][c];
        const double lower = w.at[0][i], upper = w.at[sides - 1][i];
        const double z_lower = values.at[0][c], z_upper = values.at[z_sides - 1][c];
        if constexpr (IsPoint) {
            *least = fma(lower, z_lower, *least);
        } else if constexpr (IsInput) {  // the sign of x picks the end of w
            *least = fma(z_lower >= 0 ? lower : upper, z_lower, *least);
            *greatest = fma(z_lower >= 0 ? upper : lower, z_lower, *greatest);
        } else {  // z >= 0: the sign of w picks the end of z
            *least = fma(lower, lower >= 0 ? z_lower : z_upper, *least);
            *greatest = fma(upper, upper >= 0 ? z_upper : z_lower, *greatest);
        }
    }

    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < per_thread; ++i) {
                for (int c = 0; c < per_thread; ++c) {
                    const int row = block.y * tile + row_in_tile(thread, i);
                    const int record = block.x * tile + column_in_tile(thread, c);
                    if (row >= out || record >= records) continue;
                    const double value = sums.at[side][i][c];
                    a.at(side, block.z, row, record) = relu ? saturated(greater(value, 0.0)) : value;
                }
            }
        }
    }
};

}  // namespace holdfast::device
