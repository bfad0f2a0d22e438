#pragma once

#include <string>

#include "kernels/ops/backend.hpp"

namespace holdfast::cpu {

/// Parameters of a layer as Real: by rows [out, in + 1] and transposed [in, out].
template <typename Real>
struct LayerView {
    LayerShape shape;
    const Real *lower, *upper;
    const Real *lower_transposed, *upper_transposed;
};

/// The SIMD kernels of one precision, of the widest instruction set of the machine. A pair of bounds that is
/// a point is computed once. Bits: those of the reference, on every instruction set (one fma chain an entry).
template <typename Real>
struct Kernels {
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;

    void (*forward_input)(const LayerView<Real>& layer, const Real* x, Interval a);
    void (*forward)(const LayerView<Real>& layer, ConstInterval z, Interval a);
    void (*relu)(std::size_t rows, Interval a);
    void (*backward)(const LayerView<Real>& layer, ConstInterval delta, ConstInterval z, Interval d);
    void (*accumulate)(LayerShape shape, const Clip& clip, ConstInterval delta, ConstInterval z_rows,
                       std::size_t stride, std::int64_t* sum_lower, std::int64_t* sum_upper);
    void (*accumulate_and_select)(LayerShape shape, const Clip& clip, ConstInterval delta,
                                  ConstInterval z_rows, std::size_t stride, std::size_t count,
                                  std::int64_t* sum_lower, std::int64_t* sum_upper, std::size_t first_entry,
                                  Selection& least_upper, Selection& least_negated_lower);
};

/// Chosen at run time.
template <typename Real>
const Kernels<Real>& kernels();
template <>
const Kernels<double>& kernels<double>();
template <>
const Kernels<float>& kernels<float>();

}  // namespace holdfast::cpu
