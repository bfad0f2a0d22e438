#pragma once

#include <algorithm>

#include "kernels/cuda/entry_rules.hpp"
#include "kernels/cuda/fixed_product.hpp"
#include "kernels/ops/fixed_format.hpp"

namespace holdfast::device {

/// The products of a network in fixed precision: their grids and shapes.
struct FixedPlan {
    FixedFormat format;
    bool by_factors;  ///< of the clip: outer products are products of integers too
    int longest;      ///< FixedProduct

    /// Rows are outputs, columns records.
    FixedProduct forward(LayerShape shape, bool is_point, bool is_input, int records, int levels) const {
        return {operands_of(activations_of(is_point, is_input)),
                2,
                planes(),
                static_cast<int>(shape.out),
                records,
                static_cast<int>(shape.in),
                levels,
                is_input,
                longest};
    }
    /// Rows are inputs, columns records.
    FixedProduct backward(LayerShape shape, bool is_point, int records, int levels) const {
        return {is_point ? Operands::points : Operands::boxes,
                2,
                planes(),
                static_cast<int>(shape.in),
                records,
                static_cast<int>(shape.out),
                levels,
                false,
                longest};
    }
    /// Rows are outputs, columns inputs and the bias; the depth runs over records.
    FixedProduct outer(LayerShape shape, Activations kind, int records, int levels) const {
        return {operands_of(kind),
                planes(),
                planes(),
                static_cast<int>(shape.out),
                static_cast<int>(shape.in) + 1,
                records,
                levels,
                kind == Activations::input,
                longest};
    }

    /// Scratch memory of the largest product of a chunk of records.
    std::size_t bytes(const NetworkShape& network, bool is_point, std::size_t chunk,
                      std::size_t variants) const {
        const int records = static_cast<int>(chunk), levels = static_cast<int>(variants);
        std::size_t most = 0;
        for (std::size_t l = 0; l < network.layers.size(); ++l) {
            const LayerShape shape = network.layers[l];
            const Activations kind = activations_of(is_point, l == 0);
            most = std::max(most, forward(shape, is_point, l == 0, records, levels).bytes());
            if (l > 0) most = std::max(most, backward(shape, is_point, records, levels).bytes());
            if (by_factors) most = std::max(most, outer(shape, kind, records, levels).bytes());
        }
        return most;
    }

  private:
    /// With activations for columns.
    static Operands operands_of(Activations kind) {
        return kind == Activations::point   ? Operands::points
               : kind == Activations::input ? Operands::point_columns
                                            : Operands::positive_columns;
    }
    int planes() const { return format.bits == 8 ? 1 : 2; }
};

}  // namespace holdfast::device
