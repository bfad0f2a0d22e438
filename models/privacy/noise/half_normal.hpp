#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/privacy/noise/digits.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// A real number >= 0: (column + (position + 0.later)/2^51) / 16.
struct HalfNormal {
    static constexpr int position_bits = 51;
    static constexpr int fraction_bits = position_bits + 4;

    std::uint64_t column;
    std::uint64_t position;  ///< below 2^51
    Digits later;

    /// The number lies in [known(), known() + 1) / 2^fraction_bits.
    Word128 known() const { return static_cast<Word128>(column) << position_bits | position; }
};

/// The area under exp(-y^2/2), y >= 0, covered by 2^12 rectangles (slots) of one area, so that random bits
/// choose one: a uniform point of the slots, if it lies under the curve, has an abscissa of the half-normal
/// law, exactly (models/privacy/mathematics.md, exact normal).
///
/// Up to 4 the slots are piled up in columns of width 1/16 until they reach over the curve. Most lie wholly
/// under it: there is nothing to decide. The last slot is spread over what lies beyond 4: with probability
/// 2^-(m+1) the point falls into the four columns from 4 + m/4 on, over which the slot is 2^-(m+3) high.
class HalfNormalSlots {
  public:
    static constexpr int slot_bits = 12;
    static constexpr std::size_t slots = std::size_t{1} << slot_bits, columns = 64;
    /// Of a slot, in units of 2^-20: the least that covers the area.
    static constexpr std::uint64_t height = 5309;
    static constexpr int height_bits = 20;

    HalfNormalSlots();

    /// The abscissa of a point of `slot`, at `position` in its column; nothing where the point lies above the
    /// curve. Error (internal): the words are not random.
    std::optional<HalfNormal> under_curve(std::uint64_t slot, std::uint64_t position, Words& words) const {
        const std::uint8_t place = places_[slot];
        if (place < crossing) return HalfNormal{place, position, Digits(words)};
        return place < tail ? decide_crossing(slot, place - crossing, position, words)
                            : decide_tail(position, words);
    }

    /// Slots piled up in a column, and those of them that lie wholly under the curve.
    std::size_t slots_of(std::size_t column) const { return first_[column + 1] - first_[column]; }
    std::size_t whole_slots_of(std::size_t column) const;

  private:
    static constexpr std::uint8_t crossing = columns, tail = 2 * columns;

    std::optional<HalfNormal> decide_crossing(std::uint64_t slot, std::uint64_t column,
                                              std::uint64_t position, Words& words) const;
    std::optional<HalfNormal> decide_tail(std::uint64_t position, Words& words) const;

    std::array<std::uint8_t, slots> places_;          // the column; + crossing: not wholly under the curve
    std::array<std::uint16_t, columns + 1> first_{};  // the lowest slot of each column
};

}  // namespace holdfast
