// Updates of parameters, compiled once an instruction set (Highway): products of 124 bits from four of 64.

#include "models/training/update_lanes.hpp"

#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "models/training/update_lanes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace holdfast::HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

namespace hn = hwy::HWY_NAMESPACE;
using Integers = hn::ScalableTag<std::int64_t>;
using Bits = hn::RebindToUnsigned<Integers>;
using Integer = hn::Vec<Integers>;
using Word = hn::Vec<Bits>;
constexpr Integers integers{};
constexpr Bits bits{};

/// The product of the lower halves.
HWY_INLINE Word lower_product(Word a, Word b) {
    const hn::Repartition<std::uint32_t, Bits> halves;
    return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
}

/// Multiplies by a factor and rounds. What is beyond +-2^61 may count as +-2^62: a parameter within 2^60 less
/// either comes out at the limit.
class Product {
  public:
    HWY_INLINE explicit Product(const BasicFactor<64>& factor)
        : shift_(factor.shift()),
          significand_(hn::Set(integers, factor.significand())),
          low_(hn::Set(bits, static_cast<std::uint64_t>(factor.significand()))),
          high_(hn::ShiftRight<32>(low_)) {}

    HWY_INLINE Integer of(Integer x) const {
        const Word mask = hn::Set(bits, 0xffffffff), x_low = hn::BitCast(bits, x),
                   x_high = hn::ShiftRight<32>(x_low);
        const Word least = lower_product(x_low, low_), one = lower_product(x_low, high_),
                   other = lower_product(x_high, low_);
        const Word middle =
            hn::Add(hn::ShiftRight<32>(least), hn::Add(hn::And(one, mask), hn::And(other, mask)));
        const Word above = hn::Add(hn::Add(lower_product(x_high, high_), hn::ShiftRight<32>(middle)),
                                   hn::Add(hn::ShiftRight<32>(one), hn::ShiftRight<32>(other)));
        const Integer negative = hn::ShiftRight<63>(x);
        return rounded(hn::Sub(hn::BitCast(integers, above), hn::And(negative, significand_)),
                       hn::Or(hn::And(least, mask), hn::ShiftLeft<32>(middle)));
    }

  private:
    /// floor((high 2^64 + low) / 2^shift + 1/2)
    HWY_INLINE Integer rounded(Integer high, Word low) const {
        if (shift_ > 64)
            return hn::ShiftRightSame(hn::Add(high, hn::Set(integers, std::int64_t{1} << (shift_ - 65))),
                                      shift_ - 64);
        const Word half = hn::Set(bits, std::uint64_t{1} << (shift_ - 1)), sum = hn::Add(low, half);
        const Word carry = hn::IfThenElseZero(hn::Lt(sum, half), hn::Set(bits, 1));
        const Integer carried = hn::Add(high, hn::BitCast(integers, carry));
        if (shift_ == 64) return carried;
        const Integer sign = hn::ShiftRight<63>(carried),
                      most = hn::Xor(sign, hn::Set(integers, (std::int64_t{1} << 62) - 1)),
                      fits = hn::Or(hn::ShiftLeftSame(carried, 64 - shift_),
                                    hn::BitCast(integers, hn::ShiftRightSame(sum, shift_)));
        return hn::IfThenElse(hn::Eq(hn::ShiftRightSame(carried, shift_ - 3), sign), fits, most);
    }

    int shift_;
    Integer significand_;
    Word low_, high_;
};

HWY_INLINE Integer within(Integer value, std::int64_t limit) {
    return hn::Min(hn::Max(value, hn::Set(integers, -limit)), hn::Set(integers, limit));
}

std::size_t UpdateLanes(const BasicFactor<64>& decay, const BasicFactor<64>& gradient, std::int64_t threshold,
                        std::int64_t* parameters, const std::int64_t* sums, std::size_t count) {
    if (decay.shift() < 3 || gradient.shift() < 3) return 0;
    const Product decayed(decay), moved(gradient);
    const std::size_t lanes = hn::Lanes(integers), whole = count - count % lanes;
    for (std::size_t p = 0; p < whole; p += lanes) {
        const Integer parameter = hn::LoadU(integers, parameters + p);
        const Integer left = hn::Sub(parameter, decayed.of(parameter));
        const Integer after =
            within(hn::Sub(left, moved.of(hn::LoadU(integers, sums + p))), UpdateLimits<64>::parameter);
        hn::StoreU(hn::Sub(after, within(after, threshold)), integers, parameters + p);
    }
    return whole;
}

#else

std::size_t UpdateLanes(const BasicFactor<64>&, const BasicFactor<64>&, std::int64_t, std::int64_t*,
                        const std::int64_t*, std::size_t) {
    return 0;
}

#endif

}  // namespace holdfast::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast {

HWY_EXPORT(UpdateLanes);

std::size_t update_lanes(const BasicFactor<64>& decay, const BasicFactor<64>& gradient,
                         std::int64_t threshold, std::int64_t* parameters, const std::int64_t* sums,
                         std::size_t count) {
    return HWY_DYNAMIC_DISPATCH(UpdateLanes)(decay, gradient, threshold, parameters, sums, count);
}

}  // namespace holdfast
#endif  // HWY_ONCE
