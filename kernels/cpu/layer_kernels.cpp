// Forward and backward, compiled once an instruction set (Highway), with records in the lanes: a weight is
// uniform over them, so the end of the activation's box that makes a product least is chosen by address, and
// each bound is one fma chain.

#include "kernels/cpu/panel_kernels.hpp"

#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/layer_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

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
        BoundSums<Real, Rows> sums(lower + in, upper + in, step);
        for (std::size_t j = 0; j < in; ++j) {
            const std::size_t at = j * height + record;
            if (signs[j] != Signs::nonpositive) {
                const Real* values = signs[j] == Signs::mixed ? x_positive + at : x + at;
                for (std::size_t o = 0; o < Rows; ++o) {
                    sums.least.add(o, lower[o * step + j], values);
                    sums.greatest.add(o, upper[o * step + j], values);
                }
            }
            if (signs[j] != Signs::nonnegative) {
                const Real* values = x_negative + at;
                for (std::size_t o = 0; o < Rows; ++o) {
                    sums.least.add(o, upper[o * step + j], values);
                    sums.greatest.add(o, lower[o * step + j], values);
                }
            }
        }
        sums.store(a, row * height + record, height);
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
        BoundSums<Real, Rows> sums(lower + in, upper + in, step);
        for (std::size_t j = 0; j < in; ++j) {
            const Real* z_lower = z.lower + j * height + record;
            const Real* z_upper = z.upper + j * height + record;
            for (std::size_t o = 0; o < Rows; ++o) {
                sums.least.add(o, lower[o * step + j], by_sign(lower[o * step + j], z_lower, z_upper));
                sums.greatest.add(o, upper[o * step + j], by_sign(upper[o * step + j], z_upper, z_lower));
            }
        }
        sums.store(a, row * height + record, height);
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

/// Adds the least and the greatest of w times `values`, an interval for each record, w of any sign in
/// [w_lower, w_upper]: at either end of w, its sign picks the end of the values.
template <typename Real, std::size_t Rows>
HWY_INLINE void add_box(Real w_lower, Real w_upper, const Real* lower, const Real* upper, std::size_t row,
                        Sums<Real, Rows>& least, Sums<Real, Rows>& greatest) {
    const Vec<Real> low = hn::Set(reals<Real>, w_lower), high = hn::Set(reals<Real>, w_upper);
    const Real* low_for_least = by_sign(w_lower, lower, upper);
    const Real* high_for_least = by_sign(w_upper, lower, upper);
    const Real* low_for_greatest = by_sign(w_lower, upper, lower);
    const Real* high_for_greatest = by_sign(w_upper, upper, lower);
    for (std::size_t v = 0; v < width; ++v) {
        const std::size_t at = v * lanes<Real>;
        Vec<Real>& less = least.at[row][v];
        Vec<Real>& more = greatest.at[row][v];
        less = hn::Min(fused(low, hn::Load(reals<Real>, low_for_least + at), less),
                       fused(high, hn::Load(reals<Real>, high_for_least + at), less));
        more = hn::Max(fused(low, hn::Load(reals<Real>, low_for_greatest + at), more),
                       fused(high, hn::Load(reals<Real>, high_for_greatest + at), more));
    }
}

template <typename Real>
struct ForwardBox {
    const LayerView<Real>& layer;
    BasicConstInterval<Real> x;
    BasicInterval<Real> a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const std::size_t in = layer.shape.in, step = in + 1;
        const Real* lower = layer.lower + row * step;
        const Real* upper = layer.upper + row * step;
        BoundSums<Real, Rows> sums(lower + in, upper + in, step);
        for (std::size_t j = 0; j < in; ++j) {
            const std::size_t at = j * height + record;
            for (std::size_t o = 0; o < Rows; ++o)
                add_box<Real, Rows>(lower[o * step + j], upper[o * step + j], x.lower + at, x.upper + at, o,
                                    sums.least, sums.greatest);
        }
        sums.store(a, row * height + record, height);
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
                add_box<Real, Rows>(lower[j * out + o], upper[j * out + o], delta_lower, delta_upper, j,
                                    least, greatest);
            }
        }
        for (std::size_t j = 0; j < Rows; ++j) {
            for (std::size_t v = 0; v < width; ++v)
                store_gated<Real>(least.at[j][v], greatest.at[j][v], z, d,
                                  (row + j) * height + record + v * lanes<Real>);
        }
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
void ForwardBoxKernel(const LayerView<Real>& layer, BasicConstInterval<Real> x, BasicInterval<Real> a) {
    for_each_tile<Real, 2>(layer.shape.out, ForwardBox<Real>{layer, x, a});
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

template <typename Real>
std::int64_t UndecidedKernel(std::size_t rows, std::size_t count, BasicConstInterval<Real> z) {
    const Vec<Real> zero = hn::Zero(reals<Real>);
    std::int64_t found = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t r = 0; r < count; r += lanes<Real>) {
            const std::size_t at = row * height + r;
            const auto shut = hn::Le(hn::Load(reals<Real>, z.lower + at), zero);
            const auto open = hn::Gt(hn::Load(reals<Real>, z.upper + at), zero);
            const auto asked = hn::FirstN(reals<Real>, count - r);  // a panel's end may be empty
            found +=
                static_cast<std::int64_t>(hn::CountTrue(reals<Real>, hn::And(asked, hn::And(shut, open))));
        }
    }
    return found;
}

template <typename Real>
void AddSquaresKernel(std::size_t rows, const Real* values, double* squares) {
    for (std::size_t r = 0; r < height; r += lanes<double>) {
        Vec<double> sum = hn::LoadU(reals<double>, squares + r);
        for (std::size_t row = 0; row < rows; ++row) {
            const Vec<double> value = load_wide(values + row * height + r);
            sum = fused(value, value, sum);
        }
        hn::StoreU(sum, reals<double>, squares + r);
    }
}

template <typename Real>
void ScaleKernel(std::size_t rows, const double* scales, Real* values) {
    for (std::size_t r = 0; r < height; r += lanes<double>) {
        const Vec<double> scale = hn::LoadU(reals<double>, scales + r);
        for (std::size_t row = 0; row < rows; ++row) {
            Real* at = values + row * height + r;
            store_narrow(hn::Mul(load_wide(at), scale), at);
        }
    }
}

template <typename Real>
constexpr LayerKernels<Real> table{&ForwardInputKernel<Real>, &ForwardBoxKernel<Real>, &ForwardKernel<Real>,
                                   &ReluKernel<Real>,         &UndecidedKernel<Real>,  &BackwardKernel<Real>,
                                   &AddSquaresKernel<Real>,   &ScaleKernel<Real>};

const LayerKernels<double>& LayersInDouble() {
    return table<double>;
}
const LayerKernels<float>& LayersInSingle() {
    return table<float>;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(LayersInDouble);
HWY_EXPORT(LayersInSingle);

template <>
const LayerKernels<double>& layer_kernels<double>() {
    return HWY_DYNAMIC_DISPATCH(LayersInDouble)();
}
template <>
const LayerKernels<float>& layer_kernels<float>() {
    return HWY_DYNAMIC_DISPATCH(LayersInSingle)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
