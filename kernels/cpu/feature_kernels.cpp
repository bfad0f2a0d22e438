// The records of a panel as a network sees them, and panels by records, compiled once an instruction set
// (Highway): squares of values, transposed in registers.

#include "kernels/cpu/panel_kernels.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/feature_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/features-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

static_assert(height % side == 0);

template <typename Real, typename Feature, typename Map>
void load_with(const Map& map, const Feature* features, std::size_t inputs,
               std::span<const std::uint32_t> indices, Real* x) {
    const ColumnLoader<Real, Feature, Map, height> loader(map, features, inputs);
    std::size_t rows[height + side];  // where the features of a record begin; behind them those of the last
    for (std::size_t r = 0; r < height + side; ++r)
        rows[r] = indices[std::min(r, indices.size() - 1)] * inputs;
    for (std::size_t first = 0; first < indices.size(); first += side)
        loader.load(rows + first, rows + first + side, x + first);
    if (indices.size() == height) return;
    for (std::size_t j = 0; j < inputs; ++j)
        std::fill(x + j * height + indices.size(), x + (j + 1) * height, Real{0});
}

template <typename Real, typename Feature>
void load_from(const InputTransform& input, const Feature* features, std::size_t inputs,
               std::span<const std::uint32_t> indices, Real* x) {
    if (Clamp<Real, Feature>::serves(input))
        return load_with(Clamp<Real, Feature>(input), features, inputs, indices, x);
    load_with(Transform<Real, Feature>(input), features, inputs, indices, x);
}

template <typename Real>
void LoadKernel(const InputTransform& input, std::size_t inputs, const RecordSet& records,
                std::span<const std::uint32_t> indices, Real* x) {
    if (records.wide_features != nullptr) return load_from(input, records.wide_features, inputs, indices, x);
    load_from(input, records.features, inputs, indices, x);
}

/// Rows [j, j + side) of a panel to as many columns of all records.
template <typename Real>
HWY_INLINE void transpose_rows(const Real* const* rows, Real* out, std::size_t stride) {
    for (std::size_t first = 0; first < height; first += side) {
        Square<Real> square;
        square.load(rows, first);
        square.transpose();
        for (std::size_t i = 0; i < side; ++i)
            hn::StoreU(square.at[i], square.tag, out + (first + square.feature_of(i)) * stride);
    }
}

template <typename Real>
void TransposeKernel(std::size_t rows, const Real* panel, Real* out, std::size_t stride) {
    const Real* starts[side];
    const auto from = [&](std::size_t j) {
        for (std::size_t i = 0; i < side; ++i) starts[i] = panel + (j + i) * height;
        transpose_rows(starts, out + j, stride);
    };
    std::size_t j = 0;
    for (; j + side <= rows; j += side) from(j);
    if (rows >= side && j < rows) from(rows - side);  // some for the second time
    for (std::size_t r = 0; r < height; ++r) {
        Real* row = out + r * stride;
        for (std::size_t narrow = 0; rows < side && narrow < rows; ++narrow)
            row[narrow] = panel[narrow * height + r];
        row[rows] = 1;
        std::fill(row + rows + 1, row + stride, Real{0});
    }
}

template <typename Real>
constexpr FeatureKernels<Real> table{&LoadKernel<Real>, &TransposeKernel<Real>};

const FeatureKernels<double>& FeaturesInDouble() {
    return table<double>;
}
const FeatureKernels<float>& FeaturesInSingle() {
    return table<float>;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(FeaturesInDouble);
HWY_EXPORT(FeaturesInSingle);

template <>
const FeatureKernels<double>& feature_kernels<double>() {
    return HWY_DYNAMIC_DISPATCH(FeaturesInDouble)();
}
template <>
const FeatureKernels<float>& feature_kernels<float>() {
    return HWY_DYNAMIC_DISPATCH(FeaturesInSingle)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
