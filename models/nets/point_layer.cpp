#include "models/nets/point_layer.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/base/arithmetic.hpp"

namespace holdfast {
namespace {

DenseRows rows_of(const LayerShape& layer, const std::int64_t* units) {
    std::vector<double> weight, bias;
    for (std::size_t i = 0; i < layer.out; ++i, units += layer.in + 1) {
        for (std::size_t j = 0; j < layer.in; ++j) weight.push_back(parameter_value(units[j]));
        bias.push_back(parameter_value(units[layer.in]));
    }
    return {layer.in, weight, std::move(bias)};
}

void activate(std::vector<double>& values) {
    for (double& value : values) value = std::clamp(value, 0.0, RealFormat<double>::saturation);
}

/// Calls at(y, x) for the pixels of a window whose first tap is at `top`, `left`, row by row; those beside
/// the image lie in no row or column of it.
template <typename At>
void for_each_tap(const Window& window, std::size_t top, std::size_t left, At at) {
    for (std::size_t i = 0; i < window.height; ++i) {
        for (std::size_t j = 0; j < window.width; ++j)
            at(top + i * window.dilation - window.padding, left + j * window.dilation - window.padding);
    }
}

bool within(const Image& image, std::size_t y, std::size_t x) {
    return y < image.height && x < image.width;  // before its first row or column: wrapped around, and beyond
}

}  // namespace

PointLayer::PointLayer(const Layer& layer, const std::int64_t* units) : layer_(layer) {
    const std::size_t groups = layer.convolution ? layer.convolution->groups : 1;
    const LayerShape group{layer.in, layer.out / groups};
    for (std::size_t g = 0; g < groups; ++g, units += group.parameters())
        groups_.push_back(rows_of(group, units));
}

template <typename At>
void PointLayer::for_each_map(At at) const {
    std::vector<std::size_t> inputs(layer_.in), outputs(groups_.front().out());
    if (!layer_.convolution) {
        std::iota(inputs.begin(), inputs.end(), std::size_t{0});
        std::iota(outputs.begin(), outputs.end(), std::size_t{0});
        return at(groups_.front(), inputs, outputs);
    }
    const auto& [image, window, groups] = *layer_.convolution;
    const Image over = layer_.weighted();
    const std::size_t channels = image.channels / groups;
    for (std::size_t group = 0; group < groups; ++group) {
        for (std::size_t place = 0; place < over.height * over.width; ++place) {
            inputs.clear();
            for (std::size_t c = group * channels; c < (group + 1) * channels; ++c) {
                for_each_tap(window, place / over.width * window.stride, place % over.width * window.stride,
                             [&](std::size_t y, std::size_t x) {
                                 inputs.push_back(
                                     within(image, y, x) ? (c * image.height + y) * image.width + x : beside);
                             });
            }
            for (std::size_t o = 0; o < outputs.size(); ++o)
                outputs[o] = (group * outputs.size() + o) * over.height * over.width + place;
            at(groups_[group], inputs, outputs);
        }
    }
}

std::vector<double> PointLayer::pooled(std::vector<double> values) const {
    activate(values);
    if (!layer_.pooling) return values;
    const auto& [kind, image, window] = *layer_.pooling;
    const Image over = layer_.pooling->output();
    std::vector<double> result;
    for (std::size_t c = 0; c < image.channels; ++c) {
        for (std::size_t place = 0; place < over.height * over.width; ++place) {
            double sum = 0, greatest = 0;  // no value is less
            for_each_tap(window, place / over.width * window.stride, place % over.width * window.stride,
                         [&](std::size_t y, std::size_t x) {
                             if (!within(image, y, x)) return;
                             const double value = values[(c * image.height + y) * image.width + x];
                             sum += value;
                             greatest = std::max(greatest, value);
                         });
            const bool average = kind == Pooling::Kind::average;
            result.push_back(average ? sum / static_cast<double>(window.taps()) : greatest);
        }
    }
    return result;
}

std::vector<double> PointLayer::apply(const std::vector<double>& x) const {
    std::vector<double> values(layer_.weighted_rows()), taken(layer_.in), given(groups_.front().out());
    for_each_map([&](const DenseRows& rows, const auto& inputs, const auto& outputs) {
        for (std::size_t j = 0; j < inputs.size(); ++j) taken[j] = inputs[j] == beside ? 0 : x[inputs[j]];
        rows.apply(taken.data(), given.data());
        for (std::size_t o = 0; o < outputs.size(); ++o) values[outputs[o]] = given[o];
    });
    return pooled(std::move(values));
}

PointLayer::Bounds PointLayer::bound(const Bounds& x) const {
    const std::size_t rows_out = groups_.front().out();
    std::vector<double> low(layer_.weighted_rows()), high(low.size());
    std::vector<double> least(layer_.in), greatest(layer_.in), lower(rows_out), upper(rows_out);
    for_each_map([&](const DenseRows& rows, const auto& inputs, const auto& outputs) {
        for (std::size_t j = 0; j < inputs.size(); ++j) {
            least[j] = inputs[j] == beside ? 0 : x.low[inputs[j]];
            greatest[j] = inputs[j] == beside ? 0 : x.high[inputs[j]];
        }
        rows.bound(least.data(), greatest.data(), lower.data(), upper.data());
        for (std::size_t o = 0; o < outputs.size(); ++o) {
            low[outputs[o]] = lower[o];
            high[outputs[o]] = upper[o];
        }
    });
    return {pooled(std::move(low)), pooled(std::move(high))};
}

}  // namespace holdfast
