// A convolution forward and backward, compiled once an instruction set (Highway): at every position, or
// pixel, the tiles of a dense layer (layer_kernels.cpp) on the rows that a window reads, where they lie.

#include <algorithm>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/cpu/panel_kernels.hpp"
#include "kernels/cpu/targets.hpp"
#include "kernels/ops/window_walk.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convolution_kernels.cpp"
#include <hwy/foreach_target.h>
#include "kernels/cpu/tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// One product of every sum of a position or pixel: a weight of each row of weights, and a row of the panel.
struct Term {
    std::size_t weight, row;
};

/// What one position or pixel computes: the result of row i of weights, [i * step], is row `first` + i *
/// `stride` of a panel.
template <typename Real>
struct Site {
    const Real *lower, *upper;
    std::size_t step;
    const std::vector<Term>& terms;
    std::size_t first, stride;

    HWY_INLINE std::size_t at(std::size_t row, std::size_t record) const {
        return (first + row * stride) * height + record;
    }
};

template <typename Real>
struct ConvolvePoint {
    const Site<Real>& site;
    std::size_t bias;
    const Real* z;
    Real* a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const Real* weights = site.lower + row * site.step;
        Sums<Real, Rows> sums;
        for (std::size_t o = 0; o < Rows; ++o) sums.set(o, weights[o * site.step + bias]);
        for (const Term term : site.terms) {
            for (std::size_t o = 0; o < Rows; ++o)
                sums.add(o, weights[o * site.step + term.weight], z + term.row * height + record);
        }
        for (std::size_t o = 0; o < Rows; ++o) sums.store(o, a + site.at(row + o, record));
    }
};

/// Of point features: their negative and positive parts, one of which adds nothing.
template <typename Real>
struct ConvolveInput {
    const Site<Real>& site;
    std::size_t bias;
    const Real* x_negative;
    const Real* x_positive;
    bool any_negative;
    BasicInterval<Real> a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const Real* lower = site.lower + row * site.step;
        const Real* upper = site.upper + row * site.step;
        BoundSums<Real, Rows> sums(lower + bias, upper + bias, site.step);
        for (const Term term : site.terms) {
            const std::size_t at = term.row * height + record;
            for (std::size_t o = 0; o < Rows; ++o) {
                sums.least.add(o, lower[o * site.step + term.weight], x_positive + at);
                sums.greatest.add(o, upper[o * site.step + term.weight], x_positive + at);
            }
            if (!any_negative) continue;
            for (std::size_t o = 0; o < Rows; ++o) {
                sums.least.add(o, upper[o * site.step + term.weight], x_negative + at);
                sums.greatest.add(o, lower[o * site.step + term.weight], x_negative + at);
            }
        }
        sums.store(a, site.at(row, record), site.stride * height);
    }
};

template <typename Real>
struct ConvolveInterval {
    const Site<Real>& site;
    std::size_t bias;
    BasicConstInterval<Real> z;
    BasicInterval<Real> a;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const Real* lower = site.lower + row * site.step;
        const Real* upper = site.upper + row * site.step;
        BoundSums<Real, Rows> sums(lower + bias, upper + bias, site.step);
        for (const Term term : site.terms) {
            const Real* z_lower = z.lower + term.row * height + record;
            const Real* z_upper = z.upper + term.row * height + record;
            for (std::size_t o = 0; o < Rows; ++o) {
                const Real low = lower[o * site.step + term.weight],
                           high = upper[o * site.step + term.weight];
                sums.least.add(o, low, by_sign(low, z_lower, z_upper));
                sums.greatest.add(o, high, by_sign(high, z_upper, z_lower));
            }
        }
        sums.store(a, site.at(row, record), site.stride * height);
    }
};

template <typename Real>
struct ConvolveBackPoint {
    const Site<Real>& site;
    const Real* delta;
    const Real* z;
    Real* d;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const Real* weights = site.lower + row * site.step;
        Sums<Real, Rows> sums;
        for (std::size_t j = 0; j < Rows; ++j) sums.set(j, 0);
        for (const Term term : site.terms) {
            for (std::size_t j = 0; j < Rows; ++j)
                sums.add(j, weights[j * site.step + term.weight], delta + term.row * height + record);
        }
        for (std::size_t j = 0; j < Rows; ++j) {
            for (std::size_t v = 0; v < width; ++v) {
                const std::size_t at = site.at(row + j, record) + v * lanes<Real>;
                const auto open = hn::Gt(hn::Load(reals<Real>, z + at), hn::Zero(reals<Real>));
                hn::Store(hn::IfThenElseZero(open, saturated_lanes<Real>(sums.at[j][v])), reals<Real>,
                          d + at);
            }
        }
    }
};

/// A weight of one sign picks an end of delta, and the sign of that an end of the weight; one whose box holds
/// 0 inside takes the better of both.
template <typename Real>
struct ConvolveBackInterval {
    const Site<Real>& site;
    BasicConstInterval<Real> delta;
    BasicConstInterval<Real> z;
    BasicInterval<Real> d;

    template <std::size_t Rows>
    HWY_INLINE void run(std::size_t row, std::size_t record) const {
        const Real* lower = site.lower + row * site.step;
        const Real* upper = site.upper + row * site.step;
        Sums<Real, Rows> least, greatest;
        for (std::size_t j = 0; j < Rows; ++j) {
            least.set(j, 0);
            greatest.set(j, 0);
        }
        for (const Term term : site.terms) {
            const Real* delta_lower = delta.lower + term.row * height + record;
            const Real* delta_upper = delta.upper + term.row * height + record;
            for (std::size_t j = 0; j < Rows; ++j) {
                const Real w_lower = lower[j * site.step + term.weight],
                           w_upper = upper[j * site.step + term.weight];
                const Vec<Real> low = hn::Set(reals<Real>, w_lower), high = hn::Set(reals<Real>, w_upper);
                if (w_lower < 0 && w_upper > 0) {
                    for (std::size_t v = 0; v < width; ++v) {
                        const Vec<Real> at_lower = hn::Load(reals<Real>, delta_lower + v * lanes<Real>),
                                        at_upper = hn::Load(reals<Real>, delta_upper + v * lanes<Real>);
                        least.at[j][v] = hn::Min(fused(low, at_upper, least.at[j][v]),
                                                 fused(high, at_lower, least.at[j][v]));
                        greatest.at[j][v] = hn::Max(fused(low, at_lower, greatest.at[j][v]),
                                                    fused(high, at_upper, greatest.at[j][v]));
                    }
                    continue;
                }
                const Real* for_least = w_lower >= 0 ? delta_lower : delta_upper;
                const Real* for_greatest = w_lower >= 0 ? delta_upper : delta_lower;
                for (std::size_t v = 0; v < width; ++v) {
                    const Vec<Real> of_least = hn::Load(reals<Real>, for_least + v * lanes<Real>),
                                    of_greatest = hn::Load(reals<Real>, for_greatest + v * lanes<Real>);
                    least.at[j][v] =
                        fused(hn::IfNegativeThenElse(of_least, high, low), of_least, least.at[j][v]);
                    greatest.at[j][v] =
                        fused(hn::IfNegativeThenElse(of_greatest, low, high), of_greatest, greatest.at[j][v]);
                }
            }
        }
        for (std::size_t j = 0; j < Rows; ++j) {
            for (std::size_t v = 0; v < width; ++v) {
                store_gated<Real>(least.at[j][v], greatest.at[j][v], z, d,
                                  site.at(row + j, record) + v * lanes<Real>);
            }
        }
    }
};

/// Calls visit(group, position, terms) for every position of every group: the terms of the chain of
/// forward(), taps beside the image left out.
template <typename Visit>
void for_each_position(const Convolution& convolution, Visit visit) {
    const Image& input = convolution.input;
    const Image positions = convolution.window.over(input, 1);
    const std::size_t channels = input.channels / convolution.groups, pixels = input.height * input.width,
                      taps = convolution.window.taps();
    std::vector<Term> inside, terms;
    for (std::size_t position = 0; position < positions.rows(); ++position) {
        inside.clear();
        for_each_tap(input, convolution.window, position / positions.width, position % positions.width,
                     [&](std::size_t tap, std::size_t pixel) {
                         inside.push_back({tap, pixel});
                     });
        for (std::size_t group = 0; group < convolution.groups; ++group) {
            terms.clear();
            for (std::size_t c = 0; c < channels; ++c) {
                for (const Term term : inside)
                    terms.push_back({c * taps + term.weight, (group * channels + c) * pixels + term.row});
            }
            visit(group, position, terms);
        }
    }
}

/// The kernels of forward(), at every position of every group.
template <typename Real, std::size_t Rows, typename Kernel>
void convolve_with(const Convolution& convolution, const LayerView<Real>& layer, Kernel kernel) {
    const std::size_t out = layer.shape.out / convolution.groups, step = layer.shape.in + 1,
                      positions = convolution.window.over(convolution.input, 1).rows();
    for_each_position(convolution,
                      [&](std::size_t group, std::size_t position, const std::vector<Term>& terms) {
                          const Site<Real> site{layer.lower + group * out * step,
                                                layer.upper + group * out * step,
                                                step,
                                                terms,
                                                group * out * positions + position,
                                                positions};
                          for_each_tile<Real, Rows>(out, kernel(site));
                      });
}

template <typename Real>
void ConvolveInputKernel(const Convolution& convolution, const LayerView<Real>& layer, const Real* x,
                         BasicInterval<Real> a) {
    const std::size_t bias = layer.shape.in, values = convolution.input.rows() * height;
    if (a.is_point())
        return convolve_with<Real, 4>(convolution, layer, [&](const Site<Real>& site) {
            return ConvolvePoint<Real>{site, bias, x, a.lower};
        });
    AlignedVector<Real> negative(values), positive(values);
    for (std::size_t i = 0; i < values; ++i) {
        negative[i] = std::min(x[i], Real{0});
        positive[i] = std::max(x[i], Real{0});
    }
    const bool any_negative =
        std::any_of(negative.begin(), negative.end(), [](Real value) { return value < 0; });
    convolve_with<Real, 2>(convolution, layer, [&](const Site<Real>& site) {
        return ConvolveInput<Real>{site, bias, negative.data(), positive.data(), any_negative, a};
    });
}

template <typename Real>
void ConvolveKernel(const Convolution& convolution, const LayerView<Real>& layer, BasicConstInterval<Real> z,
                    BasicInterval<Real> a) {
    const std::size_t bias = layer.shape.in;
    if (a.is_point())
        return convolve_with<Real, 4>(convolution, layer, [&](const Site<Real>& site) {
            return ConvolvePoint<Real>{site, bias, z.lower, a.lower};
        });
    convolve_with<Real, 2>(convolution, layer, [&](const Site<Real>& site) {
        return ConvolveInterval<Real>{site, bias, z, a};
    });
}

template <typename Real>
void ConvolveBackKernel(const Convolution& convolution, const LayerView<Real>& layer,
                        BasicConstInterval<Real> delta, BasicConstInterval<Real> z, BasicInterval<Real> d) {
    const Image& input = convolution.input;
    const std::size_t channels = input.channels / convolution.groups,
                      out = layer.shape.out / convolution.groups, pixels = input.height * input.width,
                      taps = convolution.window.taps(), step = taps * layer.shape.out,
                      positions = convolution.window.over(input, 1).rows();
    std::vector<Term> terms;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        for (std::size_t group = 0; group < convolution.groups; ++group) {
            terms.clear();
            for_each_window(input, convolution.window, pixel / input.width, pixel % input.width,
                            [&](std::size_t tap, std::size_t position) {
                                for (std::size_t o = group * out; o < (group + 1) * out; ++o)
                                    terms.push_back({tap * layer.shape.out + o, o * positions + position});
                            });
            const std::size_t first = group * channels;  // a group has weights of its own for its channels
            const Site<Real> site{
                layer.lower_transposed, layer.upper_transposed, step, terms, first * pixels + pixel, pixels};
            if (d.is_point()) {
                for_each_tile<Real, 4>(channels,
                                       ConvolveBackPoint<Real>{site, delta.lower, z.lower, d.lower});
            } else {
                for_each_tile<Real, 2>(channels, ConvolveBackInterval<Real>{site, delta, z, d});
            }
        }
    }
}

template <typename Real>
constexpr ConvolutionKernels<Real> table{&ConvolveInputKernel<Real>, &ConvolveKernel<Real>,
                                         &ConvolveBackKernel<Real>};

const ConvolutionKernels<double>& ConvolutionsInDouble() {
    return table<double>;
}
const ConvolutionKernels<float>& ConvolutionsInSingle() {
    return table<float>;
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast::cpu {

HWY_EXPORT(ConvolutionsInDouble);
HWY_EXPORT(ConvolutionsInSingle);

template <>
const ConvolutionKernels<double>& convolution_kernels<double>() {
    return HWY_DYNAMIC_DISPATCH(ConvolutionsInDouble)();
}
template <>
const ConvolutionKernels<float>& convolution_kernels<float>() {
    return HWY_DYNAMIC_DISPATCH(ConvolutionsInSingle)();
}

}  // namespace holdfast::cpu
#endif  // HWY_ONCE
