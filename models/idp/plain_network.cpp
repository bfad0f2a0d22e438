#include "models/idp/plain_network.hpp"

#include <cmath>
#include <cstdlib>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

double value(Precision precision, std::int64_t units) {
    return precision == Precision::single_precision ? static_cast<double>(parameter_value<float>(units))
                                                    : parameter_value<double>(units);
}

AffineLayer dense(const Layer& layer, Precision precision, const std::int64_t* units) {
    AffineLayer affine{layer.in, layer.out, {}, {}};
    for (std::size_t o = 0; o < layer.out; ++o, units += layer.in + 1) {
        for (std::size_t j = 0; j < layer.in; ++j) affine.weight.push_back(value(precision, units[j]));
        affine.bias.push_back(value(precision, units[layer.in]));
    }
    return affine;
}

/// Row (o, y, x) holds the weights of channel o where the window's taps of position (y, x) lie.
AffineLayer convolved(const Layer& layer, Precision precision, const std::int64_t* units) {
    const Convolution& convolution = *layer.convolution;
    const Image &input = convolution.input, output = layer.weighted();
    const Window& window = convolution.window;
    const std::size_t channels = input.channels / convolution.groups,
                      per_group = layer.out / convolution.groups;
    AffineLayer affine{input.rows(), output.rows(), std::vector<double>(input.rows() * output.rows()),
                       std::vector<double>(output.rows())};
    for (std::size_t o = 0; o < layer.out; ++o) {
        const std::int64_t* weights = units + o * (layer.in + 1);
        for (std::size_t y = 0; y < output.height; ++y) {
            for (std::size_t x = 0; x < output.width; ++x) {
                const std::size_t row = (o * output.height + y) * output.width + x;
                affine.bias[row] = value(precision, weights[layer.in]);
                for (std::size_t tap = 0; tap < channels * window.taps(); ++tap) {
                    const std::size_t channel = o / per_group * channels + tap / window.taps();
                    const std::size_t across = tap % window.width, down = tap % window.taps() / window.width;
                    // What lies beside the image wraps round to beyond its size.
                    const std::size_t at_y = y * window.stride + down * window.dilation - window.padding;
                    const std::size_t at_x = x * window.stride + across * window.dilation - window.padding;
                    if (at_y >= input.height || at_x >= input.width) continue;
                    affine.weight[row * affine.in + (channel * input.height + at_y) * input.width + at_x] =
                        value(precision, weights[tap]);
                }
            }
        }
    }
    return affine;
}

}  // namespace

void require_plain(const Network& network) {
    if (network.is_regression())
        throw Error(ExitCode::usage, "a regression has no classes to bound the confidence in",
                    "train the fleet with another loss", "training.loss");
    for (const Layer& layer : network.layers()) {
        if (layer.pooling || layer.dropout > 0)
            throw Error(ExitCode::usage,
                        "the bound is for dense layers and convolutions, not for pooling or dropout",
                        "train the fleet without", "network.layers");
    }
}

std::vector<AffineLayer> affine_layers(const Network& network, Precision precision,
                                       std::span<const std::int64_t> units) {
    std::vector<AffineLayer> layers;
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
        const Layer& layer = network.layers()[l];
        const std::int64_t* first = units.data() + network.offset(l);
        layers.push_back(layer.convolution ? convolved(layer, precision, first)
                                           : dense(layer, precision, first));
    }
    return layers;
}

PlainNetwork plain_network(const Network& network, Precision precision, std::span<const std::int64_t> units) {
    PlainNetwork plain{affine_layers(network, precision, units), {}};
    AffineLayer logits = std::move(plain.layers.back());
    plain.layers.pop_back();
    const std::size_t last = network.layers().size() - 1;
    const std::int64_t* rows = units.data() + network.offset(last);
    const std::size_t in = network.layers()[last].in, columns = in + 1;
    AffineLayer margins{in, 0, {}, {}};
    const auto add = [&](std::size_t j, std::int64_t entry, double size) {
        (j < in ? margins.weight : margins.bias).push_back(value(precision, entry));
        plain.last_sizes.push_back(size);
    };
    if (network.outputs() == 1) {  // z_0 - z_1 is -z
        ++margins.out;
        for (std::size_t j = 0; j < columns; ++j) add(j, -rows[j], std::abs(value(precision, rows[j])));
    } else {
        for (std::size_t a = 0; a < network.classes(); ++a) {
            for (std::size_t b = a + 1; b < network.classes(); ++b) {
                ++margins.out;
                for (std::size_t j = 0; j < columns; ++j) {
                    const std::int64_t first = rows[a * columns + j], second = rows[b * columns + j];
                    const double entry = std::abs(value(precision, first - second));
                    const double logits =
                        std::abs(value(precision, first)) + std::abs(value(precision, second));
                    add(j, first - second, network.classes() == 2 ? entry : logits);
                }
            }
        }
    }
    plain.layers.push_back(std::move(margins));
    if (network.classes() > 2) plain.logits = std::move(logits);
    return plain;
}

}  // namespace holdfast
