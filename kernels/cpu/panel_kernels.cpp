// The SIMD kernels, compiled once an instruction set (Highway). Forward and backward put records in the
// lanes: a weight is uniform over them, so the end of the activation's box that makes a product least is
// chosen by address, and each bound is one fma chain. The outer product puts parameters in the lanes: there
// delta is uniform.

#include "kernels/cpu/panel_kernels.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cpu/simd_target.hpp"

// Tiles are arrays of vectors, so vectors have a size the compiler knows: on Arm NEON, not SVE.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/panel_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

/// Calls kernel.template operator()<Rows>(first_row, first_record) over all tiles of [rows, height].
template <typename Real, std::size_t Rows, typename Kernel>
HWY_INLINE void for_each_tile(std::size_t rows, Kernel kernel) {
    for (std::size_t record = 0; record < height; record += tile<Real>) {
        std::size_t row = 0;
        for (; row + Rows <= rows; row += Rows) kernel.template run<Rows>(row, record);
        for (; row < rows; ++row) kernel.template run<1>(row, record);
    }
}

template <typename Real>
struct ForwardPoint {
    const LayerView<Real>& layer;
    const Real* z;
    Real* a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const std::size_t in = layer.shape.in, step = in + 1;
        const Real* weights = layer.lower + row * step;
        Sums<Real, Rows> sums;
        for (std::size_t o = 0; o < Rows; ++o) sums.set(o, weights[o * step + in]);
        for (std::size_t j = 0; j < in; ++j) {
            for (std::size_t o = 0; o < Rows; ++o)
                sums.add(o, weights[o * step + j], z + j * height + record);
        }
        for (std::size_t o = 0; o < Rows; ++o) sums.store(o, a + (row + o) * height + record);
    }
};

/// Which signs a feature takes in a panel; adding a product with zero changes nothing, so the others are left
/// out.
enum class Signs : std::uint8_t { nonnegative, nonpositive, mixed };

template <typename Real>
struct ForwardInput {
    const LayerView<Real>& layer;
    const Real* x;
    const Real* x_negative;  // min(x, 0), for features of mixed sign
    const Real* x_positive;  // max(x, 0)
    const Signs* signs;      // [in]
    BasicInterval<Real> a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const std::size_t in = layer.shape.in, step = in + 1;
        const Real* lower = layer.lower + row * step;
        const Real* upper = layer.upper + row * step;
        Sums<Real, Rows> least, greatest;
        for (std::size_t o = 0; o < Rows; ++o) {
            least.set(o, lower[o * step + in]);
            greatest.set(o, upper[o * step + in]);
        }
        for (std::size_t j = 0; j < in; ++j) {
            const std::size_t at = j * height + record;
            if (signs[j] != Signs::nonpositive) {
                const Real* values = signs[j] == Signs::mixed ? x_positive + at : x + at;
                for (std::size_t o = 0; o < Rows; ++o) {
                    least.add(o, lower[o * step + j], values);
                    greatest.add(o, upper[o * step + j], values);
                }
            }
            if (signs[j] != Signs::nonnegative) {
                const Real* values = x_negative + at;
                for (std::size_t o = 0; o < Rows; ++o) {
                    least.add(o, upper[o * step + j], values);
                    greatest.add(o, lower[o * step + j], values);
                }
            }
        }
        for (std::size_t o = 0; o < Rows; ++o) {
            least.store(o, a.lower + (row + o) * height + record);
            greatest.store(o, a.upper + (row + o) * height + record);
        }
    }
};

template <typename Real>
struct ForwardInterval {
    const LayerView<Real>& layer;
    BasicConstInterval<Real> z;
    BasicInterval<Real> a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const std::size_t in = layer.shape.in, step = in + 1;
        const Real* lower = layer.lower + row * step;
        const Real* upper = layer.upper + row * step;
        Sums<Real, Rows> least, greatest;
        for (std::size_t o = 0; o < Rows; ++o) {
            least.set(o, lower[o * step + in]);
            greatest.set(o, upper[o * step + in]);
        }
        for (std::size_t j = 0; j < in; ++j) {
            const Real* z_lower = z.lower + j * height + record;
            const Real* z_upper = z.upper + j * height + record;
            for (std::size_t o = 0; o < Rows; ++o) {
                least.add(o, lower[o * step + j], by_sign(lower[o * step + j], z_lower, z_upper));
                greatest.add(o, upper[o * step + j], by_sign(upper[o * step + j], z_upper, z_lower));
            }
        }
        for (std::size_t o = 0; o < Rows; ++o) {
            least.store(o, a.lower + (row + o) * height + record);
            greatest.store(o, a.upper + (row + o) * height + record);
        }
    }
};

template <typename Real>
struct BackwardPoint {
    const LayerView<Real>& layer;
    const Real* delta;
    const Real* z;
    Real* d;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const std::size_t out = layer.shape.out;
        const Real* weights = layer.lower_transposed + row * out;
        Sums<Real, Rows> sums;
        for (std::size_t j = 0; j < Rows; ++j) sums.set(j, 0.0);
        for (std::size_t o = 0; o < out; ++o) {
            for (std::size_t j = 0; j < Rows; ++j)
                sums.add(j, weights[j * out + o], delta + o * height + record);
        }
        for (std::size_t j = 0; j < Rows; ++j) {
            for (std::size_t v = 0; v < width; ++v) {
                const std::size_t at = (row + j) * height + record + v * lanes<Real>;
                const auto open = hn::Gt(hn::Load(reals<Real>, z + at), hn::Zero(reals<Real>));
                hn::Store(hn::IfThenElseZero(open, saturated_lanes<Real>(sums.at[j][v])), reals<Real>,
                          d + at);
            }
        }
    }
};

/// The least of w delta over a box is at w_lower or w_upper, and there at the end of delta that the sign of w
/// picks.
template <typename Real>
struct BackwardInterval {
    const LayerView<Real>& layer;
    BasicConstInterval<Real> delta;
    BasicConstInterval<Real> z;
    BasicInterval<Real> d;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const std::size_t out = layer.shape.out;
        const Real* lower = layer.lower_transposed + row * out;
        const Real* upper = layer.upper_transposed + row * out;
        Sums<Real, Rows> least, greatest;
        for (std::size_t j = 0; j < Rows; ++j) {
            least.set(j, 0.0);
            greatest.set(j, 0.0);
        }
        for (std::size_t o = 0; o < out; ++o) {
            const Real* delta_lower = delta.lower + o * height + record;
            const Real* delta_upper = delta.upper + o * height + record;
            for (std::size_t j = 0; j < Rows; ++j) {
                const Real w_lower = lower[j * out + o], w_upper = upper[j * out + o];
                const Vec<Real> low = hn::Set(reals<Real>, w_lower), high = hn::Set(reals<Real>, w_upper);
                const Real* low_for_least = by_sign(w_lower, delta_lower, delta_upper);
                const Real* high_for_least = by_sign(w_upper, delta_lower, delta_upper);
                const Real* low_for_greatest = by_sign(w_lower, delta_upper, delta_lower);
                const Real* high_for_greatest = by_sign(w_upper, delta_upper, delta_lower);
                for (std::size_t v = 0; v < width; ++v) {
                    const std::size_t at = v * lanes<Real>;
                    least.at[j][v] =
                        hn::Min(fused(low, hn::Load(reals<Real>, low_for_least + at), least.at[j][v]),
                                fused(high, hn::Load(reals<Real>, high_for_least + at), least.at[j][v]));
                    greatest.at[j][v] = hn::Max(
                        fused(low, hn::Load(reals<Real>, low_for_greatest + at), greatest.at[j][v]),
                        fused(high, hn::Load(reals<Real>, high_for_greatest + at), greatest.at[j][v]));
                }
            }
        }
        for (std::size_t j = 0; j < Rows; ++j) {
            for (std::size_t v = 0; v < width; ++v)
                store_gated(least.at[j][v], greatest.at[j][v], (row + j) * height + record + v * lanes<Real>);
        }
    }

    // The gate is [z_lower > 0, z_upper > 0]: closed gives 0, undecided the hull with 0.
    HWY_INLINE void store_gated(Vec<Real> least, Vec<Real> greatest, std::size_t at) const {
        const Vec<Real> zero = hn::Zero(reals<Real>);
        const auto surely_open = hn::Gt(hn::Load(reals<Real>, z.lower + at), zero);
        const auto maybe_open = hn::Gt(hn::Load(reals<Real>, z.upper + at), zero);
        const Vec<Real> hull_least = hn::IfThenElse(surely_open, least, hn::Min(least, zero));
        const Vec<Real> hull_greatest = hn::IfThenElse(surely_open, greatest, hn::Max(greatest, zero));
        hn::Store(hn::IfThenElseZero(maybe_open, saturated_lanes<Real>(hull_least)), reals<Real>,
                  d.lower + at);
        hn::Store(hn::IfThenElseZero(maybe_open, saturated_lanes<Real>(hull_greatest)), reals<Real>,
                  d.upper + at);
    }
};

template <typename Real>
void ForwardInputKernel(const LayerView<Real>& layer, const Real* x, BasicInterval<Real> a) {
    if (a.is_point()) return for_each_tile<Real, 4>(layer.shape.out, ForwardPoint<Real>{layer, x, a.lower});
    const std::size_t in = layer.shape.in;
    std::vector<Signs> signs(in);
    AlignedVector<Real> negative(in * height), positive(in * height);
    for (std::size_t j = 0; j < in; ++j) {
        bool any_negative = false, any_positive = false;
        for (std::size_t r = 0; r < height; ++r) {
            const Real value = x[j * height + r];
            any_negative |= value < 0;
            any_positive |= value > 0;
            negative[j * height + r] = std::min(value, Real{0});
            positive[j * height + r] = std::max(value, Real{0});
        }
        signs[j] = !any_negative ? Signs::nonnegative : any_positive ? Signs::mixed : Signs::nonpositive;
    }
    for_each_tile<Real, 2>(layer.shape.out,
                           ForwardInput<Real>{layer, x, negative.data(), positive.data(), signs.data(), a});
}

template <typename Real>
void ForwardKernel(const LayerView<Real>& layer, BasicConstInterval<Real> z, BasicInterval<Real> a) {
    if (a.is_point())
        return for_each_tile<Real, 4>(layer.shape.out, ForwardPoint<Real>{layer, z.lower, a.lower});
    for_each_tile<Real, 2>(layer.shape.out, ForwardInterval<Real>{layer, z, a});
}

template <typename Real>
void BackwardKernel(const LayerView<Real>& layer, BasicConstInterval<Real> delta, BasicConstInterval<Real> z,
                    BasicInterval<Real> d) {
    if (d.is_point())
        return for_each_tile<Real, 4>(layer.shape.in,
                                      BackwardPoint<Real>{layer, delta.lower, z.lower, d.lower});
    for_each_tile<Real, 2>(layer.shape.in, BackwardInterval<Real>{layer, delta, z, d});
}

template <typename Real>
void ReluKernel(std::size_t rows, BasicInterval<Real> a) {
    const auto clamp = [&](Real* values) {
        const Vec<Real> limit = hn::Set(reals<Real>, RealFormat<Real>::saturation);
        for (std::size_t i = 0; i < rows * height; i += lanes<Real>) {
            const Vec<Real> positive = hn::Max(hn::Load(reals<Real>, values + i), hn::Zero(reals<Real>));
            hn::Store(hn::Min(positive, limit), reals<Real>, values + i);
        }
    };
    clamp(a.lower);
    if (!a.is_point()) clamp(a.upper);
}

/// What the outer product may take for granted of the activations: a box of z >= 0, a point >= 0 (features),
/// a point of any sign.
enum class Activations : std::uint8_t { box, nonnegative_point, mixed_point };

/// What the outer product needs of one layer: delta by records [height, out], activations [height, stride] >=
/// 0 or a point, with the factors of a factored clip already clamped and made odd.
template <typename Real>
struct Outer {
    explicit Outer(const BasicGradientGrid<Real>& gradient_grid) : grid(gradient_grid) {}

    BasicGradientGrid<Real> grid;
    std::size_t out = 0, columns = 0, stride = 0;  // columns: in + 1
    AlignedVector<Real> delta_lower, delta_upper;
    AlignedVector<Real> z_lower_copy, z_upper_copy;  // only for a factored clip
    const Real* z_lower = nullptr;
    const Real* z_upper = nullptr;
    bool point = false;  // one bound only
    Activations activations = Activations::box;
    Real limit = 0;  // elementwise: Gamma, a multiple of the unit of the grid
};

template <typename Real>
Real odd_clamped(Real value, Real limit) {
    return make_odd(std::min(std::max(value, -limit), limit));
}

/// Of `count` values, a multiple of the lanes.
template <typename Real>
bool any_negative(const Real* values, std::size_t count) {
    Vec<Real> least = hn::Zero(reals<Real>);
    for (std::size_t i = 0; i < count; i += lanes<Real>)
        least = hn::Min(least, hn::LoadU(reals<Real>, values + i));
    return !hn::AllFalse(reals<Real>, hn::Lt(least, hn::Zero(reals<Real>)));
}

template <typename Real>
Outer<Real> prepare(LayerShape shape, const Clip& clip, BasicConstInterval<Real> delta,
                    BasicConstInterval<Real> z_rows, std::size_t stride) {
    Outer<Real> outer(clip.grid<Real>());
    outer.out = shape.out;
    outer.columns = shape.in + 1;
    outer.stride = stride;
    outer.point = delta.is_point() && z_rows.is_point();
    outer.limit = static_cast<Real>(clip.weight_units<Real>()) * outer.grid.unit();
    const Real delta_limit = rounded_down<Real>(clip.delta_limit),
               activation_limit = rounded_down<Real>(clip.activation_limit);
    const bool factored = clip.kind == Clip::Kind::factored;
    const auto by_records = [&](const Real* panel) {
        constexpr std::size_t block = 8;  // a cache line of records at a time
        AlignedVector<Real> rows(height * shape.out);
        for (std::size_t first = 0; first < height; first += block) {
            for (std::size_t o = 0; o < shape.out; ++o) {
                for (std::size_t r = first; r < first + block; ++r) {
                    const Real value = panel[o * height + r];
                    rows[r * shape.out + o] = factored ? odd_clamped(value, delta_limit) : value;
                }
            }
        }
        return rows;
    };
    outer.delta_lower = by_records(delta.lower);
    if (!outer.point) outer.delta_upper = by_records(delta.upper);
    const auto clamped = [&](const Real* rows) {
        AlignedVector<Real> copy(rows, rows + height * stride);
        for (std::size_t r = 0; r < height; ++r) {
            for (std::size_t j = 0; j < shape.in; ++j)
                copy[r * stride + j] = odd_clamped(copy[r * stride + j], activation_limit);
        }
        return copy;
    };
    outer.z_lower = z_rows.lower;
    outer.z_upper = z_rows.upper;
    if (factored) {
        outer.z_lower_copy = clamped(z_rows.lower);
        outer.z_lower = outer.z_upper = outer.z_lower_copy.data();
        if (!z_rows.is_point()) {
            outer.z_upper_copy = clamped(z_rows.upper);
            outer.z_upper = outer.z_upper_copy.data();
        }
    }
    if (z_rows.is_point() && !outer.point) {
        outer.activations = any_negative(z_rows.lower, height * stride) ? Activations::mixed_point
                                                                        : Activations::nonnegative_point;
    }
    return outer;
}

/// Entries as biased Reals: the fma rounds the exact product once, to the grid, and the clamp is between
/// points of the grid. Their bits are added as integers. Of a point of any sign, delta's end is not known
/// beforehand: *_of_ends take both.
template <typename Real>
struct Elementwise {
    using Sum = IntegerVec<Real>;
    Vec<Real> bias, lowest, highest;

    explicit HWY_INLINE Elementwise(const Outer<Real>& outer)
        : bias(hn::Set(reals<Real>, outer.grid.bias())),
          lowest(hn::Set(reals<Real>, outer.grid.bias() - outer.limit)),
          highest(hn::Set(reals<Real>, outer.grid.bias() + outer.limit)) {}

    HWY_INLINE Vec<Real> clipped(Vec<Real> biased) const { return hn::Min(hn::Max(biased, lowest), highest); }
    HWY_INLINE Vec<Real> entry(Vec<Real> delta, Vec<Real> z) const { return clipped(fused(delta, z, bias)); }
    HWY_INLINE Vec<Real> least_of_ends(Vec<Real> delta_lower, Vec<Real> delta_upper, Vec<Real> z) const {
        return clipped(hn::Min(fused(delta_lower, z, bias), fused(delta_upper, z, bias)));
    }
    HWY_INLINE Vec<Real> greatest_of_ends(Vec<Real> delta_lower, Vec<Real> delta_upper, Vec<Real> z) const {
        return clipped(hn::Max(fused(delta_lower, z, bias), fused(delta_upper, z, bias)));
    }

    HWY_INLINE Sum zero() const { return hn::Zero(integers<Real>); }
    HWY_INLINE Sum add_entry(Sum sum, Vec<Real> entry) const {
        return hn::Add(sum, hn::BitCast(integers<Real>, entry));
    }
    HWY_INLINE Sum add(Sum sum, Vec<Real> delta, Vec<Real> z) const {
        return add_entry(sum, entry(delta, z));
    }
    HWY_INLINE Sum add_least_of_ends(Sum sum, Vec<Real> delta_lower, Vec<Real> delta_upper,
                                     Vec<Real> z) const {
        return add_entry(sum, least_of_ends(delta_lower, delta_upper, z));
    }
    HWY_INLINE Sum add_greatest_of_ends(Sum sum, Vec<Real> delta_lower, Vec<Real> delta_upper,
                                        Vec<Real> z) const {
        return add_entry(sum, greatest_of_ends(delta_lower, delta_upper, z));
    }
    HWY_INLINE Sum units(Sum sum, std::size_t records) const {
        using Integer = typename RealFormat<Real>::Integer;
        using Bits = std::make_unsigned_t<Integer>;
        const Bits bits = std::bit_cast<Bits>(hn::GetLane(bias)) *
                          static_cast<Bits>(records);  // modulo 2^64 (float: 2^32), as the sum
        return hn::Sub(sum, hn::Set(integers<Real>, static_cast<Integer>(bits)));
    }
};

/// Factors are clamped and odd: an fma onto the biased sum rounds the exact product to the grid.
template <typename Real>
struct Factored {
    using Sum = Vec<Real>;
    Vec<Real> bias;

    explicit HWY_INLINE Factored(const Outer<Real>& outer) : bias(hn::Set(reals<Real>, outer.grid.bias())) {}
    HWY_INLINE Sum zero() const { return bias; }
    HWY_INLINE Sum add(Sum sum, Vec<Real> delta, Vec<Real> z) const { return fused(delta, z, sum); }
    HWY_INLINE Sum add_least_of_ends(Sum sum, Vec<Real> delta_lower, Vec<Real> delta_upper,
                                     Vec<Real> z) const {
        return hn::Min(fused(delta_lower, z, sum), fused(delta_upper, z, sum));
    }
    HWY_INLINE Sum add_greatest_of_ends(Sum sum, Vec<Real> delta_lower, Vec<Real> delta_upper,
                                        Vec<Real> z) const {
        return hn::Max(fused(delta_lower, z, sum), fused(delta_upper, z, sum));
    }
    HWY_INLINE IntegerVec<Real> units(Sum sum, std::size_t) const {
        return hn::Sub(hn::BitCast(integers<Real>, sum), hn::BitCast(integers<Real>, bias));
    }
};

/// Where the activations lie that make delta z least and greatest, for one record and output.
template <typename Real, Activations Kind>
struct Ends {
    const Real *least, *greatest;

    HWY_INLINE Ends(Real delta_lower, Real delta_upper, const Real* z_lower, const Real* z_upper)
        : least(z_lower), greatest(z_lower) {
        if constexpr (Kind == Activations::box) {
            least = by_sign(delta_lower, z_lower, z_upper);
            greatest = by_sign(delta_upper, z_upper, z_lower);
        }
    }
};

/// Adds to neighbouring columns of the int64 sums; the last columns of a row may be fewer than a vector.
template <typename Real>
HWY_INLINE void flush(IntegerVec<Real> units, std::int64_t* sums, std::size_t count) {
    alignas(64) typename RealFormat<Real>::Integer buffer[lanes<Real>];
    hn::Store(units, integers<Real>, buffer);
    if (count >= lanes<Real>) {
        for (std::size_t i = 0; i < lanes<Real>; ++i) sums[i] += buffer[i];
    } else {
        for (std::size_t i = 0; i < count; ++i) sums[i] += buffer[i];
    }
}

/// A tile of Rows outputs by Columns vectors of activations, kept in registers over all records of the panel.
template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
HWY_INLINE void accumulate_point_tile(const Outer<Real>& outer, const Rule& rule, std::size_t row,
                                      std::size_t column, std::int64_t* sums) {
    typename Rule::Sum sum[Rows][Columns];
    for (auto& line : sum) {
        for (auto& entry : line) entry = rule.zero();
    }
    for (std::size_t r = 0; r < height; ++r) {
        const Real* z = outer.z_lower + r * outer.stride + column;
        const Real* delta = outer.delta_lower.data() + r * outer.out + row;
        for (std::size_t o = 0; o < Rows; ++o) {
            const Vec<Real> factor = hn::Set(reals<Real>, delta[o]);
            for (std::size_t c = 0; c < Columns; ++c)
                sum[o][c] = rule.add(sum[o][c], factor, hn::LoadU(reals<Real>, z + c * lanes<Real>));
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        for (std::size_t c = 0; c < Columns; ++c) {
            const std::size_t first = column + c * lanes<Real>;
            if (first < outer.columns)
                flush<Real>(rule.units(sum[o][c], height), sums + (row + o) * outer.columns + first,
                            outer.columns - first);
        }
    }
}

template <typename Rule, typename Real, Activations Kind, std::size_t Rows, std::size_t Columns>
HWY_INLINE void accumulate_interval_tile(const Outer<Real>& outer, const Rule& rule, std::size_t row,
                                         std::size_t column, std::int64_t* sum_lower,
                                         std::int64_t* sum_upper) {
    typename Rule::Sum least[Rows][Columns], greatest[Rows][Columns];
    for (std::size_t o = 0; o < Rows; ++o) {
        for (std::size_t c = 0; c < Columns; ++c) least[o][c] = greatest[o][c] = rule.zero();
    }
    for (std::size_t r = 0; r < height; ++r) {
        const Real* z_lower = outer.z_lower + r * outer.stride + column;
        const Real* z_upper = outer.z_upper + r * outer.stride + column;
        for (std::size_t o = 0; o < Rows; ++o) {
            const Real low = outer.delta_lower[r * outer.out + row + o],
                       high = outer.delta_upper[r * outer.out + row + o];
            const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
            const Ends<Real, Kind> z(low, high, z_lower, z_upper);
            for (std::size_t c = 0; c < Columns; ++c) {
                const Vec<Real> z_least = hn::LoadU(reals<Real>, z.least + c * lanes<Real>);
                const Vec<Real> z_greatest = hn::LoadU(reals<Real>, z.greatest + c * lanes<Real>);
                if constexpr (Kind == Activations::mixed_point) {
                    least[o][c] = rule.add_least_of_ends(least[o][c], lower, upper, z_least);
                    greatest[o][c] = rule.add_greatest_of_ends(greatest[o][c], lower, upper, z_least);
                } else {
                    least[o][c] = rule.add(least[o][c], lower, z_least);
                    greatest[o][c] = rule.add(greatest[o][c], upper, z_greatest);
                }
            }
        }
    }
    for (std::size_t o = 0; o < Rows; ++o) {
        for (std::size_t c = 0; c < Columns; ++c) {
            const std::size_t first = column + c * lanes<Real>;
            if (first >= outer.columns) continue;
            const std::size_t at = (row + o) * outer.columns + first;
            flush<Real>(rule.units(least[o][c], height), sum_lower + at, outer.columns - first);
            flush<Real>(rule.units(greatest[o][c], height), sum_upper + at, outer.columns - first);
        }
    }
}

template <typename Rule, typename Real, std::size_t Rows, std::size_t Columns>
HWY_INLINE void accumulate_tile(const Outer<Real>& outer, const Rule& rule, std::size_t row,
                                std::size_t column, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    if (outer.point)
        return accumulate_point_tile<Rule, Real, Rows, Columns>(outer, rule, row, column, sum_lower);
    switch (outer.activations) {
        case Activations::box:
            return accumulate_interval_tile<Rule, Real, Activations::box, Rows, Columns>(
                outer, rule, row, column, sum_lower, sum_upper);
        case Activations::nonnegative_point:
            return accumulate_interval_tile<Rule, Real, Activations::nonnegative_point, Rows, Columns>(
                outer, rule, row, column, sum_lower, sum_upper);
        case Activations::mixed_point:
            return accumulate_interval_tile<Rule, Real, Activations::mixed_point, Rows, Columns>(
                outer, rule, row, column, sum_lower, sum_upper);
    }
}

template <typename Rule, typename Real>
void accumulate_with(const Outer<Real>& outer, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    constexpr std::size_t rows = width;
    const Rule rule(outer);
    std::size_t column = 0;
    const auto sweep = [&]<std::size_t Columns>() {
        std::size_t row = 0;
        for (; row + rows <= outer.out; row += rows)
            accumulate_tile<Rule, Real, rows, Columns>(outer, rule, row, column, sum_lower, sum_upper);
        for (; row < outer.out; ++row)
            accumulate_tile<Rule, Real, 1, Columns>(outer, rule, row, column, sum_lower, sum_upper);
        column += Columns * lanes<Real>;
    };
    while (column + 2 * lanes<Real> <= outer.stride && column + lanes<Real> < outer.columns)
        sweep.template operator()<2>();
    while (column < outer.columns) sweep.template operator()<1>();
}

template <typename Real>
void AccumulateKernel(LayerShape shape, const Clip& clip, BasicConstInterval<Real> delta,
                      BasicConstInterval<Real> z_rows, std::size_t stride, std::int64_t* sum_lower,
                      std::int64_t* sum_upper) {
    const Outer<Real> outer = prepare<Real>(shape, clip, delta, z_rows, stride);
    if (clip.kind == Clip::Kind::factored)
        return accumulate_with<Factored<Real>>(outer, sum_lower, sum_upper);
    accumulate_with<Elementwise<Real>>(outer, sum_lower, sum_upper);
}

/// Biased entries that records offer to one side of a selection, for `lanes` neighbouring parameters;
/// compared with biased thresholds, which are Reals as exact as they.
template <typename Real, bool Negated>
class Offers {
  public:
    Offers(Selection& selection, std::size_t first_entry, std::size_t columns,
           const BasicGradientGrid<Real>& grid)
        : selection_(selection), entry_(first_entry), grid_(grid) {
        for (std::size_t lane = 0; lane < lanes<Real>; ++lane)
            thresholds_[lane] = lane < columns ? threshold(entry_ + lane) : Negated ? infinity : -infinity;
    }
    HWY_INLINE hn::Mask<Tag<Real>> wanted(Vec<Real> entries) const {
        const Vec<Real> thresholds = hn::Load(reals<Real>, thresholds_);
        return Negated ? hn::Lt(thresholds, entries) : hn::Lt(entries, thresholds);
    }
    HWY_INLINE void insert(std::size_t lane, Real entry) {
        const std::int64_t units = grid_.units_of_biased(entry);
        if (selection_.insert(entry_ + lane, Negated ? -units : units))
            thresholds_[lane] = threshold(entry_ + lane);
    }

  private:
    Real threshold(std::size_t entry) const {
        const std::int64_t units = selection_.threshold(entry);
        if (units == INT64_MAX) return Negated ? -infinity : infinity;
        if (units == INT64_MIN) return Negated ? infinity : -infinity;
        return grid_.bias() + static_cast<Real>(Negated ? -units : units) * grid_.unit();
    }

    static constexpr Real infinity = std::numeric_limits<Real>::infinity();

    Selection& selection_;
    std::size_t entry_;
    const BasicGradientGrid<Real>& grid_;
    alignas(64) Real thresholds_[lanes<Real>];
};

// Records are looked at in groups, with one branch a group: few have an entry below its threshold.
constexpr std::size_t group = 4;
static_assert(height % group == 0);

/// The bounds of a group's entries.
template <typename Real>
struct Group {
    Vec<Real> greatest[group], least[group];

    HWY_INLINE Group() {}

    /// If any is wanted: no upper bound is, if not the least, no lower bound, if not the greatest.
    HWY_INLINE bool any_wanted(const Offers<Real, false>& above, const Offers<Real, true>& below) const {
        Vec<Real> least_upper = greatest[0], greatest_lower = least[0];
        for (std::size_t i = 1; i < group; ++i) {
            least_upper = hn::Min(least_upper, greatest[i]);
            greatest_lower = hn::Max(greatest_lower, least[i]);
        }
        return !hn::AllFalse(reals<Real>, hn::Or(above.wanted(least_upper), below.wanted(greatest_lower)));
    }
    /// Offers those of the first `count` records.
    HWY_NOINLINE void insert(std::size_t count, Offers<Real, false>& above, Offers<Real, true>& below) const {
        for (std::size_t i = 0; i < std::min(group, count); ++i) {
            insert_side(greatest[i], above);
            insert_side(least[i], below);
        }
    }
    template <bool Negated>
    HWY_INLINE static void insert_side(Vec<Real> entries, Offers<Real, Negated>& offers) {
        const auto wanted = offers.wanted(entries);
        if (hn::AllFalse(reals<Real>, wanted)) return;
        alignas(64) Real values[lanes<Real>];
        std::uint8_t bits[8] = {};
        hn::Store(entries, reals<Real>, values);
        hn::StoreMaskBits(reals<Real>, wanted, bits);
        static_assert(lanes<Real> <= 16);
        for (unsigned left = bits[0] | unsigned{bits[1]} << 8; left != 0; left &= left - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(left));
            offers.insert(lane, values[lane]);
        }
    }
};

/// All records at one row and `lanes` columns; upper bounds go to `above`, lower bounds negated to `below`.
template <typename Real, Activations Kind>
void select_entries(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t row,
                    std::size_t column, std::size_t count, Offers<Real, false>& above,
                    Offers<Real, true>& below, std::int64_t* sum_lower, std::int64_t* sum_upper) {
    auto least = rule.zero(), greatest = rule.zero();
    for (std::size_t first = 0; first < count; first += group) {
        Group<Real> entries;
        for (std::size_t i = 0; i < group; ++i) {
            const std::size_t r = first + i;
            const Real low = outer.delta_lower[r * outer.out + row],
                       high = outer.delta_upper[r * outer.out + row];
            const Vec<Real> lower = hn::Set(reals<Real>, low), upper = hn::Set(reals<Real>, high);
            const Ends<Real, Kind> z(low, high, outer.z_lower + r * outer.stride + column,
                                     outer.z_upper + r * outer.stride + column);
            const Vec<Real> z_least = hn::LoadU(reals<Real>, z.least),
                            z_greatest = hn::LoadU(reals<Real>, z.greatest);
            if constexpr (Kind == Activations::mixed_point) {
                entries.least[i] = rule.least_of_ends(lower, upper, z_least);
                entries.greatest[i] = rule.greatest_of_ends(lower, upper, z_least);
            } else {
                entries.least[i] = rule.entry(lower, z_least);
                entries.greatest[i] = rule.entry(upper, z_greatest);
            }
            least = rule.add_entry(least, entries.least[i]);
            greatest = rule.add_entry(greatest, entries.greatest[i]);
        }
        if (entries.any_wanted(above, below)) entries.insert(count - first, above, below);
    }
    const std::size_t records = (count + group - 1) / group * group, columns = outer.columns - column;
    flush<Real>(rule.units(least, records), sum_lower, columns);
    flush<Real>(rule.units(greatest, records), sum_upper, columns);
}

/// All rows at `lanes` columns.
template <typename Real>
void select_strip(const Outer<Real>& outer, const Elementwise<Real>& rule, std::size_t column,
                  std::size_t count, std::int64_t* sum_lower, std::int64_t* sum_upper,
                  std::size_t first_entry, Selection& least_upper, Selection& least_negated_lower) {
    const std::size_t columns = std::min(lanes<Real>, outer.columns - column);
    const auto select = outer.activations == Activations::box ? &select_entries<Real, Activations::box>
                        : outer.activations == Activations::nonnegative_point
                            ? &select_entries<Real, Activations::nonnegative_point>
                            : &select_entries<Real, Activations::mixed_point>;
    for (std::size_t row = 0; row < outer.out; ++row) {
        const std::size_t index = row * outer.columns + column;
        Offers<Real, false> above(least_upper, first_entry + index, columns, outer.grid);
        Offers<Real, true> below(least_negated_lower, first_entry + index, columns, outer.grid);
        select(outer, rule, row, column, count, above, below, sum_lower + index, sum_upper + index);
    }
}

template <typename Real>
void AccumulateAndSelectKernel(LayerShape shape, const Clip& clip, BasicConstInterval<Real> delta,
                               BasicConstInterval<Real> z_rows, std::size_t stride, std::size_t count,
                               std::int64_t* sum_lower, std::int64_t* sum_upper, std::size_t first_entry,
                               Selection& least_upper, Selection& least_negated_lower) {
    const Outer<Real> outer = prepare<Real>(shape, clip, delta, z_rows, stride);
    ensure(clip.kind == Clip::Kind::elementwise && !outer.point, "selection is over elementwise bounds");
    const Elementwise<Real> rule(outer);
    least_upper.for_each_stripe((outer.columns + lanes<Real> - 1) / lanes<Real>, [&](std::size_t strip) {
        select_strip(outer, rule, strip * lanes<Real>, count, sum_lower, sum_upper, first_entry, least_upper,
                     least_negated_lower);
    });
}

template <typename Real>
constexpr Kernels<Real> table{&ForwardInputKernel<Real>, &ForwardKernel<Real>,
                              &ReluKernel<Real>,         &BackwardKernel<Real>,
                              &AccumulateKernel<Real>,   &AccumulateAndSelectKernel<Real>};

const Kernels<double>& KernelsInDouble() {
    return table<double>;
}
const Kernels<float>& KernelsInSingle() {
    return table<float>;
}

std::string TargetName() {
    return hwy::TargetName(HWY_TARGET);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast {
namespace cpu {

HWY_EXPORT(KernelsInDouble);
HWY_EXPORT(KernelsInSingle);
HWY_EXPORT(TargetName);

namespace {
std::string target_name() {
    return HWY_DYNAMIC_DISPATCH(TargetName)();
}
}  // namespace

template <>
const Kernels<double>& kernels<double>() {
    return HWY_DYNAMIC_DISPATCH(KernelsInDouble)();
}
template <>
const Kernels<float>& kernels<float>() {
    return HWY_DYNAMIC_DISPATCH(KernelsInSingle)();
}

}  // namespace cpu

std::string simd_target() {
    return cpu::target_name();
}

std::vector<std::string> simd_targets() {
    std::vector<std::string> names;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
        names.emplace_back(hwy::TargetName(target));
    return names;
}

namespace {
// Highway chooses the target at the next call after its choice was undone.
void restrict_targets(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
}
}  // namespace

SimdTargetOverride::SimdTargetOverride(const std::string& target) {
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    const auto named = std::find_if(targets.begin(), targets.end(), [&](std::int64_t candidate) {
        return hwy::TargetName(candidate) == target;
    });
    if (named == targets.end())
        throw Error(ExitCode::usage, "no instruction set \"" + target + "\" here", "see `holdfast doctor`");
    restrict_targets(*named);
}
SimdTargetOverride::~SimdTargetOverride() {
    restrict_targets(0);
}

}  // namespace holdfast
#endif  // HWY_ONCE
