// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_WANTED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_WANTED_INL
#undef HOLDFAST_WANTED_INL
#else
#define HOLDFAST_WANTED_INL
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Which entries of a panel are wanted, at most two vectors of them a record: a mask of lanes each.
template <typename LaneTag>
class WantedMasks {
  public:
    HWY_INLINE void set(std::size_t index, hn::Mask<LaneTag> mask) {
        hn::StoreMaskBits(LaneTag(), mask, bytes() + index * bytes_each);
    }
    /// Calls visit(index, lane) for each entry of the first `count` masks that is wanted.
    template <typename Visit>
    HWY_INLINE void for_each(std::size_t count, Visit visit) {
        constexpr std::size_t of_mask = 8 * bytes_each;
        for (std::uint64_t words = occupied(count * bytes_each); words != 0; words &= words - 1) {
            const auto word = static_cast<std::size_t>(std::countr_zero(words));
            for (std::uint64_t left = words_[word]; left != 0; left &= left - 1) {
                const std::size_t bit = 64 * word + static_cast<std::size_t>(std::countr_zero(left));
                visit(bit / of_mask, bit % of_mask);
            }
        }
    }

  private:
    static constexpr std::size_t bytes_each = (HWY_LANES(hn::TFromD<LaneTag>) + 7) / 8, most = 2 * height,
                                 word_bytes = sizeof(std::uint64_t), words = most * bytes_each / word_bytes;
    static_assert(words <= 64, "a bit a word");
    using WordTag = hn::ScalableTag<std::uint64_t>;
    static constexpr std::size_t word_lanes = HWY_LANES(std::uint64_t);

    std::uint8_t* bytes() { return reinterpret_cast<std::uint8_t*>(words_); }

    /// Which words are not 0, of the first so many bytes; behind them 0 is filled in.
    HWY_INLINE std::uint64_t occupied(std::size_t count) {
        std::fill_n(bytes() + count, word_lanes * word_bytes, std::uint8_t{0});
        std::uint64_t occupied = 0;
        for (std::size_t word = 0; word * word_bytes < count; word += word_lanes) {
            const auto some = hn::LoadU(WordTag(), words_ + word);
            std::uint8_t bits[8] = {};
            hn::StoreMaskBits(WordTag(), hn::Ne(some, hn::Zero(WordTag())), bits);
            occupied |= std::uint64_t{bits[0]} << word;
        }
        return occupied;
    }

    std::uint64_t words_[words + word_lanes];
};

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
