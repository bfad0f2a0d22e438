#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/noise/half_normal.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast::test {

using Script = std::vector<std::uint64_t>;  ///< random words in the order in which they are asked for

inline const HalfNormalSlots& slots() {
    static const HalfNormalSlots the_slots;
    return the_slots;
}

/// They are piled up column by column; the last one is the tail's.
inline std::uint64_t first_slot(std::size_t column) {
    std::uint64_t slot = 0;
    for (std::size_t c = 0; c < column; ++c) slot += slots().slots_of(c);
    return slot;
}
constexpr std::uint64_t tail_slot = HalfNormalSlots::slots - 1;

/// The word with which GaussianNoise begins a draw.
inline std::uint64_t first_word(std::uint64_t slot, std::uint64_t position, bool negative = false) {
    return slot << (HalfNormal::position_bits + 1) | std::uint64_t{negative} << HalfNormal::position_bits |
           position;
}
/// What chooses, in the tail, the four columns number m < 62, and one of them.
inline std::uint64_t tail_word(int m, std::uint64_t quarter) {
    return std::uint64_t{1} << (63 - m) | quarter;
}

inline Rational dyadic(const Integer& value, unsigned long bits) {
    Rational result(value, power_of_two(bits));
    result.canonicalize();
    return result;
}

}  // namespace holdfast::test
