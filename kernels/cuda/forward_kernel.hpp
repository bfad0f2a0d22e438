#pragma once

#include <cmath>

#include "kernels/cuda/tiles.hpp"

namespace holdfast::device {

/// a = W z + b at every level: rows are outputs, columns records, the depth runs over the inputs in ascending
/// order from the bias (PanelOperations::forward, forward_input). Points, of any sign; else z >= 0, or the
/// features of the input layer: one array for all levels, of any sign.
template <typename Tile, bool IsPoint, bool IsInput>
struct ForwardKernel {
    static constexpr int threads = tile_threads;
    static constexpr int blocks_at_once = IsPoint ? 0 : 2;  // cuda_executor.cuh
    static constexpr int sides = IsPoint ? 1 : 2;
    static constexpr int z_sides = IsPoint || IsInput ? 1 : 2;
    using Shared = TileShared<Tile, sides, z_sides>;
    using Registers = TileSums<Tile, sides>;

    ConstVariants weights;  // [out, in + 1]
    ConstVariants z;        // [in, records]
    Variants a;             // [out, records]
    int in, out, records, levels;
    bool relu;  // of a hidden layer: a = saturated(max(a, 0))

    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(records), Tile::columns),
                blocks_for(static_cast<std::size_t>(out), Tile::rows), levels};
    }
    HOLDFAST_PORTABLE int steps(Block) const { return (in + tile_depth - 1) / tile_depth; }

    HOLDFAST_PORTABLE void begin(Block block, int thread, Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < Tile::thread_rows; ++i) {
                const int row = block.y * Tile::rows + row_in_tile(thread, i);
                const double bias = row < out ? weights.at(side, block.z, row, in) : 0.0;
                for (int c = 0; c < Tile::thread_columns; ++c) sums.at[side][i][c] = bias;
            }
        }
    }

    // Beyond the edges both factors are 0: a product with 0 changes no sum.
    HOLDFAST_PORTABLE void load(Block block, int step, int thread, Shared& shared) const {
        const int first = step * tile_depth;
        for (int side = 0; side < sides; ++side) {
            stage<AlongDepth>(thread, shared.rows[side], [&](int depth, int position) {
                const int row = block.y * Tile::rows + position, j = first + depth;
                return row < out && j < in ? weights.at(side, block.z, row, j) : 0.0;
            });
        }
        for (int side = 0; side < z_sides; ++side) {
            stage<AlongPositions>(thread, shared.columns[side], [&](int depth, int position) {
                const int record = block.x * Tile::columns + position, j = first + depth;
                return record < records && j < in ? z.at(side, block.z, j, record) : 0.0;
            });
        }
    }

    HOLDFAST_PORTABLE void compute(Block, int, int thread, const Shared& shared, Registers& sums) const {
        for (int depth = 0; depth < tile_depth; ++depth) {
            const auto w = RowFactors<Tile, sides>::of(shared.rows, depth, thread / tile_lanes);
            const auto values = ColumnFactors<Tile, z_sides>::of(shared.columns, depth, thread % tile_lanes);
            for (int i = 0; i < Tile::thread_rows; ++i) add(w, i, values, sums);
        }
    }

    HOLDFAST_PORTABLE static void add(const RowFactors<Tile, sides>& w, int i,
                                      const ColumnFactors<Tile, z_sides>& values, Registers& sums) {
        if constexpr (!IsPoint && !IsInput) {
            add_by_sign(w, i, values, sums,
                        [](double weight, double z_end, double sum) { return fma(weight, z_end, sum); });
        } else {
            for (int c = 0; c < Tile::thread_columns; ++c) {
                double *const least = &sums.at[0][i][c], *const greatest = &sums.at[sides - 1][i][c];
                const double lower = w.at[0][i], upper = w.at[sides - 1][i], x = values.at[0][c];
                if constexpr (IsPoint) {
                    *least = fma(lower, x, *least);
                } else {  // the sign of x picks the end of w
                    *least = fma(x >= 0 ? lower : upper, x, *least);
                    *greatest = fma(x >= 0 ? upper : lower, x, *greatest);
                }
            }
        }
    }

    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < Tile::thread_rows; ++i) {
                for (int c = 0; c < Tile::thread_columns; ++c) {
                    const int row = block.y * Tile::rows + row_in_tile(thread, i);
                    const int record = block.x * Tile::columns + column_in_tile(thread, c);
                    if (row >= out || record >= records) continue;
                    const double value = sums.at[side][i][c];
                    a.at(side, block.z, row, record) = relu ? saturated(greater(value, 0.0)) : value;
                }
            }
        }
    }
};

}  // namespace holdfast::device
