#pragma once

#include "kernels/cuda/kernel.hpp"
#include "kernels/ops/norm_rule.hpp"

namespace holdfast::device {

/// One number a record at every level: values [levels, records].
struct ScaleArray {
    double* values;
    std::size_t records;
    int levels;
    Extent extent(int threads) const {
        return {blocks_for(records, static_cast<std::size_t>(threads)), 1, levels};
    }
    HOLDFAST_PORTABLE bool has(int record) const { return static_cast<std::size_t>(record) < records; }
    HOLDFAST_PORTABLE double& at(int level, int record) const {
        return values[static_cast<std::size_t>(level) * records + static_cast<std::size_t>(record)];
    }
};

/// squares += |delta|^2 |(z, 1)|^2 of a layer at points, in the order of the rows (PanelOperations,
/// add_squares).
struct SquareKernel : FlatKernel {
    ConstVariants delta, z;  // [out, records], [in, records]
    ScaleArray squares;
    int in, out;
    bool first;  // of the layers: squares begin at 0

    Extent extent() const { return squares.extent(threads); }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int record = item(block, thread);
        if (!squares.has(record)) return;
        double delta_square = 0, z_square = 1;
        for (int o = 0; o < out; ++o) {
            const double value = delta.at(0, block.z, o, record);
            delta_square = fma(value, value, delta_square);
        }
        for (int j = 0; j < in; ++j) {
            const double value = z.at(0, block.z, j, record);
            z_square = fma(value, value, z_square);
        }
        double& square = squares.at(block.z, record);
        square = (first ? 0.0 : square) + delta_square * z_square;
    }
};

/// The squares of whole gradients become what their records are scaled by.
struct RecordScaleKernel : FlatKernel {
    NormRule<double> rule;
    ScaleArray squares;

    Extent extent() const { return squares.extent(threads); }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int record = item(block, thread);
        if (!squares.has(record)) return;
        double& square = squares.at(block.z, record);
        square = rule.scale_of(square);
    }
};

/// delta [rows, records] *= scales.
struct ScaleKernel : FlatKernel {
    Variants delta;
    ScaleArray scales;
    int rows;

    Extent extent() const {
        Extent all = scales.extent(threads);
        all.y = rows;
        return all;
    }
    HOLDFAST_PORTABLE void store(Block block, int thread, const Nothing&, const Nothing&) const {
        const int record = item(block, thread);
        if (scales.has(record)) delta.at(0, block.z, block.y, record) *= scales.at(block.z, record);
    }
};

}  // namespace holdfast::device
