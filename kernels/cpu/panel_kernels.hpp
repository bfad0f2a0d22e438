#pragma once

#include <span>

#include "kernels/ops/panel_operations.hpp"

namespace holdfast::cpu {

// The SIMD kernels, of the widest instruction set of the machine, chosen at run time. A pair of bounds that
// is a point is computed once. Bits: those of the reference, on every instruction set (one fma chain an
// entry).

/// Parameters of a layer as Real: by rows [out, in + 1] and transposed [in, out].
template <typename Real>
struct LayerView {
    LayerShape shape;
    const Real *lower, *upper;
    const Real *lower_transposed, *upper_transposed;
};

template <typename Real>
struct LayerKernels {
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;

    void (*forward_input)(const LayerView<Real>& layer, const Real* x, Interval a);
    void (*forward_box)(const LayerView<Real>& layer, ConstInterval x, Interval a);
    void (*forward)(const LayerView<Real>& layer, ConstInterval z, Interval a);
    void (*relu)(std::size_t rows, Interval a);
    std::int64_t (*undecided)(std::size_t rows, std::size_t count, ConstInterval z);
    void (*backward)(const LayerView<Real>& layer, ConstInterval delta, ConstInterval z, Interval d);
    void (*add_squares)(std::size_t rows, const Real* values, double* squares);
    void (*scale)(std::size_t rows, const double* scales, Real* values);
};
template <typename Real>
const LayerKernels<Real>& layer_kernels();
template <>
const LayerKernels<double>& layer_kernels<double>();
template <>
const LayerKernels<float>& layer_kernels<float>();

template <typename Real>
struct FeatureKernels {
    void (*load)(const InputTransform& input, std::size_t inputs, const RecordSet& records,
                 std::span<const std::uint32_t> indices, Real* x);
    void (*transpose)(std::size_t rows, const Real* panel, Real* out, std::size_t stride);
};
template <typename Real>
const FeatureKernels<Real>& feature_kernels();
template <>
const FeatureKernels<double>& feature_kernels<double>();
template <>
const FeatureKernels<float>& feature_kernels<float>();

template <typename Real>
struct ConvolutionKernels {
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;

    void (*convolve_input)(const Convolution& convolution, const LayerView<Real>& layer, const Real* x,
                           Interval a);
    void (*convolve)(const Convolution& convolution, const LayerView<Real>& layer, ConstInterval z,
                     Interval a);
    void (*convolve_backward)(const Convolution& convolution, const LayerView<Real>& layer,
                              ConstInterval delta, ConstInterval z, Interval d);
};
template <typename Real>
const ConvolutionKernels<Real>& convolution_kernels();
template <>
const ConvolutionKernels<double>& convolution_kernels<double>();
template <>
const ConvolutionKernels<float>& convolution_kernels<float>();

/// PanelOperations::accumulate_positions; without a selection `target` is null.
template <typename Real>
void accumulate_positions(const ConvolutionProduct<Real>& product, SumBounds sums,
                          const SelectionTarget* target);
template <>
void accumulate_positions(const ConvolutionProduct<double>& product, SumBounds sums,
                          const SelectionTarget* target);
template <>
void accumulate_positions(const ConvolutionProduct<float>& product, SumBounds sums,
                          const SelectionTarget* target);
/// PanelOperations::add_squares_of_positions.
template <typename Real>
void add_squares_of_positions(const ConvolutionProduct<Real>& product, double* squares);
template <>
void add_squares_of_positions(const ConvolutionProduct<double>& product, double* squares);
template <>
void add_squares_of_positions(const ConvolutionProduct<float>& product, double* squares);

/// PanelOperations::accumulate without a selection; and with one, of panels of one layer and clip, at least
/// one.
template <typename Real>
void accumulate(const OuterProduct<Real>& product, SumBounds sums);
template <>
void accumulate(const OuterProduct<double>& product, SumBounds sums);
template <>
void accumulate(const OuterProduct<float>& product, SumBounds sums);
template <typename Real>
void accumulate_and_select(std::span<const OuterProduct<Real>> products, SumBounds sums,
                           const SelectionTarget& target);
template <>
void accumulate_and_select(std::span<const OuterProduct<double>> products, SumBounds sums,
                           const SelectionTarget& target);
template <>
void accumulate_and_select(std::span<const OuterProduct<float>> products, SumBounds sums,
                           const SelectionTarget& target);

/// PanelOperations::offer_changes.
template <typename Real>
void offer_changes(const OuterProduct<Real>& record, const OuterProduct<Real>& poisoned,
                   const SelectionTarget& target);
template <>
void offer_changes(const OuterProduct<double>& record, const OuterProduct<double>& poisoned,
                   const SelectionTarget& target);
template <>
void offer_changes(const OuterProduct<float>& record, const OuterProduct<float>& poisoned,
                   const SelectionTarget& target);

}  // namespace holdfast::cpu
