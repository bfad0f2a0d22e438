#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/base/portable.hpp"

/// The kernels of the CUDA backend, each written once. A kernel is a struct of pointers and sizes with
///     threads                                         of a block
///     Shared, Registers                               what a block, and each of its threads, keeps
///     extent()                                        how many blocks there are
///     steps(block)                                    rounds of load and compute
///     begin(block, thread, registers)
///     load(block, step, thread, shared)
///     compute(block, step, thread, shared, registers)
///     store(block, thread, shared, registers)
/// The threads of a block wait for each other between load, compute and store, and nowhere else: a device
/// (cuda_executor.cuh) and plain loops (host_executor.hpp) run the same code, so everything but the hardware
/// is tested without one. Every product in double is one chain of fma in the order of kernels/reference,
/// whose bits these kernels give: no other order, no cuBLAS. The products of fixed precision are exact in any
/// order, and cuBLASLt's (integer_product.hpp).
namespace holdfast::device {

/// The queues of an executor: what is in one runs in order.
enum class Queue { compute, copy };

/// Blocks of a launch, or the position of one among them.
struct Extent {
    int x = 1, y = 1, z = 1;
};
using Block = Extent;

constexpr int blocks_for(std::size_t items, std::size_t per_block) {
    return static_cast<int>((items + per_block - 1) / per_block);
}

/// Arrays of doubles for several levels, side 0 the lower bounds, side 1 the upper (unused for points):
/// element (row, column) of a level is at level * level_stride + row * row_stride + column.
template <typename T>
struct VariantArrays {
    T* side[2];
    std::size_t level_stride, row_stride;

    HOLDFAST_PORTABLE T& at(int bound, int level, int row, int column) const {
        return side[bound][static_cast<std::size_t>(level) * level_stride +
                           static_cast<std::size_t>(row) * row_stride + static_cast<std::size_t>(column)];
    }
    VariantArrays from(std::size_t offset) const {
        return {{side[0] + offset, side[1] + offset}, level_stride, row_stride};
    }
    VariantArrays with_rows_of(std::size_t stride) const {
        return {{side[0], side[1]}, level_stride, stride};
    }
};
using Variants = VariantArrays<double>;
using ConstVariants = VariantArrays<const double>;
inline ConstVariants as_const(const Variants& levels) {
    return {{levels.side[0], levels.side[1]}, levels.level_stride, levels.row_stride};
}

/// As std::min and std::max, which device code cannot call everywhere.
template <typename Real>
HOLDFAST_PORTABLE Real lesser(Real a, Real b) {
    return b < a ? b : a;
}
template <typename Real>
HOLDFAST_PORTABLE Real greater(Real a, Real b) {
    return a < b ? b : a;
}
/// The gate of a ReLU, [z_lower > 0, z_upper > 0]: closed it gives 0, undecided the hull with 0.
struct Gate {
    double z_lower, z_upper;

    HOLDFAST_PORTABLE double least(double value) const {
        return z_lower > 0 ? value : z_upper > 0 ? lesser(value, 0.0) : 0.0;
    }
    HOLDFAST_PORTABLE double greatest(double value) const {
        return z_lower > 0 ? value : z_upper > 0 ? greater(value, 0.0) : 0.0;
    }
};
HOLDFAST_PORTABLE inline double clamped(double value, double limit) {
    return fabs(value) > limit ? copysign(limit, value) : value;
}

#ifdef __CUDA_ARCH__
HOLDFAST_PORTABLE inline void add_atomically(std::int64_t* target, std::int64_t value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(value));
}
#else
HOLDFAST_PORTABLE inline void add_atomically(std::int64_t* target, std::int64_t value) {
    *target += value;
}
#endif

struct Nothing {};

/// One thread an item, nothing shared: all happens in store().
struct FlatKernel {
    static constexpr int threads = 256;
    using Shared = Nothing;
    using Registers = Nothing;

    HOLDFAST_PORTABLE int steps(Block) const { return 0; }
    HOLDFAST_PORTABLE void begin(Block, int, Nothing&) const {}
    HOLDFAST_PORTABLE void load(Block, int, int, Nothing&) const {}
    HOLDFAST_PORTABLE void compute(Block, int, int, const Nothing&, Nothing&) const {}
    HOLDFAST_PORTABLE static int item(Block block, int thread) { return block.x * threads + thread; }
};

}  // namespace holdfast::device
