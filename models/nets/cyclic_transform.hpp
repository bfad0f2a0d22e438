#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Integers modulo the prime 2^64 - 2^32 + 1, in which 2^6 has order 32: what comes out of a transform there
/// is exact, and a sum of products below 2^63 in size is the integer that stands for it.
namespace residues {

constexpr std::uint64_t prime = 0xffffffff00000001, epsilon = 0xffffffff;  // epsilon: 2^64

// By masks: what a branch would decide here no processor foresees.
constexpr std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
    const std::uint64_t total = a + b, beyond = std::uint64_t{total < a} | std::uint64_t{total >= prime};
    return total + (epsilon & (0 - beyond));
}
constexpr std::uint64_t difference(std::uint64_t a, std::uint64_t b) {
    return a - b - (epsilon & (0 - std::uint64_t{a < b}));
}
/// high 2^64 + low; 2^96 = -1.
constexpr std::uint64_t reduced(std::uint64_t high, std::uint64_t low) {
    const std::uint64_t part = (high & epsilon) * epsilon;
    return sum(difference(sum(low, 0), high >> 32), part);
}
constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    const auto whole = static_cast<unsigned __int128>(a) * b;
    return reduced(static_cast<std::uint64_t>(whole >> 64), static_cast<std::uint64_t>(whole));
}
constexpr std::uint64_t of(std::int64_t value) {
    return value < 0 ? prime - static_cast<std::uint64_t>(-value) : static_cast<std::uint64_t>(value);
}
/// The integer of the least size.
constexpr std::int64_t value_of(std::uint64_t residue) {
    return residue > prime / 2 ? -static_cast<std::int64_t>(prime - residue)
                               : static_cast<std::int64_t>(residue);
}

}  // namespace residues

/// Exact cyclic convolutions of integers on a torus of 32 x 32, and of 16 x 16 where only every other row and
/// column is wanted: products of transforms modulo a prime (models/mathematics.md, exact convolution).
namespace cyclic {

constexpr std::size_t side = 32, half = side / 2;
using Whole = std::array<std::uint64_t, side * side>;  ///< row by row; of a transform bits are reversed
using Half = std::array<std::uint64_t, half * half>;

void transform(Whole& values);
/// Of a transform that was divided by 32 x 32 before.
void transform_back(Whole& values);
/// The transform of every other row and column, of the whole one's; times 4.
void fold(const Whole& whole, Half& folded);
/// Of what fold gives of a transform that was divided by 32 x 32 before.
void transform_back(Half& values);
/// Of a filter, divided by 32 x 32.
Whole filter_of(const std::array<std::int64_t, side * side>& taps);
void multiply(const Whole& one, const Whole& other, Whole& products);
/// fold of the products.
void multiply(const Whole& one, const Whole& other, Half& folded);

}  // namespace cyclic
}  // namespace holdfast
