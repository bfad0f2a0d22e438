#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::device {

/// The one thing of kernels/cuda that a library computes: at every level, c [rows, columns] = a [rows, depth]
/// b^T [columns, depth], int8 in and int32 out, exact while the sums fit. CudaExecutor asks cuBLASLt, whose
/// integer sums are the same in any order; HostExecutor adds in plain loops. All sizes and strides are
/// multiples of `edge`, and so are where a and b begin.
struct IntegerProduct {
    static constexpr int edge = 16;
    /// Products of two digits in [-128, 127] that an int32 adds: 2^17 of them could be 2^31.
    static constexpr int longest = (1 << 17) - edge;

    const std::int8_t *a, *b;
    std::int32_t* c;
    int rows, columns, depth, levels;
    std::size_t stride;                     // of a row of a, and of b
    std::size_t a_level, b_level, c_level;  // from one level to the next; 0: the same for all
};

}  // namespace holdfast::device
