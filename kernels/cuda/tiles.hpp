#pragma once

#include "kernels/cuda/kernel.hpp"

namespace holdfast::device {

/// Products are computed in tiles of results by 256 threads, in 16 lanes of rows and 16 of columns, whose
/// factors pass through shared memory 16 at a time. A thread's rows and columns lie 16 apart: neighbouring
/// threads read neighbouring columns, and all of a row's threads the same row.
constexpr int tile_lanes = 16;
constexpr int tile_threads = tile_lanes * tile_lanes;
constexpr int tile_depth = 16;

/// So many rows and columns of results a thread.
template <int RowsOfThread, int ColumnsOfThread>
struct Tile {
    static constexpr int thread_rows = RowsOfThread, thread_columns = ColumnsOfThread;
    static constexpr int rows = tile_lanes * thread_rows, columns = tile_lanes * thread_columns;
};

/// One double more than the tile: threads that write along the depth hit different banks.
template <int Positions>
using Staged = double[tile_depth][Positions + 1];

template <typename Tile, int RowSides, int ColumnSides>
struct TileShared {
    Staged<Tile::rows> rows[RowSides];
    Staged<Tile::columns> columns[ColumnSides];
};

template <typename Tile, int Sides, typename Sum = double>
struct TileSums {
    Sum at[Sides][Tile::thread_rows][Tile::thread_columns];
};

HOLDFAST_PORTABLE inline int row_in_tile(int thread, int index) {
    return thread / tile_lanes + tile_lanes * index;
}
HOLDFAST_PORTABLE inline int column_in_tile(int thread, int index) {
    return thread % tile_lanes + tile_lanes * index;
}

/// How a thread that stages factors goes through a tile, where memory runs along the positions, or the depth.
template <int Positions>
struct AlongPositions {
    HOLDFAST_PORTABLE static int position(int thread, int) { return thread % Positions; }
    HOLDFAST_PORTABLE static int depth(int thread, int index) {
        return thread / Positions + index * (tile_threads / Positions);
    }
};
template <int Positions>
struct AlongDepth {
    HOLDFAST_PORTABLE static int position(int thread, int index) {
        return thread / tile_depth + index * (tile_threads / tile_depth);
    }
    HOLDFAST_PORTABLE static int depth(int thread, int) { return thread % tile_depth; }
};

/// target[depth][position] = finish(depth, position, fetch(depth, position)). All are fetched before the
/// first is used: a thread waits for memory once.
template <template <int> typename Order, typename Fetch, typename Finish, int Width>
HOLDFAST_PORTABLE inline void stage(int thread, double (&target)[tile_depth][Width], const Fetch& fetch,
                                    const Finish& finish) {
    using Along = Order<Width - 1>;
    constexpr int count = (Width - 1) / tile_lanes;
    double values[count];
    for (int i = 0; i < count; ++i) values[i] = fetch(Along::depth(thread, i), Along::position(thread, i));
    for (int i = 0; i < count; ++i) {
        const int depth = Along::depth(thread, i), position = Along::position(thread, i);
        target[depth][position] = finish(depth, position, values[i]);
    }
}
template <template <int> typename Order, typename Fetch, int Width>
HOLDFAST_PORTABLE inline void stage(int thread, double (&target)[tile_depth][Width], const Fetch& fetch) {
    stage<Order>(thread, target, fetch, [](int, int, double value) { return value; });
}

/// A thread's factors of one depth.
template <int Sides, int Count>
struct Factors {
    double at[Sides][Count];

    /// lane: of the thread, among those of rows or of columns.
    template <std::size_t SharedSides>
    HOLDFAST_PORTABLE static Factors of(const Staged<tile_lanes * Count> (&staged)[SharedSides], int depth,
                                        int lane) {
        Factors factors;
        for (int side = 0; side < Sides; ++side) {
            for (int i = 0; i < Count; ++i) factors.at[side][i] = staged[side][depth][lane + tile_lanes * i];
        }
        return factors;
    }
};
/// Both bounds of the products of a row's factor with those of columns, which are z >= 0: its sign picks the
/// end of z, of all columns alike, and threads beside one another have the same row: a branch costs less than
/// picking.
template <int Rows, int Columns, typename Sums, typename Add>
HOLDFAST_PORTABLE inline void add_by_sign(const Factors<2, Rows>& row, int i, const Factors<2, Columns>& z,
                                          Sums& sums, const Add& add) {
    const auto with = [&](const double(&least_of)[Columns], const double(&greatest_of)[Columns]) {
        for (int c = 0; c < Columns; ++c) {
            sums.at[0][i][c] = add(row.at[0][i], least_of[c], sums.at[0][i][c]);
            sums.at[1][i][c] = add(row.at[1][i], greatest_of[c], sums.at[1][i][c]);
        }
    };
    if (row.at[0][i] >= 0) {
        with(z.at[0], z.at[1]);
    } else if (row.at[1][i] >= 0) {
        with(z.at[1], z.at[1]);
    } else {
        with(z.at[1], z.at[0]);
    }
}

template <typename Tile, int Sides>
using RowFactors = Factors<Sides, Tile::thread_rows>;
template <typename Tile, int Sides>
using ColumnFactors = Factors<Sides, Tile::thread_columns>;

}  // namespace holdfast::device
