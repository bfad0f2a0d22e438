// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_TILE_INL
#undef HOLDFAST_TILE_INL
#else
#define HOLDFAST_TILE_INL
#endif

#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Sums of one tile of `Rows` outputs by `width` vectors of records.
template <typename Real, std::size_t Rows>
struct Sums {
    Vec<Real> at[Rows][width];

    HWY_INLINE Sums() {}  // an implicit one would not be compiled for the instruction set
    HWY_INLINE void set(std::size_t row, Real value) {
        for (std::size_t v = 0; v < width; ++v) at[row][v] = hn::Set(reals<Real>, value);
    }
    HWY_INLINE void add(std::size_t row, Real factor, const Real* values) {
        const Vec<Real> broadcast = hn::Set(reals<Real>, factor);
        for (std::size_t v = 0; v < width; ++v)
            at[row][v] = fused(broadcast, hn::Load(reals<Real>, values + v * lanes<Real>), at[row][v]);
    }
    HWY_INLINE void store(std::size_t row, Real* out) const {
        for (std::size_t v = 0; v < width; ++v) hn::Store(at[row][v], reals<Real>, out + v * lanes<Real>);
    }
};

/// Sums of both bounds of a tile. Row i begins at lower[i * step] and upper[i * step], and is stored i *
/// stride behind the first.
template <typename Real, std::size_t Rows>
struct BoundSums {
    Sums<Real, Rows> least, greatest;

    HWY_INLINE BoundSums(const Real* lower, const Real* upper, std::size_t step) {
        for (std::size_t i = 0; i < Rows; ++i) {
            least.set(i, lower[i * step]);
            greatest.set(i, upper[i * step]);
        }
    }
    HWY_INLINE void store(BasicInterval<Real> a, std::size_t at, std::size_t stride) const {
        for (std::size_t i = 0; i < Rows; ++i) {
            least.store(i, a.lower + at + i * stride);
            greatest.store(i, a.upper + at + i * stride);
        }
    }
};

/// Calls kernel.template operator()<Rows>(first_row, first_record) over all tiles of [rows, height].
template <typename Real, std::size_t Rows, typename Kernel>
HWY_INLINE void for_each_tile(std::size_t rows, Kernel kernel) {
    for (std::size_t record = 0; record < height; record += tile<Real>) {
        std::size_t row = 0;
        for (; row + Rows <= rows; row += Rows) kernel.template run<Rows>(row, record);
        for (; row < rows; ++row) kernel.template run<1>(row, record);
    }
}

/// Stores bounds behind the gate [z_lower > 0, z_upper > 0]: closed gives 0, undecided the hull with 0.
template <typename Real>
HWY_INLINE void store_gated(Vec<Real> least, Vec<Real> greatest, BasicConstInterval<Real> z,
                            BasicInterval<Real> d, std::size_t at) {
    const Vec<Real> zero = hn::Zero(reals<Real>);
    const auto surely_open = hn::Gt(hn::Load(reals<Real>, z.lower + at), zero);
    const auto maybe_open = hn::Gt(hn::Load(reals<Real>, z.upper + at), zero);
    const Vec<Real> hull_least = hn::IfThenElse(surely_open, least, hn::Min(least, zero));
    const Vec<Real> hull_greatest = hn::IfThenElse(surely_open, greatest, hn::Max(greatest, zero));
    hn::Store(hn::IfThenElseZero(maybe_open, saturated_lanes<Real>(hull_least)), reals<Real>, d.lower + at);
    hn::Store(hn::IfThenElseZero(maybe_open, saturated_lanes<Real>(hull_greatest)), reals<Real>,
              d.upper + at);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
