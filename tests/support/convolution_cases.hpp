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

/// One of many networks of convolutions, pooling, dropout and dense layers, by its seed; small.
inline NetworkShape convolutional_network(std::uint64_t seed, Loss loss, std::size_t outputs) {
    std::mt19937_64 engine(seed);
    const auto below = [&](std::size_t count) { return static_cast<std::size_t>(engine() % count); };
    NetworkShape network{{}, loss, {}};
    Image image{1 + below(3), 4 + below(5), 4 + below(5)};
    const std::size_t convolutions = 1 + below(2);
    for (std::size_t l = 0; l < convolutions; ++l) {
        const std::size_t groups = image.channels % 2 == 0 && below(2) == 0 ? 2 : 1;
        Window window{1 + below(3), 1 + below(3), 1 + below(2), below(2), 1 + below(2)};
        if (window.over(image, 1).rows() == 0) window = {1, 1};
        const std::size_t out = groups * (1 + below(5));
        Layer layer{{image.channels / groups * window.taps(), out}, Convolution{image, window, groups}};
        image = layer.weighted();
        if (image.height >= 2 && image.width >= 2 && below(2) == 0) {
            layer.pooling = Pooling{below(2) == 0 ? Pooling::Kind::average : Pooling::Kind::greatest,
                                    image,
                                    {2, 2, 1 + below(2), below(2)}};
            image = layer.pooling->output();
        }
        if (below(2) == 0) layer.dropout = 0.5;
        network.layers.push_back(layer);
    }
    if (below(2) == 0) {
        Layer hidden{{image.rows(), 1 + below(9)}};
        if (below(2) == 0) hidden.dropout = 0.25;
        network.layers.push_back(hidden);
    }
    network.layers.push_back({{network.layers.back().output_rows(), outputs}});
    return network;
}

/// Factors that leave out what the seed says, of every layer with dropout.
inline std::vector<std::vector<double>> dropout_factors(std::uint64_t seed, const NetworkShape& network) {
    std::mt19937_64 engine(seed);
    std::vector<std::vector<double>> factors;
    for (const Layer& layer : network.layers) {
        factors.emplace_back();
        if (layer.dropout == 0) continue;
        for (std::size_t row = 0; row < layer.output_rows(); ++row)
            factors.back().push_back(
                static_cast<double>(engine() % 1000) < 1000 * layer.dropout ? 0.0 : 1 / (1 - layer.dropout));
    }
    return factors;
}

}  // namespace holdfast
