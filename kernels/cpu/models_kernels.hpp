#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/aligned.hpp"
#include "kernels/ops/models_pass.hpp"

namespace holdfast::cpu {

/// Records that a block of networks takes at a time: their activations, the weights and the sums stay in a
/// core's cache.
constexpr std::size_t models_panel = 24;

/// What one thread keeps of a block of networks; arrays are [.., models] but for those of features, which all
/// networks share.
template <typename Real>
struct ModelsBuffers {
    AlignedVector<Real> weights, gathered;                  // [parameters]; gathered: sums on their way
    AlignedVector<Real> features, feature_factors;          // [models_panel, inputs + 1], the last a 1
    std::vector<AlignedVector<Real>> activations;           // [layer][models_panel, out + 1], the last a 1
    AlignedVector<Real> delta, before;                      // [models_panel, widest]
    AlignedVector<Real> delta_factors, activation_factors;  // what the outer product takes of them
    double targets[models_panel] = {};
};

template <typename Real>
struct ModelsStep {
    const NetworkShape& network;
    const Clip& clip;
    const std::int64_t* parameters;
    const RecordSet& records;
    std::span<const std::uint32_t> indices;
    std::span<const std::size_t> without;
    std::int64_t* sums;
};

/// ModelsPass by the instruction set chosen at run time: how many networks it takes, and its add().
template <typename Real>
struct ModelsKernels {
    std::size_t models;
    void (*add)(const ModelsStep<Real>& step, ModelsBuffers<Real>& buffers);
};
template <typename Real>
const ModelsKernels<Real>& models_kernels();
template <>
const ModelsKernels<double>& models_kernels<double>();
template <>
const ModelsKernels<float>& models_kernels<float>();

}  // namespace holdfast::cpu
