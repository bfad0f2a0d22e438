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
#include <cstring>

#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Which entries of a panel are wanted, at most two vectors of them a record: a mask of lanes each.
template <typename LaneTag>
class WantedMasks {
  public:
    HWY_INLINE void set(std::size_t index, hn::Mask<LaneTag> mask) {
        hn::StoreMaskBits(LaneTag(), mask, bytes_ + index * bytes_each);
    }
    /// Calls visit(index, lane) for each entry of the first `count` masks that is wanted.
    template <typename Visit>
    HWY_INLINE void for_each(std::size_t count, Visit visit) {
        constexpr std::size_t of_mask = 8 * bytes_each;
        std::uint8_t* end = bytes_ + count * bytes_each;
        std::fill(end, end + sizeof(std::uint64_t), std::uint8_t{0});
        for (std::size_t first = 0; first < count * of_mask; first += 64) {
            std::uint64_t left = 0;
            std::memcpy(&left, bytes_ + first / 8, sizeof left);
            for (; left != 0; left &= left - 1) {
                const std::size_t bit = first + static_cast<std::size_t>(std::countr_zero(left));
                visit(bit / of_mask, bit % of_mask);
            }
        }
    }

  private:
    static constexpr std::size_t bytes_each = (HWY_LANES(hn::TFromD<LaneTag>) + 7) / 8, most = 2 * height;
    alignas(8) std::uint8_t bytes_[most * bytes_each + sizeof(std::uint64_t)];
};

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
