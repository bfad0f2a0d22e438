#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/ops/input_transform.hpp"
#include "kernels/ops/loss.hpp"

namespace holdfast {

/// The weights of a layer: parameters [out, in + 1], the bias last in each row.
struct LayerShape {
    std::size_t in, out;
    std::size_t parameters() const { return out * (in + 1); }
};

/// Rows of an array that are pixels: row (channel * height + y) * width + x.
struct Image {
    std::size_t channels, height, width;
    std::size_t rows() const { return channels * height * width; }
    bool operator==(const Image&) const = default;
};

/// A window that moves over an image: along each side at 0, stride, 2 stride ..., from -padding on, its taps
/// `dilation` apart. Taps beside the image read 0, or nothing where a greatest value is taken.
struct Window {
    std::size_t height, width;
    std::size_t stride = 1, padding = 0, dilation = 1;
    std::size_t taps() const { return height * width; }
    /// Positions along a side of so many pixels; 0: the window is larger than the padded side.
    std::size_t positions(std::size_t pixels, std::size_t taps_along) const {
        const std::size_t reach = dilation * (taps_along - 1) + 1, padded = pixels + 2 * padding;
        return padded < reach ? 0 : (padded - reach) / stride + 1;
    }
    /// What an image becomes, of so many channels.
    Image over(const Image& image, std::size_t channels) const {
        return {channels, positions(image.height, height), positions(image.width, width)};
    }
    bool operator==(const Window&) const = default;
};

/// A layer whose weights act at every position of a window: `in` is channels / groups * taps, read in the
/// order (channel, y, x), `out` the channels that come out; group g takes the g-th part of either.
struct Convolution {
    Image input;
    Window window;
    std::size_t groups = 1;
    bool operator==(const Convolution&) const = default;
};

struct Pooling {
    enum class Kind { average, greatest };
    Kind kind;
    Image input;
    Window window;
    Image output() const { return window.over(input, input.channels); }
    bool operator==(const Pooling&) const = default;
};

/// What is between two layers of a network: weights, dense or of a convolution; then ReLU (but after the last
/// layer, which is dense); then pooling; then dropout.
struct Layer : LayerShape {
    std::optional<Convolution> convolution = std::nullopt;
    std::optional<Pooling> pooling = std::nullopt;
    double dropout = 0;  ///< part of the outputs that a step leaves out, the same for all records
    bool bias = true;    ///< else the biases are 0 and stay 0

    /// Nothing but weights [out, in + 1] that meet the input once.
    bool is_dense() const { return !convolution && !pooling && dropout == 0; }
    std::size_t input_rows() const { return convolution ? convolution->input.rows() : in; }
    /// What the weights give, before pooling.
    Image weighted() const {
        return convolution ? convolution->window.over(convolution->input, out) : Image{out, 1, 1};
    }
    std::size_t weighted_rows() const { return weighted().rows(); }
    /// Where the weights meet the input, P of models/mathematics.md: 1 of a dense layer.
    std::size_t positions() const { return weighted().height * weighted().width; }
    /// What the next layer takes.
    std::size_t output_rows() const { return pooling ? pooling->output().rows() : weighted_rows(); }
};

/// Layers and a loss on the last one's logits. Parameters are one array, layer after layer.
struct NetworkShape {
    std::vector<Layer> layers;
    Loss loss;
    InputTransform input = {};

    std::size_t inputs() const { return layers.front().input_rows(); }
    std::size_t outputs() const { return layers.back().out; }
    std::size_t last() const { return layers.size() - 1; }
    std::size_t parameters() const { return offset(layers.size()); }
    std::size_t offset(std::size_t layer) const {  ///< of its first parameter
        std::size_t count = 0;
        for (std::size_t l = 0; l < layer; ++l) count += layers[l].parameters();
        return count;
    }
    std::size_t products() const {  ///< multiplications of one record's way forward
        std::size_t count = 0;
        for (const Layer& layer : layers) count += layer.positions() * layer.parameters();
        return count;
    }
    std::size_t widest() const {  ///< outputs of any layer
        std::size_t rows = 0;
        for (const Layer& layer : layers) rows = std::max({rows, layer.weighted_rows(), layer.output_rows()});
        return rows;
    }
    bool is_dense() const {
        return std::all_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.is_dense(); });
    }
};

}  // namespace holdfast
