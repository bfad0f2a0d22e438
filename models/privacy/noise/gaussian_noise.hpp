#pragma once

#include <cstdint>
#include <span>

#include "models/privacy/noise/half_normal.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// round(X) for X normal with mean 0 and standard deviation sigma, with exactly that law: k has probability
/// Phi((k + 1/2)/sigma) - Phi((k - 1/2)/sigma), sigma the very double (models/privacy/mathematics.md, exact
/// normal).
///
/// Why a sum of integers plus this noise is as private as the Gaussian mechanism: sum + round(X) =
/// round(sum + X), a function of sum + X alone. The noise stops at +-2^62, which no reader sees who clamps
/// the sum to +-2^61, as everybody does who adds it: for |sum| <= 2^61, noise of 2^62 or more leads to 2^61
/// with or without the stop.
///
/// Bits and time depend on the bits alone, so on key and place: never on a record.
class GaussianNoise {
  public:
    static constexpr double least_sigma = 0x1p-4, greatest_sigma = 0x1p56;
    static constexpr std::int64_t greatest = std::int64_t{1} << 62;  ///< stops here, on both sides

    /// In units. Error (usage): not in [least_sigma, greatest_sigma].
    explicit GaussianNoise(double sigma);
    double sigma() const { return sigma_; }

    /// Errors of this and of fill (arithmetic): this thread does not compute as the proof assumes.
    std::int64_t draw(RandomBits& bits) const;
    /// noise [coordinates]: by fill_chunks (models/privacy/noise/chunks.hpp).
    void fill(std::span<std::int64_t> noise, const SecretKey& key, std::uint64_t place) const;

  private:
    std::int64_t draw(Words& words) const;
    std::int64_t rounded(HalfNormal& number) const;

    double sigma_;
    // sigma = significand_ * 2^(fraction_bits - unit_bits_): the units of HalfNormal times the significand
    // are 2^-unit_bits_.
    std::uint64_t significand_;
    int unit_bits_;
    const HalfNormalSlots& slots_;
};

}  // namespace holdfast
