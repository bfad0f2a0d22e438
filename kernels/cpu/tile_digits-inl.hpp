// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_TILE_DIGITS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_TILE_DIGITS_INL
#undef HOLDFAST_TILE_DIGITS_INL
#else
#define HOLDFAST_TILE_DIGITS_INL
#endif

#include "kernels/cpu/fixed_grid-inl.hpp"
#include "kernels/cpu/tile_digits.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

constexpr struct {
    HWY_INLINE IntVec operator()(IntVec value) const { return value; }
} whole;

/// [depth, stride] values as digits from depth `from` on, a multiple of 64; of them products have
/// `lane_count`, a multiple of a vector; `part` is what is taken of them.
template <typename OfUnits>
void pack_values(TileDigits& digits, std::size_t from, FixedGrid grid, std::size_t depth, std::size_t stride,
                 std::size_t lane_count, const float* values, OfUnits part) {
    const Grid on(grid);
    const IntVec words = hn::Set(IntTag(), 0xFFFF), bytes = hn::Set(IntTag(), 0x00FF00FF),
                 signs = hn::Set(IntTag(), static_cast<std::int32_t>(0x80808080U));
    for (std::size_t k = 0; k < depth; k += 4) {
        for (std::size_t lane = 0; lane < lane_count; lane += int_lanes) {
            IntVec of[4];  // with 128 added: byte 1 is the digit of 256s, byte 0 the other's with its sign
                           // turned
            for (std::size_t i = 0; i < 4; ++i) {
                const IntVec units =
                    k + i < depth ? part(on.units(values + (k + i) * stride + lane)) : hn::Zero(IntTag());
                of[i] = hn::Add(units, hn::Set(IntTag(), 128));
            }
            const IntVec evens = hn::IfVecThenElse(words, of[0], hn::ShiftLeft<16>(of[2])),
                         odds = hn::IfVecThenElse(words, of[1], hn::ShiftLeft<16>(of[3]));
            const auto store = [&](std::size_t digit, IntVec joined) HWY_ATTR {
                std::int8_t* at = digits.tile(digit, lane / tile_side, (from + k) / tile_depth) +
                                  k % tile_depth / 4 * tile_depth + lane % tile_side * 4;
                hn::StoreU(joined, IntTag(), reinterpret_cast<std::int32_t*>(at));
            };
            const std::size_t last = digits.digits() == 2 ? 1 : 0;
            if (last == 1) store(0, hn::IfVecThenElse(bytes, hn::ShiftRight<8>(evens), odds));
            store(last, hn::Xor(hn::IfVecThenElse(bytes, evens, hn::ShiftLeft<8>(odds)), signs));
        }
    }
}

/// [rows, depth] factors as digits from depth `from` on, a multiple of 64; a depth a multiple of a vector.
template <typename OfUnits>
void pack_factors(TileDigits& digits, std::size_t from, FixedGrid grid, std::size_t rows, std::size_t depth,
                  const float* values, OfUnits part) {
    const Grid on(grid);
    const hn::Rebind<std::uint8_t, IntTag> bytes;
    const auto store = [bytes](IntVec value, std::int8_t* to) HWY_ATTR {
        const auto unsigned_value = hn::BitCast(hn::RebindToUnsigned<IntTag>(), value);
        hn::StoreU(hn::TruncateTo(bytes, unsigned_value), bytes, reinterpret_cast<std::uint8_t*>(to));
    };
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t k = 0; k < depth; k += int_lanes) {
            const IntVec units = part(on.units(values + row * depth + k));
            const std::size_t first = k / tile_depth * tile_depth;
            if (digits.digits() == 2)
                store(hn::ShiftRight<8>(hn::Add(units, hn::Set(IntTag(), 128))),
                      digits.row(0, row, from + first) + k - first);
            store(units, digits.row(digits.digits() - 1, row, from + first) + k - first);
        }
    }
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
