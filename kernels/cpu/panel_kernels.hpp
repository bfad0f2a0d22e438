#pragma once

#include <string>

#include "kernels/ops/backend.hpp"

namespace holdfast::cpu {

/// Parameters of a layer as doubles: by rows [out, in + 1] and transposed [in, out].
struct LayerView {
    LayerShape shape;
    const double *lower, *upper;
    const double *lower_transposed, *upper_transposed;
};

/// The SIMD kernels, dispatched at run time to the widest instruction set of the machine. A pair of bounds
/// that is a point is computed once. Bits: those of the reference, on every instruction set (one fma chain an
/// entry).
void forward_input(const LayerView& layer, const double* x, Interval a);
void forward(const LayerView& layer, ConstInterval z, Interval a);
void relu(std::size_t rows, Interval a);
void backward(const LayerView& layer, ConstInterval delta, ConstInterval z, Interval d);
void accumulate(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                std::size_t stride, std::int64_t* sum_lower, std::int64_t* sum_upper);
void accumulate_and_select(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                           std::size_t stride, std::size_t count, std::int64_t* sum_lower,
                           std::int64_t* sum_upper, std::size_t first_entry, Selection& least_upper,
                           Selection& least_negated_lower);

}  // namespace holdfast::cpu
