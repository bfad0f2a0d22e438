#pragma once

#include <cmath>

#include "kernels/cuda/tiles.hpp"

namespace holdfast::device {

/// d = saturated(gate(z) * (W^T delta)) at every level: rows are inputs, columns records, the depth runs over
/// the outputs in ascending order from 0 (PanelOperations::backward).
template <typename Tile, bool IsPoint>
struct BackwardKernel {
    static constexpr int threads = tile_threads;
    static constexpr int sides = IsPoint ? 1 : 2;
    using Shared = TileShared<Tile, sides, sides>;
    using Registers = TileSums<Tile, sides>;

    ConstVariants weights;  // [out, in + 1]
    ConstVariants delta;    // [out, records]
    ConstVariants z;        // [in, records]
    Variants d;             // [in, records]
    int in, out, records, levels;

    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(records), Tile::columns),
                blocks_for(static_cast<std::size_t>(in), Tile::rows), levels};
    }
    HOLDFAST_PORTABLE int steps(Block) const { return (out + tile_depth - 1) / tile_depth; }

    HOLDFAST_PORTABLE void begin(Block, int, Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < Tile::thread_rows; ++i) {
                for (int c = 0; c < Tile::thread_columns; ++c) sums.at[side][i][c] = 0.0;
            }
        }
    }

    HOLDFAST_PORTABLE void load(Block block, int step, int thread, Shared& shared) const {
        const int first = step * tile_depth;
        for (int side = 0; side < sides; ++side) {
            stage<AlongPositions>(thread, shared.rows[side], [&](int depth, int position) {
                const int row = block.y * Tile::rows + position, o = first + depth;
                return row < in && o < out ? weights.at(side, block.z, o, row) : 0.0;
            });
            stage<AlongPositions>(thread, shared.columns[side], [&](int depth, int position) {
                const int record = block.x * Tile::columns + position, o = first + depth;
                return record < records && o < out ? delta.at(side, block.z, o, record) : 0.0;
            });
        }
    }

    HOLDFAST_PORTABLE void compute(Block, int, int thread, const Shared& shared, Registers& sums) const {
        for (int depth = 0; depth < tile_depth; ++depth) {
            const auto w = RowFactors<Tile, sides>::of(shared.rows, depth, thread / tile_lanes);
            const auto g = ColumnFactors<Tile, sides>::of(shared.columns, depth, thread % tile_lanes);
            for (int i = 0; i < Tile::thread_rows; ++i) {
                if constexpr (IsPoint) {
                    for (int c = 0; c < Tile::thread_columns; ++c)
                        sums.at[0][i][c] = fma(w.at[0][i], g.at[0][c], sums.at[0][i][c]);
                } else {
                    add(w.at[0][i], w.at[1][i], g, sums.at[0][i], sums.at[1][i]);
                }
            }
        }
    }

    // The least of w delta over a box is at the lower or the upper w, and there at the end of delta that the
    // sign of that w picks; rounding an fma is monotone, so the least of the two fma is the fma at the least.
    // Where w has one sign, the sign of that end of delta says which w it is.
    HOLDFAST_PORTABLE static void add(double lower, double upper, const ColumnFactors<Tile, sides>& g,
                                      double (&least)[Tile::thread_columns],
                                      double (&greatest)[Tile::thread_columns]) {
        const auto of_one_sign = [&](const double(&least_of)[Tile::thread_columns],
                                     const double(&greatest_of)[Tile::thread_columns]) {
            for (int c = 0; c < Tile::thread_columns; ++c) {
                least[c] = fma(least_of[c] >= 0 ? lower : upper, least_of[c], least[c]);
                greatest[c] = fma(greatest_of[c] >= 0 ? upper : lower, greatest_of[c], greatest[c]);
            }
        };
        const auto &g_lower = g.at[0], &g_upper = g.at[sides - 1];
        if (lower >= 0) return of_one_sign(g_lower, g_upper);
        if (upper < 0) return of_one_sign(g_upper, g_lower);
        for (int c = 0; c < Tile::thread_columns; ++c) {
            least[c] = lesser(fma(lower, g_upper[c], least[c]), fma(upper, g_lower[c], least[c]));
            greatest[c] = greater(fma(lower, g_lower[c], greatest[c]), fma(upper, g_upper[c], greatest[c]));
        }
    }

    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& sums) const {
        for (int i = 0; i < Tile::thread_rows; ++i) {
            const int row = block.y * Tile::rows + row_in_tile(thread, i);
            if (row >= in) return;
            Gate gates[Tile::thread_columns];  // fetched before the first is used, as in stage()
            for (int c = 0; c < Tile::thread_columns; ++c) {
                const int record = block.x * Tile::columns + column_in_tile(thread, c);
                gates[c] = record >= records
                               ? Gate{}
                               : Gate{z.at(0, block.z, row, record), z.at(sides - 1, block.z, row, record)};
            }
            for (int c = 0; c < Tile::thread_columns; ++c) {
                const int record = block.x * Tile::columns + column_in_tile(thread, c);
                if (record >= records) continue;
                d.at(0, block.z, row, record) = saturated(gates[c].least(sums.at[0][i][c]));
                if constexpr (!IsPoint)
                    d.at(1, block.z, row, record) = saturated(gates[c].greatest(sums.at[1][i][c]));
            }
        }
    }
};

}  // namespace holdfast::device
