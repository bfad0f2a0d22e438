#pragma once

#include <cstddef>

#include "kernels/ops/network_shape.hpp"

namespace holdfast::cpu {

/// Records that a group of networks takes at a time: their activations stay in a core's nearest cache.
constexpr std::size_t models_outputs_records = 16;

template <typename Real>
struct ModelsOutputsStep {
    const NetworkShape& network;
    const Real* weights;   // [parameters, group]
    const Real* features;  // [records, inputs]
    std::size_t records;   // at most models_outputs_records
    Real* hidden[2];       // [records, widest, group], scratch
    double* outputs;       // [records, outputs, group]
};

/// By the instruction set chosen at run time: how many networks are a group, and their way forward.
template <typename Real>
struct ModelsOutputsKernels {
    std::size_t group;
    void (*forward)(const ModelsOutputsStep<Real>& step);
};
template <typename Real>
const ModelsOutputsKernels<Real>& models_outputs_kernels();
template <>
const ModelsOutputsKernels<double>& models_outputs_kernels<double>();
template <>
const ModelsOutputsKernels<float>& models_outputs_kernels<float>();

}  // namespace holdfast::cpu
