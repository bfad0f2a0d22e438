// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_SIMD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_SIMD_INL
#undef HOLDFAST_SIMD_INL
#else
#define HOLDFAST_SIMD_INL
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/ops/panel_operations.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename Real>
using Tag = hn::ScalableTag<Real>;
template <typename Real>
using Vec = hn::Vec<Tag<Real>>;
template <typename Real>
constexpr Tag<Real> reals{};
template <typename Real>
constexpr hn::RebindToSigned<Tag<Real>> integers{};
template <typename Real>
using IntegerVec = hn::Vec<hn::RebindToSigned<Tag<Real>>>;
template <typename Real>
constexpr std::size_t lanes = HWY_LANES(Real);

constexpr std::size_t height = panel_height;
// Vectors of records a tile holds: as many as the registers of the instruction set allow.
constexpr std::size_t width = HWY_LANES(double) >= 8 ? 4 : 2;
template <typename Real>
constexpr std::size_t tile = lanes<Real>* width;
static_assert(height % tile<float> == 0 && height % tile<double> == 0);

// fma is part of the definition of every result, so it is emulated where the instruction set has none.
#if HWY_NATIVE_FMA
template <typename V>
HWY_INLINE V fused(V a, V b, V c) {
    return hn::MulAdd(a, b, c);
}
#else
template <typename V>
HWY_INLINE V fused(V a, V b, V c) {
    using Real = hn::TFromV<V>;
    alignas(64) Real x[lanes<Real>], y[lanes<Real>], z[lanes<Real>];
    hn::Store(a, reals<Real>, x);
    hn::Store(b, reals<Real>, y);
    hn::Store(c, reals<Real>, z);
    for (std::size_t i = 0; i < lanes<Real>; ++i) z[i] = std::fma(x[i], y[i], z[i]);
    return hn::Load(reals<Real>, z);
}
#endif

/// saturated() of every lane.
template <typename Real>
HWY_INLINE Vec<Real> saturated_lanes(Vec<Real> values) {
    constexpr Real limit = RealFormat<Real>::saturation;
    return hn::Min(hn::Max(values, hn::Set(reals<Real>, -limit)), hn::Set(reals<Real>, limit));
}

/// As many values as a vector of doubles holds, as doubles; and back.
using HalfTag = hn::Rebind<float, Tag<double>>;
HWY_INLINE Vec<double> promoted(Vec<double> values) {
    return values;
}
HWY_INLINE Vec<double> promoted(hn::Vec<HalfTag> values) {
    return hn::PromoteTo(reals<double>, values);
}
HWY_INLINE Vec<double> load_wide(const double* values) {
    return hn::LoadU(reals<double>, values);
}
HWY_INLINE Vec<double> load_wide(const float* values) {
    return promoted(hn::LoadU(HalfTag(), values));
}
HWY_INLINE void store_narrow(Vec<double> value, double* to) {
    hn::StoreU(value, reals<double>, to);
}
HWY_INLINE void store_narrow(Vec<double> value, float* to) {
    hn::StoreU(hn::DemoteTo(HalfTag(), value), HalfTag(), to);
}

/// `when_positive` if the value's sign bit is clear, else `when_negative`, without a branch.
template <typename Real>
HWY_INLINE const Real* by_sign(Real value, const Real* when_positive, const Real* when_negative) {
    using Integer = typename RealFormat<Real>::Integer;
    const auto sign = std::bit_cast<Integer>(value) >> std::numeric_limits<Integer>::digits;  // 0 or -1
    const auto mask = static_cast<std::uintptr_t>(std::intptr_t{sign});
    const auto positive = reinterpret_cast<std::uintptr_t>(when_positive);
    return reinterpret_cast<const Real*>(
        positive ^ ((positive ^ reinterpret_cast<std::uintptr_t>(when_negative)) & mask));
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
