#pragma once

#include <cstdint>
#include <span>

#include "dist/data/dataset.hpp"
#include "kernels/ops/input_transform.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/privacy/noise/secret_stream.hpp"

namespace holdfast {

/// features += normal noise of so large a deviation, by Boost's generator; what leaves the range the network
/// counts as its end. It says nothing of privacy: what is learnt of it is clipped as any gradient.
void add_normal(SecretStream& bits, double deviation, std::span<double> features);

/// Of each of these records, which have an id each, a copy under noise that the key draws under its id and
/// the step, whoever else is there.
Records noise_copies(const Records& records, std::span<const std::uint32_t> indices,
                     const InputTransform& transform, double deviation, const SecretKey& key,
                     std::int64_t step);

}  // namespace holdfast
