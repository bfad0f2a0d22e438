// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_FIXED_GRID_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_FIXED_GRID_INL
#undef HOLDFAST_FIXED_GRID_INL
#else
#define HOLDFAST_FIXED_GRID_INL
#endif

#include "kernels/cpu/tile-inl.hpp"
#include "kernels/ops/fixed_grid.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

using IntTag = hn::ScalableTag<std::int32_t>;
using IntVec = hn::Vec<IntTag>;
constexpr std::size_t int_lanes = lanes<float>;

constexpr struct {
    HWY_INLINE IntVec operator()(IntVec value) const { return hn::Max(value, hn::Zero(IntTag())); }
} positive;
constexpr struct {
    HWY_INLINE IntVec operator()(IntVec value) const { return hn::Min(value, hn::Zero(IntTag())); }
} negative;

/// Values on a grid, as integers.
class Grid {
  public:
    explicit HWY_INLINE Grid(FixedGrid grid)
        : scale_(hn::Set(reals<float>, static_cast<float>(std::ldexp(1.0, -grid.exponent)))),
          limit_(hn::Set(reals<float>, static_cast<float>(grid.limit))),
          round_(hn::Set(reals<float>, 0x1.8p23F)) {}

    /// To the nearest, of two equally near to the even one: as the bits of a sum of which one unit is the
    /// last place.
    HWY_INLINE IntVec units(const float* values) const {
        const Vec<float> scaled = hn::Mul(hn::LoadU(reals<float>, values), scale_);
        const Vec<float> inside = hn::Min(hn::Max(scaled, hn::Neg(limit_)), limit_);
        return hn::Sub(hn::BitCast(IntTag(), hn::Add(inside, round_)), hn::BitCast(IntTag(), round_));
    }

  private:
    Vec<float> scale_, limit_, round_;
};

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
