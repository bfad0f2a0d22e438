#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/buffer.hpp"
#include "kernels/cuda/integer_product.hpp"
#include "kernels/cuda/kernel.hpp"

namespace holdfast::device {

/// What is known of the operands of a product of boxes: how many products of integers bound it.
enum class Operands {
    points,            ///< one: both are points
    point_columns,     ///< two: the columns are a point of any sign
    positive_columns,  ///< two: the columns are >= 0
    boxes              ///< four: both of any signs
};
constexpr int parts_of(Operands operands) {
    return operands == Operands::points ? 1 : operands == Operands::boxes ? 4 : 2;
}

/// One of the terms that are added for an end of a product: a side of the operand, all of it, what of it is
/// positive (sign 1) or what is negative (-1).
struct Part {
    int side, sign;
    HOLDFAST_PORTABLE std::int32_t of(std::int32_t value) const { return sign * value < 0 ? 0 : value; }
};

/// The terms of reference::fixed::product() for end 0 (lower) or 1, less those that are 0: the sum over the
/// parts of rows times columns.
HOLDFAST_PORTABLE inline Part row_part(Operands operands, int end, int part) {
    switch (operands) {
        case Operands::points:
            return {0, 0};
        case Operands::point_columns:
            return {part == 0 ? end : 1 - end, 0};
        case Operands::positive_columns:
            return {end, part == 0 ? 1 : -1};
        case Operands::boxes:
            break;
    }
    return {part % 2 == 0 ? end : 1 - end, part < 2 ? 1 : -1};
}
HOLDFAST_PORTABLE inline Part column_part(Operands operands, int end, int part) {
    switch (operands) {
        case Operands::points:
            return {0, 0};
        case Operands::point_columns:
            return {0, part == 0 ? 1 : -1};
        case Operands::positive_columns:
            return {part == 0 ? end : 1 - end, 0};
        case Operands::boxes:
            break;
    }
    return {part < 2 ? end : 1 - end, part % 2 == 0 ? 1 : -1};
}

/// An operand as digits: [ends, planes, levels, positions, parts * depth], the lower digit first. The parts
/// follow each other along the depth, so that one product adds them all.
struct DigitArray {
    std::int8_t* digits;
    int ends, planes, levels, positions, depth;  // positions, depth: with their edges

    std::size_t level_stride() const {
        return static_cast<std::size_t>(positions) * static_cast<std::size_t>(depth);
    }
    std::size_t bytes() const {
        return level_stride() * static_cast<std::size_t>(levels) * static_cast<std::size_t>(ends * planes);
    }
    HOLDFAST_PORTABLE std::int8_t* at(int end, int plane, int level, int position) const {
        const std::size_t row =
            ((static_cast<std::size_t>(end * planes + plane) * static_cast<std::size_t>(levels) +
              static_cast<std::size_t>(level)) *
                 static_cast<std::size_t>(positions) +
             static_cast<std::size_t>(position));
        return digits + row * static_cast<std::size_t>(depth);
    }
};

/// What the products of digits came to: [ends, cuts, pairs of planes, levels, rows, columns].
struct DigitSums {
    std::int32_t* sums;
    int cuts, row_planes, column_planes, levels, rows, columns;

    HOLDFAST_PORTABLE std::size_t matrix() const {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    }
    HOLDFAST_PORTABLE std::int32_t* of(int end, int cut, int row_plane, int column_plane) const {
        const int product = ((end * cuts + cut) * row_planes + row_plane) * column_planes + column_plane;
        return sums + static_cast<std::size_t>(product) * static_cast<std::size_t>(levels) * matrix();
    }
    /// The exact sum of one entry.
    HOLDFAST_PORTABLE std::int64_t at(int end, int level, int row, int column) const {
        const std::size_t entry = static_cast<std::size_t>(level) * matrix() +
                                  static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                                  static_cast<std::size_t>(column);
        std::int64_t sum = 0;
        for (int cut = 0; cut < cuts; ++cut) {
            for (int i = 0; i < row_planes; ++i) {
                for (int j = 0; j < column_planes; ++j)
                    sum += of(end, cut, i, j)[entry] * (std::int64_t{1} << (8 * (i + j)));
            }
        }
        return sum;
    }
};

/// The shape of an exact product of integers, rows [rows, depth] by columns [columns, depth], at every level.
struct FixedProduct {
    Operands operands;
    int row_planes, column_planes;
    int rows, columns, depth, levels;
    bool columns_shared;  ///< the same for all levels
    int longest;          ///< products that an int32 adds; the rest of whole_depth() goes into other sums

    int ends() const { return operands == Operands::points ? 1 : 2; }
    int column_ends() const { return operands == Operands::point_columns ? 1 : ends(); }
    /// Of one part, with its edge.
    int part_depth() const { return with_edge(depth); }
    int whole_depth() const { return parts_of(operands) * part_depth(); }
    int cuts() const { return (whole_depth() + longest - 1) / longest; }

    /// The arrays of it, from scratch memory.
    struct Arrays {
        DigitArray rows, columns;
        DigitSums sums;
    };
    Arrays take(Carver& carver) const {
        Arrays arrays{
            {nullptr, ends(), row_planes, levels, with_edge(rows), whole_depth()},
            {nullptr, column_ends(), column_planes, columns_shared ? 1 : levels, with_edge(columns),
             whole_depth()},
            {nullptr, cuts(), row_planes, column_planes, levels, with_edge(rows), with_edge(columns)}};
        arrays.rows.digits = carver.take<std::int8_t>(arrays.rows.bytes());
        arrays.columns.digits = carver.take<std::int8_t>(arrays.columns.bytes());
        arrays.sums.sums =
            carver.take<std::int32_t>(arrays.sums.matrix() * static_cast<std::size_t>(levels) *
                                      static_cast<std::size_t>(ends() * cuts() * row_planes * column_planes));
        return arrays;
    }
    std::size_t bytes() const {
        Carver measure(nullptr);
        take(measure);
        return measure.used();
    }

    /// To whole multiples of IntegerProduct::edge.
    static int with_edge(int size) {
        return (size + IntegerProduct::edge - 1) / IntegerProduct::edge * IntegerProduct::edge;
    }
};

}  // namespace holdfast::device
