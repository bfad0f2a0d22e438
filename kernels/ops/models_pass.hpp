#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/base/error.hpp"
#include "kernels/ops/engine.hpp"

namespace holdfast {

/// The network does without no record of the step.
constexpr std::size_t nothing_left_out = std::numeric_limits<std::size_t>::max();

/// Of clip "none": deltas in the outer product stay within it, so that no sum of products overflows: of up to
/// 2^32 records, activations being within saturation.
template <typename Real>
constexpr Real plain_delta_limit = RealFormat<Real>::saturation;
template <>
inline constexpr float plain_delta_limit<float> = 0x1p30F;

/// Networks of one shape, each at a point of its own, that go through the same records side by side: arrays
/// are [.., models()], the networks innermost. What it adds for a network is, bit by bit, what an Engine adds
/// at that point for the records but the one left out: deltas of that are 0, and a product with 0 adds
/// nothing (models/mathematics.md, record left out). Used by one thread.
///
/// Of clip "none" an entry's sum is the chain fma(delta, z, sum) over the records of the step in the order of
/// their indices, from 0 on, rounded once to units of 2^plain_exponent within +-plain_limit. So a record left
/// out is as one that is not there, in either case. Tests: models_pass_test.cpp.
class ModelsPass {
  public:
    virtual ~ModelsPass() = default;
    virtual std::size_t models() const = 0;  ///< 1 or more, a power of two

    /// sums [parameters, models] += of the clipped gradients of one step, in units of Clip::grid() (of clip
    /// "none" 2^plain_exponent); parameters [parameters, models] in parameter units; indices: of all the
    /// step's records; without [models]: the position among them that a network does without, or
    /// nothing_left_out; of a person of several rows the first one's, and all are left out. Rows of persons
    /// are taken by clip "none", each entry's delta times its weight, and by an Engine's pass. The arrays of
    /// the records must stay as they are while the pass is used: a device keeps them.
    virtual void add(const std::int64_t* parameters, const RecordSet& records,
                     std::span<const std::uint32_t> indices, std::span<const std::size_t> without,
                     std::int64_t* sums) = 0;
};

/// What part of a device a pass takes, by those who share it; a pass on the host has none.
struct DeviceShare {
    std::size_t networks = std::numeric_limits<std::size_t>::max();  ///< there are no more to go side by side
    std::size_t passes = 1;                                          ///< that share its memory, of all ranks
    int device = 0;                                                  ///< of those of the machine
};

/// Dense layers, and a clip of entries or none. Error (internal): others, which no pass takes.
inline void require_models_pass(const NetworkShape& network, const Clip& clip) {
    ensure(network.is_dense(), "networks of dense layers pass side by side");
    ensure(clip.kind == Clip::Kind::elementwise || clip.kind == Clip::Kind::factored ||
               clip.kind == Clip::Kind::none,
           "gradients of networks side by side are clipped entry by entry, or not at all");
}

}  // namespace holdfast
