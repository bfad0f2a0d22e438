#pragma once

#include "kernels/ops/fixed_grid.hpp"
#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// The grids of what the weights of one network meet (kernels/ops/fixed_grid.hpp).
struct FixedFormat {
    int bits;
    FixedGrid features, activations, deltas;

    /// bits: 16 or 8. Error (usage): layers or a range of features that fixed precision has no products for.
    static FixedFormat of(const NetworkShape& network, int bits);
};

}  // namespace holdfast
