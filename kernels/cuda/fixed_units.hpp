#pragma once

#include <cmath>

#include "kernels/cuda/kernel.hpp"
#include "kernels/ops/fixed_grid.hpp"

namespace holdfast::device {

/// FixedGrid::units() in what code of a device may call: a product with a power of two is exact.
struct FixedUnits {
    double per_one, limit;

    explicit FixedUnits(FixedGrid grid) : per_one(std::ldexp(1.0, -grid.exponent)), limit(grid.limit) {}
    HOLDFAST_PORTABLE std::int32_t units(double value) const {
        return static_cast<std::int32_t>(nearbyint(clamped(value * per_one, limit)));
    }
};

/// fixed_value(): `unit` is a power of two, and a double holds the sum.
HOLDFAST_PORTABLE inline double fixed_real(std::int64_t sum, double unit) {
    return static_cast<double>(static_cast<float>(static_cast<double>(sum) * unit));
}

}  // namespace holdfast::device
