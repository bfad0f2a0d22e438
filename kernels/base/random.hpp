#pragma once

#include <Random123/philox.h>

#include <cmath>
#include <cstdint>

namespace holdfast {

/// Counter-based generator (Philox4x32-10, Salmon et al. 2011): a pure function of (seed, stream, counter),
/// so that any rank computes any value without the others. Public randomness only: initial weights,
/// assignment of records to batches and members, generated datasets. Privacy draws come from libsodium
/// (models/privacy).
struct KeyedHash {
    std::uint64_t seed;

    /// 64 uniform bits for (stream, counter).
    std::uint64_t operator()(std::uint64_t stream, std::uint64_t counter) const {
        r123::Philox4x32 philox;
        r123::Philox4x32::ctr_type input = {
            {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
             static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)}};
        r123::Philox4x32::key_type key = {
            {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
        const auto output = philox(input, key);
        return static_cast<std::uint64_t>(output[1]) << 32 | output[0];
    }

    /// Uniform in [0, 1), 53 bits.
    double uniform(std::uint64_t stream, std::uint64_t counter) const {
        return static_cast<double>((*this)(stream, counter) >> 11) * 0x1p-53;
    }

    /// Standard normal (Box-Muller on counters 2c and 2c+1 of the stream).
    double normal(std::uint64_t stream, std::uint64_t counter) const {
        const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(stream, 2 * counter)));
        return radius * std::cos(6.283185307179586 * uniform(stream, 2 * counter + 1));
    }
};

}  // namespace holdfast
