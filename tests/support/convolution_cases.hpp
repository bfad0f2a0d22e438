#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// A convolution and the channels that come out, by a name for tests.
struct ConvolutionCase {
    const char* name;
    Convolution convolution;
    std::size_t out;
    LayerShape shape() const {
        return {convolution.input.channels / convolution.groups * convolution.window.taps(), out};
    }
    std::size_t positions() const { return convolution.window.over(convolution.input, 1).rows(); }
};

/// Strides, padding, dilation, groups, odd sizes, a single pixel, a window as large as the image.
inline std::vector<ConvolutionCase> convolution_cases() {
    return {{"plain", {{1, 4, 4}, {3, 3}}, 2},
            {"one_by_one", {{5, 3, 2}, {1, 1}}, 7},
            {"one_pixel", {{3, 1, 1}, {1, 1}}, 2},
            {"stride", {{2, 7, 6}, {3, 2, 2}}, 5},
            {"padding", {{2, 5, 5}, {3, 3, 1, 1}}, 4},
            {"wide_padding", {{1, 2, 3}, {2, 2, 1, 2}}, 3},
            {"dilation", {{2, 6, 7}, {2, 3, 1, 0, 2}}, 6},
            {"groups", {{6, 4, 5}, {2, 2}, 3}, 15},
            {"depthwise", {{5, 4, 4}, {3, 3, 1, 1}, 5}, 5},
            {"as_large_as_the_image", {{3, 5, 4}, {5, 4}}, 9},
            {"row_of_five", {{1, 1, 9}, {1, 5}}, 4},
            {"all_at_once", {{4, 9, 8}, {3, 2, 2, 3, 2}, 2}, 10}};
}

inline std::vector<Pooling> pooling_cases() {
    std::vector<Pooling> all;
    for (const Pooling::Kind kind : {Pooling::Kind::average, Pooling::Kind::greatest}) {
        all.push_back({kind, {3, 4, 4}, {2, 2, 2}});
        all.push_back({kind, {2, 5, 6}, {3, 2, 1}});        // overlapping
        all.push_back({kind, {1, 5, 5}, {3, 3, 2, 1}});     // padded
        all.push_back({kind, {2, 6, 5}, {2, 2, 1, 1, 2}});  // dilated
        all.push_back({kind, {4, 3, 3}, {3, 3}});           // the whole image
        all.push_back({kind, {2, 2, 2}, {1, 1}});
    }
    return all;
}

}  // namespace holdfast
