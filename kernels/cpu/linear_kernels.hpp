#pragma once

#include <span>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/panel_kernels.hpp"
#include "kernels/ops/linear_step.hpp"

namespace holdfast::cpu {

/// What one thread's linear steps keep: arrays of one group of records, and the sums of a block.
template <typename Real>
struct LinearBuffers {
    AlignedVector<Real> columns;         // [in, group]: what the network sees of the group's features
    AlignedVector<Real> logits, deltas;  // [out, group]
    AlignedVector<Real> sums;            // [in + 1, out, lanes]: as biased Reals, or their bits
};

/// The records of LinearStep::add() and where their sums go.
template <typename Real>
struct LinearBlock {
    const NetworkShape& network;
    const Clip& clip;
    LayerView<Real> layer;
    const RecordSet& records;
    std::span<const std::uint32_t> indices;
    std::int64_t* sums;
    std::int64_t& correct;
};

template <typename Real>
void add_linear(const LinearBlock<Real>& block, LinearBuffers<Real>& buffers);
template <>
void add_linear(const LinearBlock<double>& block, LinearBuffers<double>& buffers);
template <>
void add_linear(const LinearBlock<float>& block, LinearBuffers<float>& buffers);

}  // namespace holdfast::cpu
