#pragma once

#include "kernels/cuda/entry_rules.hpp"
#include "kernels/cuda/least_values.hpp"

namespace holdfast::device {

/// The outer product's sums, and of every entry the least upper bounds and least negated lower bounds
/// (PanelOperations::accumulate). A thread owns an entry, so its heaps need no lock; records pass through
/// shared memory 32 at a time.
template <typename Rule, Activations kind>
struct SelectKernel {
    static_assert(kind != Activations::point, "a point's gradients are not selected");
    static constexpr int lanes = 16, depth = 32;
    static constexpr int threads = lanes * lanes;
    static constexpr int z_bounds = z_sides(kind);

    struct Shared {
        double delta[2][depth][lanes + 1];
        double z[z_bounds][depth][lanes + 1];
    };
    struct Registers {
        std::int64_t sum[2];  // side 0 negated
        LeastValues least[2];
        bool inside;
    };

    OuterArrays arrays;
    Rule rule;
    SelectionArrays selections;
    std::size_t first_entry;  // of the layer
    int seen;                 // records offered before

    HOLDFAST_PORTABLE int row_tiles() const { return (arrays.out + lanes - 1) / lanes; }
    Extent extent() const {
        return {blocks_for(static_cast<std::size_t>(arrays.in) + 1, lanes) * row_tiles(), 1, arrays.levels};
    }
    HOLDFAST_PORTABLE int row(Block block, int thread) const {
        return block.x % row_tiles() * lanes + thread / lanes;
    }
    HOLDFAST_PORTABLE int column(Block block, int thread) const {
        return block.x / row_tiles() * lanes + thread % lanes;
    }
    HOLDFAST_PORTABLE int steps(Block) const { return (arrays.records + depth - 1) / depth; }

    HOLDFAST_PORTABLE void begin(Block block, int thread, Registers& own) const {
        const int at_row = row(block, thread), at_column = column(block, thread);
        own.inside = at_row < arrays.out && at_column <= arrays.in;
        if (!own.inside) return;
        const std::size_t entry = first_entry +
                                  static_cast<std::size_t>(at_row) * static_cast<std::size_t>(arrays.in + 1) +
                                  static_cast<std::size_t>(at_column);
        for (int side = 0; side < 2; ++side) {
            own.sum[side] = 0;
            own.least[side] = selections.of(side, block.z, entry, seen);
        }
    }

    // Memory runs along the records.
    HOLDFAST_PORTABLE void load(Block block, int step, int thread, Shared& shared) const {
        const int record = step * depth + thread % depth;
        const int first_row = row(block, 0), first_column = column(block, 0);
        for (int position = thread / depth; position < lanes; position += threads / depth) {
            for (int side = 0; side < 2; ++side) {
                shared.delta[side][thread % depth][position] = arrays.delta_factor(
                    rule, first_row + position, record, arrays.records,
                    arrays.delta_at(side, block.z, first_row + position, record, arrays.records));
            }
            for (int side = 0; side < z_bounds; ++side) {
                shared.z[side][thread % depth][position] = arrays.z_factor(
                    rule, first_column + position, record, arrays.records,
                    arrays.z_at(side, block.z, first_column + position, record, arrays.records));
            }
        }
    }

    HOLDFAST_PORTABLE void compute(Block, int step, int thread, const Shared& shared, Registers& own) const {
        if (!own.inside) return;
        const int left = arrays.records - step * depth;
        for (int r = 0; r < depth && r < left; ++r) {
            typename Rule::Sum least = rule.zero(), greatest = rule.zero();
            add_entry<kind>(rule, shared.delta[0][r][thread / lanes], shared.delta[1][r][thread / lanes],
                            shared.z[0][r][thread % lanes], shared.z[z_bounds - 1][r][thread % lanes], least,
                            greatest);
            const std::int64_t values[] = {-rule.units(least), rule.units(greatest)};
            for (int side = 0; side < 2; ++side) {
                own.sum[side] += values[side];
                own.least[side].insert(values[side]);
            }
        }
    }

    HOLDFAST_PORTABLE void store(Block block, int thread, const Shared&, const Registers& own) const {
        if (!own.inside) return;
        const int at_row = row(block, thread), at_column = column(block, thread);
        add_atomically(arrays.sum(0, block.z, at_row, at_column), -own.sum[0]);
        add_atomically(arrays.sum(1, block.z, at_row, at_column), own.sum[1]);
    }
};

}  // namespace holdfast::device
