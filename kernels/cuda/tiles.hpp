#pragma once

#include "kernels/cuda/kernel.hpp"

namespace holdfast::device {

/// Products are computed in tiles of 64 x 64 results by 256 threads of 4 x 4 results each, whose factors pass
/// through shared memory 16 at a time. A thread's rows and columns lie 16 apart: neighbouring threads read
/// neighbouring columns, and all of a row's threads the same row.
constexpr int tile = 64;
constexpr int tile_depth = 16;
constexpr int tile_lanes = 16;
constexpr int tile_threads = tile_lanes * tile_lanes;
constexpr int per_thread = tile / tile_lanes;

/// One double more than the tile: threads that write along the depth hit different banks.
using Staged = double[tile_depth][tile + 1];

template <int RowSides, int ColumnSides>
struct TileShared {
    Staged rows[RowSides];
    Staged columns[ColumnSides];
};

template <int Sides, typename Sum = double>
struct TileSums {
    Sum at[Sides][per_thread][per_thread];
};

HOLDFAST_PORTABLE inline int row_in_tile(int thread, int index) {
    return thread / tile_lanes + tile_lanes * index;
}
HOLDFAST_PORTABLE inline int column_in_tile(int thread, int index) {
    return thread % tile_lanes + tile_lanes * index;
}

/// target[depth][position] = fetch(depth, position), where memory runs along the positions.
template <typename Fetch>
HOLDFAST_PORTABLE inline void stage_positions(int thread, Staged& target, const Fetch& fetch) {
    const int position = thread % tile;
    for (int i = 0; i < tile * tile_depth / tile_threads; ++i) {
        const int depth = thread / tile + i * (tile_threads / tile);
        target[depth][position] = fetch(depth, position);
    }
}

/// The same where memory runs along the depth.
template <typename Fetch>
HOLDFAST_PORTABLE inline void stage_depths(int thread, Staged& target, const Fetch& fetch) {
    const int depth = thread % tile_depth;
    for (int i = 0; i < tile * tile_depth / tile_threads; ++i) {
        const int position = thread / tile_depth + i * (tile_threads / tile_depth);
        target[depth][position] = fetch(depth, position);
    }
}

/// A thread's factors of one depth.
template <int Sides>
struct Factors {
    double at[Sides][per_thread];

    template <int SharedSides>
    HOLDFAST_PORTABLE static Factors rows(const Staged (&staged)[SharedSides], int depth, int thread) {
        Factors factors;
        for (int side = 0; side < Sides; ++side) {
            for (int i = 0; i < per_thread; ++i)
                factors.at[side][i] = staged[side][depth][row_in_tile(thread, i)];
        }
        return factors;
    }
    template <int SharedSides>
    HOLDFAST_PORTABLE static Factors columns(const Staged (&staged)[SharedSides], int depth, int thread) {
        Factors factors;
        for (int side = 0; side < Sides; ++side) {
            for (int i = 0; i < per_thread; ++i)
                factors.at[side][i] = staged[side][depth][column_in_tile(thread, i)];
        }
        return factors;
    }
};

}  // namespace holdfast::device
