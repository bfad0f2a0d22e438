#pragma once

#include <cmath>

#include "kernels/cuda/tiles.hpp"

namespace holdfast::device {

/// d = saturated(gate(z) * (W^T delta)) at every level: rows are inputs, columns records, the depth runs over
/// the outputs in ascending order from 0 (PanelOperations::backward).
template <bool IsPoint>
struct BackwardKernel {
    static constexpr int threads = tile_threads;
    static constexpr int sides = IsPoint ? 1 : 2;
    using Shared = TileShared<sides, sides>;
    using Registers = TileSums<sides>;

    ConstVariants weights;  // [out, in + 1]
    ConstVariants delta;    // [out, records]
    ConstVariants z;        // [in, records]
    Variants d;             // [in, records]
    int in, out, records, levels;

    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(records), tile),
                blocks_for(static_cast<std::size_t>(in), tile), levels};
    }
    HOLDFAST_PORTABLE int steps(Block) const { return (out + tile_depth - 1) / tile_depth; }

    HOLDFAST_PORTABLE void begin(Block, int, Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < per_thread; ++i) {
                for (int c = 0; c < per_thread; ++c) sums.at[side][i][c] = 0.0;
            }
        }
    }

    HOLDFAST_PORTABLE void load(Block block, int step, int thread, Shared& shared) const {
        const int first = step * tile_depth;
        for (int side = 0; side < sides; ++side) {
            stage_positions(thread, shared.rows[side], [&](int depth, int position) {
                const int row = block.y * tile + position, o = first + depth;
                return row < in && o < out ? weights.at(side, block.z, o, row) : 0.0;
            });
            stage_positions(thread, shared.columns[side], [&](int depth, int position) {
                const int record = block.x * tile + position, o = first + depth;
                return record < records && o < out ? delta.at(side, block.z, o, record) : 0.0;
            });
        }
    }

    HOLDFAST_PORTABLE void compute(Block, int, int thread, const Shared& shared, Registers& sums) const {
        for (int depth = 0; depth < tile_depth; ++depth) {
            const auto w = Factors<sides>::rows(shared.rows, depth, thread);
            const auto g = Factors<sides>::columns(shared.columns, depth, thread);
            for (int i = 0; i < per_thread; ++i) {
                for (int c = 0; c < per_thread; ++c) add(w, i, g, c, sums);
            }
        }
    }

    // The least of w delta over a box is at the lower or the upper w, and there at the end of delta that the
    // sign of that w picks; rounding an fma is monotone, so the least of the two fma is the fma at the least.
    HOLDFAST_PORTABLE static void add(const Factors<sides>& w, int i, const Factors<sides>& g, int c,
                                      Registers& sums) {
        double* least = &sums.at[0][i][c];
        double* greatest = &sums.at[sides - 1][i][c];
        const double lower = w.at[0][i], upper = w.at[sides - 1][i];
        const double g_lower = g.at[0][c], g_upper = g.at[sides - 1][c];
        if constexpr (IsPoint) {
            *least = fma(lower, g_lower, *least);
        } else {
            *least = lesser(fma(lower, lower >= 0 ? g_lower : g_upper, *least),
                            fma(upper, upper >= 0 ? g_lower : g_upper, *least));
            *greatest = greater(fma(lower, lower >= 0 ? g_upper : g_lower, *greatest),
                                fma(upper, upper >= 0 ? g_upper : g_lower, *greatest));
        }
    }

    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& sums) const {
        for (int i = 0; i < per_thread; ++i) {
            for (int c = 0; c < per_thread; ++c) {
                const int row = block.y * tile + row_in_tile(thread, i);
                const int record = block.x * tile + column_in_tile(thread, c);
                if (row >= in || record >= records) continue;
                const Gate gate{z.at(0, block.z, row, record), z.at(sides - 1, block.z, row, record)};
                d.at(0, block.z, row, record) = saturated(gate.least(sums.at[0][i][c]));
                if constexpr (!IsPoint)
                    d.at(1, block.z, row, record) = saturated(gate.greatest(sums.at[1][i][c]));
            }
        }
    }
};

}  // namespace holdfast::device
