#pragma once

#include "kernels/cuda/entry_rules.hpp"
#include "kernels/cuda/tiles.hpp"

namespace holdfast::device {

/// Records of a block where its sums are exact.
constexpr int outer_records = 512;
static_assert(outer_records <= GradientGrid::block_limit && outer_records % tile_depth == 0);

/// sums += over the records of the clipped outer product delta x (z, 1) (PanelOperations::accumulate): rows
/// are outputs, columns inputs and the bias, the depth runs over records. The records are split among blocks;
/// a block's sums may be biased doubles, exact while it adds at most GradientGrid::block_limit records, and
/// end as integers in an integer sum: no order shows.
template <typename Tile, typename Rule, Activations kind, int records_per_block = outer_records>
struct OuterKernel {
    static constexpr int threads = tile_threads;
    static constexpr int blocks_at_once = kind == Activations::hidden ? 2 : 0;  // cuda_executor.cuh
    static constexpr int sides = delta_sides(kind);
    static constexpr int z_bounds = z_sides(kind);
    using Shared = TileShared<Tile, sides, z_bounds>;
    using Registers = TileSums<Tile, sides, typename Rule::Sum>;

    OuterArrays arrays;
    Rule rule;

    HOLDFAST_PORTABLE int row_tiles() const { return (arrays.out + Tile::rows - 1) / Tile::rows; }
    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(arrays.in) + 1, Tile::columns) * row_tiles(),
                blocks_for(static_cast<std::size_t>(arrays.records), records_per_block), arrays.levels};
    }
    HOLDFAST_PORTABLE int first_row(Block block) const { return block.x % row_tiles() * Tile::rows; }
    HOLDFAST_PORTABLE int first_column(Block block) const { return block.x / row_tiles() * Tile::columns; }
    HOLDFAST_PORTABLE int first_record(Block block) const { return block.y * records_per_block; }
    HOLDFAST_PORTABLE int last_record(Block block) const {
        const int left = arrays.records - first_record(block);
        return first_record(block) + (left < records_per_block ? left : records_per_block);
    }
    HOLDFAST_PORTABLE int steps(Block block) const {
        return (last_record(block) - first_record(block) + tile_depth - 1) / tile_depth;
    }

    HOLDFAST_PORTABLE void begin(Block, int, Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < Tile::thread_rows; ++i) {
                for (int c = 0; c < Tile::thread_columns; ++c) sums.at[side][i][c] = rule.zero();
            }
        }
    }

    HOLDFAST_PORTABLE void load(Block block, int step, int thread, Shared& shared) const {
        const int first = first_record(block) + step * tile_depth, last = last_record(block);
        for (int side = 0; side < sides; ++side) {
            stage<AlongDepth>(
                thread, shared.rows[side],
                [&](int depth, int position) {
                    return arrays.delta_at(side, block.z, first_row(block) + position, first + depth, last);
                },
                [&](int depth, int position, double value) {
                    return arrays.delta_factor(rule, first_row(block) + position, first + depth, last, value);
                });
        }
        for (int side = 0; side < z_bounds; ++side) {
            stage<AlongDepth>(
                thread, shared.columns[side],
                [&](int depth, int position) {
                    return arrays.z_at(side, block.z, first_column(block) + position, first + depth, last);
                },
                [&](int depth, int position, double value) {
                    return arrays.z_factor(rule, first_column(block) + position, first + depth, last, value);
                });
        }
    }

    HOLDFAST_PORTABLE void compute(Block, int, int thread, const Shared& shared, Registers& sums) const {
        for (int depth = 0; depth < tile_depth; ++depth) {
            const auto delta = RowFactors<Tile, sides>::of(shared.rows, depth, thread / tile_lanes);
            const auto z = ColumnFactors<Tile, z_bounds>::of(shared.columns, depth, thread % tile_lanes);
            for (int i = 0; i < Tile::thread_rows; ++i) {
                if constexpr (kind == Activations::hidden) {
                    add_by_sign(delta, i, z, sums,
                                [&](double delta_end, double z_end, typename Rule::Sum sum) {
                                    return rule.add(sum, delta_end, z_end);
                                });
                } else {
                    for (int c = 0; c < Tile::thread_columns; ++c)
                        add_entry<kind>(rule, delta.at[0][i], delta.at[sides - 1][i], z.at[0][c], z.at[0][c],
                                        sums.at[0][i][c], sums.at[sides - 1][i][c]);
                }
            }
        }
    }

    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& sums) const {
        for (int side = 0; side < sides; ++side) {
            for (int i = 0; i < Tile::thread_rows; ++i) {
                for (int c = 0; c < Tile::thread_columns; ++c) {
                    const int row = first_row(block) + row_in_tile(thread, i);
                    const int column = first_column(block) + column_in_tile(thread, c);
                    if (row >= arrays.out || column > arrays.in) continue;
                    add_atomically(arrays.sum(side, block.z, row, column), rule.units(sums.at[side][i][c]));
                }
            }
        }
    }
};

}  // namespace holdfast::device
