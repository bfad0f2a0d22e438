#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/base/arithmetic.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "kernels/ops/window_walk.hpp"

/// What is between a layer's ReLU and the next layer, as plain loops over panels of any height, for any Real:
/// little work beside that of the weights, so these serve every backend. Arrays are [rows, height]; z is
/// what came of the ReLU, >= 0.
namespace holdfast {

/// a = the average or the greatest of z over every window. The average's divisor is the window's area, taps
/// beside the image counted in; so is the sum, as they are 0. The greatest is of the taps inside; of none, 0.
/// Lemma (models/mathematics.md, pooling): a rounded sum, its product with a constant >= 0 and a greatest
/// value do not fall with any z: attained at the ends.
template <typename Real>
void pool(const Pooling& pooling, std::size_t height, BasicConstInterval<Real> z, BasicInterval<Real> a) {
    const Image output = pooling.output();
    const auto part = static_cast<Real>(1.0 / static_cast<double>(pooling.window.taps()));
    const bool average = pooling.kind == Pooling::Kind::average;
    const auto pool_side = [&](const Real* from, Real* to) {
        for (std::size_t row = 0; row < output.rows(); ++row) {
            const std::size_t area = output.height * output.width, position = row % area;
            const Real* channel = from + row / area * pooling.input.height * pooling.input.width * height;
            Real* out = to + row * height;
            std::fill_n(out, height, Real{0});
            for_each_tap(pooling.input, pooling.window, position / output.width, position % output.width,
                         [&](std::size_t, std::size_t pixel) {
                             const Real* value = channel + pixel * height;
                             for (std::size_t r = 0; r < height; ++r)
                                 out[r] = average ? out[r] + value[r] : std::max(out[r], value[r]);
                         });
            for (std::size_t r = 0; average && r < height; ++r) out[r] = saturated(out[r] * part);
        }
    };
    pool_side(z.lower, a.lower);
    if (!a.is_point()) pool_side(z.upper, a.upper);
}

/// What one record says of a tap: is it the one whose value its window gives, in all of the box, in some?
struct Chosen {
    bool surely, possibly;
};

/// Of a window's taps at `pixels` of one channel; of equally great ones the first is chosen.
template <typename Real>
Chosen chosen_tap(std::size_t tap, const std::size_t* pixels, std::size_t taps, std::size_t height,
                  const Real* lower, const Real* upper) {
    const Real low = lower[pixels[tap] * height], high = upper[pixels[tap] * height];
    Chosen chosen{true, true};
    for (std::size_t other = 0; other < taps; ++other) {
        if (other == tap) continue;
        const Real other_low = lower[pixels[other] * height], other_high = upper[pixels[other] * height];
        chosen.surely &= other < tap ? low > other_high : low >= other_high;
        chosen.possibly &= other < tap ? high > other_low : high >= other_low;
    }
    return chosen;
}

/// pool_backward() of a greatest value at a point: window by window, the last first, which is the order in
/// which for_each_window() has those of a pixel.
template <typename Real>
void greatest_backward(const Pooling& pooling, std::size_t height, const Real* z, const Real* delta,
                       Real* d) {
    const Image& input = pooling.input;
    const Image output = pooling.output();
    const std::size_t pixels = input.height * input.width, positions = output.height * output.width;
    std::fill_n(d, input.rows() * height, Real{0});
    std::vector<std::size_t> read;
    std::vector<Real> greatest(height), left(height);
    for (std::size_t row = output.rows(); row-- > 0;) {
        const std::size_t first = row / positions * pixels, position = row % positions;
        read.clear();
        for_each_tap(input, pooling.window, position / output.width, position % output.width,
                     [&](std::size_t, std::size_t pixel) { read.push_back((first + pixel) * height); });
        std::fill(greatest.begin(), greatest.end(), Real{0});
        for (const std::size_t tap : read) {
            Real* const most = greatest.data();
            for (std::size_t r = 0; r < height; ++r) most[r] = most[r] < z[tap + r] ? z[tap + r] : most[r];
        }
        std::copy_n(delta + row * height, height, left.begin());
        for (const std::size_t tap : read) {
            const Real *most = greatest.data(), *value = z + tap;
            Real *open = left.data(), *to = d + tap;
            for (std::size_t r = 0; r < height; ++r) {
                const Real share = value[r] == most[r] ? open[r] : Real{0};
                to[r] = to[r] + share;
                open[r] = open[r] - share;
            }
        }
    }
    for (std::size_t i = 0; i < input.rows() * height; ++i) d[i] = saturated(d[i]);
}

/// d = the derivative by z of what pool() gives, delta its derivative by the pooled; saturated. Where windows
/// overlap, in the order of for_each_window().
/// Lemma (models/mathematics.md, pooling): of an average a rounded sum and a product with a constant >= 0. Of
/// a greatest value each window adds delta, 0 or their hull, as its tap is surely, never or perhaps the one
/// chosen: as with the gate of a ReLU, a smaller box moves the hull to one of the others, which lie in it.
template <typename Real>
void pool_backward(const Pooling& pooling, std::size_t height, BasicConstInterval<Real> z,
                   BasicConstInterval<Real> delta, BasicInterval<Real> d) {
    const Image& input = pooling.input;
    const Image output = pooling.output();
    const Window& window = pooling.window;
    const std::size_t pixels = input.height * input.width, positions = output.height * output.width;
    if (pooling.kind == Pooling::Kind::average) {
        const auto part = static_cast<Real>(1.0 / static_cast<double>(window.taps()));
        const auto spread = [&](const Real* from, Real* to) {
            for (std::size_t row = 0; row < input.rows(); ++row) {
                const std::size_t pixel = row % pixels;
                Real* out = to + row * height;
                std::fill_n(out, height, Real{0});
                for_each_window(input, window, pixel / input.width, pixel % input.width,
                                [&](std::size_t, std::size_t position) {
                                    const Real* value = from + (row / pixels * positions + position) * height;
                                    for (std::size_t r = 0; r < height; ++r) out[r] = out[r] + value[r];
                                });
                for (std::size_t r = 0; r < height; ++r) out[r] = saturated(out[r] * part);
            }
        };
        spread(delta.lower, d.lower);
        if (!d.is_point()) spread(delta.upper, d.upper);
        return;
    }
    if (d.is_point()) return greatest_backward(pooling, height, z.lower, delta.lower, d.lower);
    const Real zero{0};
    for (Real* side : {d.lower, d.upper}) std::fill_n(side, input.rows() * height, zero);
    std::vector<std::size_t> read(window.taps());
    for (std::size_t row = 0; row < input.rows(); ++row) {
        const std::size_t pixel = row % pixels, channel = row / pixels;
        const Real* lower = z.lower + channel * pixels * height;
        const Real* upper = z.upper + channel * pixels * height;
        for_each_window(
            input, window, pixel / input.width, pixel % input.width, [&](std::size_t, std::size_t position) {
                std::size_t taps = 0, own = 0;
                for_each_tap(input, window, position / output.width, position % output.width,
                             [&](std::size_t, std::size_t other) {
                                 if (other == pixel) own = taps;
                                 read[taps++] = other;
                             });
                for (std::size_t r = 0; r < height; ++r) {
                    const Chosen chosen = chosen_tap(own, read.data(), taps, height, lower + r, upper + r);
                    if (!chosen.possibly) continue;
                    const std::size_t from = (channel * positions + position) * height + r,
                                      to = row * height + r;
                    const Real low = delta.lower[from], high = delta.upper[from];
                    d.lower[to] = d.lower[to] + (chosen.surely ? low : std::min(low, zero));
                    d.upper[to] = d.upper[to] + (chosen.surely ? high : std::max(high, zero));
                }
            });
    }
    for (std::size_t i = 0; i < input.rows() * height; ++i) {
        d.lower[i] = saturated(d.lower[i]);
        d.upper[i] = saturated(d.upper[i]);
    }
}

/// d = gate(z) d in place, the gate of PanelOperations::backward.
template <typename Real>
void gate(std::size_t values, BasicConstInterval<Real> z, BasicInterval<Real> d) {
    const Real zero{0};
    if (d.is_point()) {
        for (std::size_t i = 0; i < values; ++i) d.lower[i] = z.lower[i] > zero ? d.lower[i] : zero;
        return;
    }
    for (std::size_t i = 0; i < values; ++i) {
        const Real low = d.lower[i], high = d.upper[i];
        const bool surely = z.lower[i] > zero, possibly = z.upper[i] > zero;
        d.lower[i] = surely ? low : possibly ? std::min(low, zero) : zero;
        d.upper[i] = surely ? high : possibly ? std::max(high, zero) : zero;
    }
}

/// to = from times its row's factor >= 0, saturated; `to` may be `from`. Lemma: does not fall with `from`.
template <typename Real>
void multiply_rows(const std::vector<Real>& factors, std::size_t height, BasicConstInterval<Real> from,
                   BasicInterval<Real> to) {
    for (std::size_t i = 0; i < factors.size() * height; ++i) {
        const Real factor = factors[i / height];
        to.lower[i] = saturated(from.lower[i] * factor);
        if (!to.is_point()) to.upper[i] = saturated(from.upper[i] * factor);
    }
}

}  // namespace holdfast
