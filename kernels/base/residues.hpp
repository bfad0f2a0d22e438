#pragma once

#include <cstdint>

/// Integers modulo the prime 2^64 - 2^32 + 1, in which 2^6 has order 32: what comes out of a transform there
/// is exact, and a sum of products below 2^63 in size is the integer that stands for it
/// (models/mathematics.md, exact convolution).
namespace holdfast::residues {

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
constexpr std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = product(base, base))
        if (exponent % 2 == 1) result = product(result, base);
    return result;
}
constexpr std::uint64_t of(std::int64_t value) {
    return value < 0 ? prime - static_cast<std::uint64_t>(-value) : static_cast<std::uint64_t>(value);
}
/// Of order 32.
constexpr std::uint64_t root = 64;
static_assert(power(root, 16) == prime - 1);

}  // namespace holdfast::residues
