#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "kernels/ops/window_walk.hpp"
#include "kernels/reference/operations.hpp"

/// The operations of a convolution, each as those of dense layers on what a window reads, gathered: so their
/// lemmas are those of dense layers (models/mathematics.md, convolution). For any Real, as operations.hpp.
namespace holdfast::reference {

/// Bounds of rows gathered or computed, [rows, height]; one array for a point.
template <typename Real>
class Rows {
  public:
    Rows(std::size_t rows, std::size_t height, bool is_point)
        : height_(height),
          is_point_(is_point),
          lower_(rows * height, Real{0}),
          upper_(is_point ? 0 : rows * height, Real{0}) {}
    BasicInterval<Real> view() { return {lower_.data(), is_point_ ? lower_.data() : upper_.data()}; }
    void clear() {
        std::fill(lower_.begin(), lower_.end(), Real{0});
        std::fill(upper_.begin(), upper_.end(), Real{0});
    }
    void take(std::size_t to, BasicConstInterval<Real> from, std::size_t row) {
        copy(view().lower + to * height_, from.lower + row * height_);
        copy(view().upper + to * height_, from.upper + row * height_);
    }
    void give(std::size_t from, BasicInterval<Real> to, std::size_t row) {
        copy(to.lower + row * height_, view().lower + from * height_);
        copy(to.upper + row * height_, view().upper + from * height_);
    }

  private:
    void copy(Real* to, const Real* from) const { std::copy_n(from, height_, to); }

    std::size_t height_;
    bool is_point_;
    std::vector<Real> lower_, upper_;
};

/// Of a convolution, what the loops below go over.
struct Extent {
    Extent(const Convolution& convolution, LayerShape shape)
        : positions(convolution.window.over(convolution.input, 1)),
          pixels(convolution.input.height * convolution.input.width),
          channels(convolution.input.channels / convolution.groups),
          out(shape.out / convolution.groups) {}
    Image positions;
    std::size_t pixels, channels, out;  ///< of a group
};

/// a = W z + b: at every position and of every group, dense(weights, patch, a) with zeros beside the image.
template <typename Real, typename Dense>
void convolve(const Convolution& convolution, const Weights<Real>& layer, std::size_t height,
              BasicConstInterval<Real> z, BasicInterval<Real> a, Dense dense) {
    const Extent extent(convolution, layer.shape);
    const std::size_t in = layer.shape.in, taps = convolution.window.taps();
    Rows<Real> patch(in, height, z.is_point()), sums(extent.out, height, a.is_point());
    for (std::size_t group = 0; group < convolution.groups; ++group) {
        const std::size_t first = group * extent.out * (in + 1);
        const Weights<Real> weights{{in, extent.out}, layer.lower + first, layer.upper + first};
        for (std::size_t position = 0; position < extent.positions.rows(); ++position) {
            patch.clear();
            for_each_tap(convolution.input, convolution.window, position / extent.positions.width,
                         position % extent.positions.width, [&](std::size_t tap, std::size_t pixel) {
                             for (std::size_t c = 0; c < extent.channels; ++c)
                                 patch.take(c * taps + tap, z,
                                            (group * extent.channels + c) * extent.pixels + pixel);
                         });
            dense(weights, BasicConstInterval<Real>(patch.view()), sums.view());
            for (std::size_t o = 0; o < extent.out; ++o)
                sums.give(o, a, (group * extent.out + o) * extent.positions.rows() + position);
        }
    }
}

/// d = gate(z) * (W^T delta): at every pixel and of every group, dense(weights, delta, z, d), where the dense
/// layer's outputs are those of all windows that read the pixel, and its inputs the channels.
template <typename Real, typename Dense>
void convolve_backward(const Convolution& convolution, const Weights<Real>& layer, std::size_t height,
                       BasicConstInterval<Real> delta, BasicConstInterval<Real> z, BasicInterval<Real> d,
                       Dense dense) {
    const Extent extent(convolution, layer.shape);
    const std::size_t in = layer.shape.in, taps = convolution.window.taps();
    const std::size_t most = taps * extent.out, row = extent.channels + 1;
    std::vector<Real> lower(most * row), upper(most * row);
    Rows<Real> read(most, height, delta.is_point()), activation(extent.channels, height, z.is_point()),
        sums(extent.channels, height, d.is_point());
    for (std::size_t group = 0; group < convolution.groups; ++group) {
        for (std::size_t pixel = 0; pixel < extent.pixels; ++pixel) {
            std::size_t outputs = 0;
            for_each_window(convolution.input, convolution.window, pixel / convolution.input.width,
                            pixel % convolution.input.width, [&](std::size_t tap, std::size_t position) {
                                for (std::size_t o = 0; o < extent.out; ++o, ++outputs) {
                                    const std::size_t channel = group * extent.out + o;
                                    for (std::size_t c = 0; c < extent.channels; ++c) {
                                        const std::size_t weight = channel * (in + 1) + c * taps + tap;
                                        lower[outputs * row + c] = layer.lower[weight];
                                        upper[outputs * row + c] = layer.upper[weight];
                                    }
                                    read.take(outputs, delta, channel * extent.positions.rows() + position);
                                }
                            });
            const auto at = [&](std::size_t c) {
                return (group * extent.channels + c) * extent.pixels + pixel;
            };
            for (std::size_t c = 0; c < extent.channels; ++c) activation.take(c, z, at(c));
            dense(Weights<Real>{{extent.channels, outputs}, lower.data(), upper.data()},
                  BasicConstInterval<Real>(read.view()), BasicConstInterval<Real>(activation.view()),
                  sums.view());
            for (std::size_t c = 0; c < extent.channels; ++c) sums.give(c, d, at(c));
        }
    }
}

/// One record's entry of a convolution's gradient, elementwise: the products of its positions added first,
/// rounded to the grid once, and clamped.
template <typename Real>
Entry clipped_sum(const Rule<Real>& rule, std::span<const Factors<Real>> positions) {
    using std::fma, std::min, std::max;
    Real least{0}, greatest{0};
    for (const auto& [delta_lower, delta_upper, z_lower, z_upper] : positions) {
        least = min(min(fma(delta_lower, z_lower, least), fma(delta_lower, z_upper, least)),
                    min(fma(delta_upper, z_lower, least), fma(delta_upper, z_upper, least)));
        greatest = max(max(fma(delta_lower, z_lower, greatest), fma(delta_lower, z_upper, greatest)),
                       max(fma(delta_upper, z_lower, greatest), fma(delta_upper, z_upper, greatest)));
    }
    const Real at_zero = rule.grid.bias();
    const auto units = [&](Real sum) {
        return rule.grid.units_of_biased(
            std::clamp(at_zero + sum, at_zero - rule.limit, at_zero + rule.limit));
    };
    return {units(least), units(greatest)};
}

/// visit(index, record, positions): the factors of every entry [out, in + 1] of every record below `count`,
/// in the order of the positions whose tap is in the image.
template <typename Real, typename Visit>
void for_each_gradient(const Convolution& convolution, LayerShape shape, std::size_t height,
                       std::size_t count, BasicConstInterval<Real> delta, BasicConstInterval<Real> z,
                       Visit visit) {
    const Extent extent(convolution, shape);
    const std::size_t taps = convolution.window.taps();
    std::vector<std::vector<Factors<Real>>> factors(shape.in + 1);
    for (std::size_t o = 0; o < shape.out; ++o) {
        const std::size_t channels_before = o / extent.out * extent.channels;
        for (std::size_t r = 0; r < count; ++r) {
            for (auto& of_entry : factors) of_entry.clear();
            for (std::size_t position = 0; position < extent.positions.rows(); ++position) {
                const std::size_t at = (o * extent.positions.rows() + position) * height + r;
                const Real low = delta.lower[at], high = delta.upper[at];
                for_each_tap(
                    convolution.input, convolution.window, position / extent.positions.width,
                    position % extent.positions.width, [&](std::size_t tap, std::size_t pixel) {
                        for (std::size_t c = 0; c < extent.channels; ++c) {
                            const std::size_t from =
                                ((channels_before + c) * extent.pixels + pixel) * height + r;
                            factors[c * taps + tap].push_back({low, high, z.lower[from], z.upper[from]});
                        }
                    });
                factors[shape.in].push_back({low, high, Real{1}, Real{1}});
            }
            for (std::size_t j = 0; j <= shape.in; ++j)
                visit(o * (shape.in + 1) + j, r, std::span<const Factors<Real>>(factors[j]));
        }
    }
}

}  // namespace holdfast::reference
