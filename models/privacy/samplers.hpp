#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "models/privacy/rational.hpp"

namespace holdfast {

using Word128 = unsigned __int128;
using Bits256 = std::array<std::uint64_t, 4>;  ///< least significant word first

/// Uniform random bytes. The program has one source of its own, SystemRandomBits; seedable ones exist for
/// tests, and for public numbers (models/nets/fourier_features.cpp).
class RandomBits {
  public:
    virtual ~RandomBits() = default;
    virtual void fill(std::span<std::byte> bytes) = 0;
};

/// libsodium's randombytes_buf. Error (ExitCode::internal) if libsodium cannot start.
class SystemRandomBits final : public RandomBits {
  public:
    SystemRandomBits();
    void fill(std::span<std::byte> bytes) override;
};

// Fixed numbers of bits: what release uses. The number of bits and of operations depends on public sizes
// only.

Word128 draw_128_bits(RandomBits& bits);
Bits256 draw_256_bits(RandomBits& bits);
/// floor(bits * bound / 2^256): in [0, bound), each value with probability within 2^-256 of 1/bound.
Word128 below(const Bits256& bits, Word128 bound);
/// floor(bits * bound / 2^128): the same with 128 bits.
std::uint64_t below(Word128 bits, std::uint64_t bound);

Word128 to_word(const Integer& value);  ///< 0 <= value < 2^128, else ExitCode::internal
Integer to_integer(Word128 value);

// Exact samplers by rejection: the law is exact, the number of bits random.

/// Uniform on [0, bound), exactly; bound >= 1.
Integer uniform_below(const Integer& bound, RandomBits& bits);
/// True with probability exactly p, 0 <= p <= 1.
bool bernoulli(const Rational& p, RandomBits& bits);

}  // namespace holdfast
