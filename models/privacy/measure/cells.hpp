#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Every double has a cell, so that no range is needed to count a column: zero (of either sign), missing
/// (NaN), and the others by sign, exponent and leading mantissa bits (models/privacy/mathematics.md, column
/// tree). Magnitudes count within [2^-32, 2^32]. Three levels: 130 cells (zero, missing, 64 binades a sign),
/// 32 cells of a binade, 32 of such a cell. A cell holds its lower end and not its upper one: [low, high).
struct Cells {
    static constexpr std::size_t binades = 128;  ///< of both signs, ascending
    static constexpr std::size_t fan = 32;       ///< cells of a binade, and of such a cell
    static constexpr std::size_t leaves = binades * fan * fan;
    static constexpr std::size_t zero = leaves, missing = leaves + 1;
    static constexpr std::size_t count = leaves + 2;  ///< of the last level, zero and missing with them
    static constexpr std::size_t first_level = binades + 2;

    /// The cell of the last level: below `leaves` ascending with x, or `zero`, or `missing`.
    static std::size_t of(double x) {
        if (std::isnan(x)) return missing;
        if (x == 0) return zero;
        const double magnitude = std::clamp(std::abs(x), 0x1p-32, 0x1p32);
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(magnitude);
        if (x > 0) return leaves / 2 + std::min(place(bits), leaves / 2 - 1);
        // The one below the least of its cell: -5 is the lower end of one.
        const std::uint64_t least = std::bit_cast<std::uint64_t>(0x1p-32);
        return leaves / 2 - 1 - place(std::max(bits - 1, least));
    }
    /// The end below cell `leaf` of the last level, or above the one before: leaf <= leaves. Between the
    /// signs, where 0 is the end of both, that of the positive ones is 2^-32.
    static double end_below(std::size_t leaf) {
        if (leaf >= leaves / 2) return magnitude_at(leaf - leaves / 2);
        return -magnitude_at(leaves / 2 - leaf);
    }
    static double end_above(std::size_t leaf) { return leaf + 1 == leaves / 2 ? 0.0 : end_below(leaf + 1); }

  private:
    static constexpr int bits_dropped = 42;  ///< 52 mantissa bits less the 10 of two levels
    static std::size_t place(std::uint64_t bits) {
        return static_cast<std::size_t>((bits - std::bit_cast<std::uint64_t>(0x1p-32)) >> bits_dropped);
    }
    static double magnitude_at(std::size_t place) {
        return std::bit_cast<double>(std::bit_cast<std::uint64_t>(0x1p-32) +
                                     (static_cast<std::uint64_t>(place) << bits_dropped));
    }
};

}  // namespace holdfast
