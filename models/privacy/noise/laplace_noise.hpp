#pragma once

#include <cstdint>
#include <span>

#include "models/privacy/noise/digits.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// A real number >= 0 of the exponential law of mean 1, exactly: whole + 0.fraction.
struct Exponential {
    std::uint64_t whole;
    Digits fraction;
};

/// By comparisons alone (von Neumann 1951; models/privacy/mathematics.md, discrete Laplace).
Exponential draw_exponential(Words& words);

/// Integers k with probability proportional to exp(-|k|/scale), exactly: what a vector of integers needs, in
/// every coordinate, to be epsilon-differentially private where neighbours are at most epsilon * scale apart
/// in the 1-norm (models/privacy/mathematics.md, discrete Laplace). It stops at +-2^62, which no reader sees
/// who clamps the sum to +-2^61, as everybody does who adds it (GaussianNoise).
///
/// Bits and time depend on the bits alone, so on key and place: never on a record.
class LaplaceNoise {
  public:
    static constexpr std::int64_t greatest_scale = std::int64_t{1} << 56;
    static constexpr std::int64_t greatest = std::int64_t{1} << 62;  ///< stops here, on both sides

    /// In units. Error (usage): not in [1, greatest_scale].
    explicit LaplaceNoise(std::int64_t scale);
    std::int64_t scale() const { return static_cast<std::int64_t>(scale_); }

    /// Errors of this and of fill (internal): the source of random bits repeats itself.
    std::int64_t draw(RandomBits& bits) const;
    /// noise [coordinates]: by fill_chunks (models/privacy/noise/chunks.hpp).
    void fill(std::span<std::int64_t> noise, const SecretKey& key, std::uint64_t place) const;

  private:
    std::int64_t draw(Words& words) const;

    std::uint64_t scale_;
};

}  // namespace holdfast
