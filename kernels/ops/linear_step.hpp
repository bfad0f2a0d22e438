#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/ops/engine.hpp"

namespace holdfast {

class PackedLayer;

/// Records that a linear step takes at a time: threads share them out in such pieces.
constexpr std::size_t linear_block = 1024;

/// A whole step of a network without hidden layers at one point, straight from the records: what forward,
/// loss, clip and outer product of PanelOperations give, bit by bit, without a panel in between. Holds the
/// buffers; one a thread. tests/unit/linear_step_test.cpp holds it to the reference.
class LinearStep {
  public:
    virtual ~LinearStep() = default;

    /// Adds the sums of the clipped gradients of at most linear_block records of one weight, [out, in + 1] in
    /// grid units, and how many are correct, each counted by its weight's units where it has one.
    virtual void add(const PackedLayer& layer, const RecordSet& records,
                     std::span<const std::uint32_t> indices, std::int64_t* sums, std::int64_t& correct) = 0;
};

}  // namespace holdfast
