// Networks in the lanes, compiled once an instruction set (Highway): a parameter is a vector over networks,
// read once for a tile of records, so that one record is as fast as memory hands on the parameters, and many
// are as fast as the processor multiplies.

#include "kernels/cpu/models_outputs_kernels.hpp"

#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/models_outputs_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/models-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

// Chains of one record hide the latency of an fma only if there are enough of them.
constexpr std::size_t rows_of_one = 8, records_of_tile = 4, rows_of_tile = HWY_LANES(double) >= 8 ? 4 : 2;

/// Of a layer, for all records.
template <typename Real, typename Inputs>
struct LayerOfModels {
    LayerShape shape;
    const Real* weights;  // [out, in + 1, lanes]
    const Real* z;        // [records, in], as Inputs steps
    Real* hidden;         // [records, out, lanes] behind the ReLU; null: the last layer
    double* outputs;      // likewise, of the last layer

    template <std::size_t Rows, std::size_t Records>
    HWY_INLINE void tile(std::size_t row, std::size_t record) const {
        const std::size_t in = shape.in;
        Vec<Real> sums[Rows][Records];
        affine_tile<Real, Inputs>(shape, weights + row * (in + 1) * lanes<Real>,
                                  z + record * in * Inputs::step, in, sums);
        for (std::size_t r = 0; r < Records; ++r) {
            for (std::size_t o = 0; o < Rows; ++o)
                store(sums[o][r], ((record + r) * shape.out + row + o) * lanes<Real>);
        }
    }

    HWY_INLINE void store(Vec<Real> sum, std::size_t at) const {
        if (hidden != nullptr) {
            const Vec<Real> active = hn::Max(sum, hn::Zero(reals<Real>));
            return hn::Store(saturated_lanes<Real>(active), reals<Real>, hidden + at);
        }
        alignas(64) Real values[lanes<Real>];
        hn::Store(sum, reals<Real>, values);
        for (std::size_t lane = 0; lane < lanes<Real>; ++lane) outputs[at + lane] = values[lane];
    }
};

template <std::size_t Rows, std::size_t Records, typename Layer>
HWY_INLINE void for_rows(const Layer& layer, std::size_t record, std::size_t row = 0) {
    for (; row + Rows <= layer.shape.out; row += Rows) layer.template tile<Rows, Records>(row, record);
    if constexpr (Rows > 1) for_rows<Rows / 2, Records>(layer, record, row);
}

template <typename Layer>
HWY_INLINE void for_all_tiles(const Layer& layer, std::size_t records) {
    std::size_t record = 0;
    for (; record + records_of_tile <= records; record += records_of_tile)
        for_rows<rows_of_tile, records_of_tile>(layer, record);
    for (; record < records; ++record) for_rows<rows_of_one, 1>(layer, record);
}

template <typename Real>
void ForwardModelsKernel(const ModelsOutputsStep<Real>& step) {
    const NetworkShape& network = step.network;
    const Real* weights = step.weights;
    for (std::size_t l = 0; l <= network.last(); ++l) {
        const LayerShape shape = network.layers[l];
        Real* hidden = l < network.last() ? step.hidden[l % 2] : nullptr;
        if (l == 0) {
            for_all_tiles(
                LayerOfModels<Real, Alike<Real>>{shape, weights, step.features, hidden, step.outputs},
                step.records);
        } else {
            for_all_tiles(LayerOfModels<Real, Apart<Real>>{shape, weights, step.hidden[(l - 1) % 2], hidden,
                                                           step.outputs},
                          step.records);
        }
        weights += shape.parameters() * lanes<Real>;
    }
}

template <typename Real>
constexpr ModelsOutputsKernels<Real> models_outputs_table{lanes<Real>, &ForwardModelsKernel<Real>};

const ModelsOutputsKernels<double>& ModelsOutputsInDouble() {
    return models_outputs_table<double>;
}
const ModelsOutputsKernels<float>& ModelsOutputsInSingle() {
    return models_outputs_table<float>;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(ModelsOutputsInDouble);
HWY_EXPORT(ModelsOutputsInSingle);

template <>
const ModelsOutputsKernels<double>& models_outputs_kernels<double>() {
    return HWY_DYNAMIC_DISPATCH(ModelsOutputsInDouble)();
}
template <>
const ModelsOutputsKernels<float>& models_outputs_kernels<float>() {
    return HWY_DYNAMIC_DISPATCH(ModelsOutputsInSingle)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
