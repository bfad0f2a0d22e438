#pragma once

#include <cstddef>

#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// What a window at position (y, x) reads of one channel, in the order of its taps: visit(tap, pixel). Taps
/// beside the image are left out: unsigned, what is before it is far behind it too.
template <typename Visit>
void for_each_tap(const Image& image, const Window& window, std::size_t y, std::size_t x, Visit visit) {
    for (std::size_t tap_y = 0; tap_y < window.height; ++tap_y) {
        const std::size_t row = y * window.stride + tap_y * window.dilation - window.padding;
        if (row >= image.height) continue;
        for (std::size_t tap_x = 0; tap_x < window.width; ++tap_x) {
            const std::size_t column = x * window.stride + tap_x * window.dilation - window.padding;
            if (column < image.width) visit(tap_y * window.width + tap_x, row * image.width + column);
        }
    }
}

/// The positions along a side at which a tap reads a pixel: one, or none (as many as there are positions).
inline std::size_t position_of(const Window& window, std::size_t pixel, std::size_t tap,
                               std::size_t positions) {
    const std::size_t from = pixel + window.padding, reach = tap * window.dilation;
    if (from < reach || (from - reach) % window.stride != 0) return positions;
    const std::size_t position = (from - reach) / window.stride;
    return position < positions ? position : positions;
}

/// The windows that read pixel (y, x), by the tap they read it with, in the order of taps: visit(tap,
/// position).
template <typename Visit>
void for_each_window(const Image& image, const Window& window, std::size_t y, std::size_t x, Visit visit) {
    const Image positions = window.over(image, 1);
    for (std::size_t tap_y = 0; tap_y < window.height; ++tap_y) {
        const std::size_t row = position_of(window, y, tap_y, positions.height);
        if (row == positions.height) continue;
        for (std::size_t tap_x = 0; tap_x < window.width; ++tap_x) {
            const std::size_t column = position_of(window, x, tap_x, positions.width);
            if (column < positions.width) visit(tap_y * window.width + tap_x, row * positions.width + column);
        }
    }
}

}  // namespace holdfast
