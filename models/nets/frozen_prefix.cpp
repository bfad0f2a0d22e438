#include "models/nets/frozen_prefix.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

DenseRows dense_of(const LayerShape& layer, const std::int64_t* units) {
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

}  // namespace

FrozenPrefix::FrozenPrefix(InputTransform input, std::vector<Layer> layers, std::vector<std::int64_t> units)
    : input_(input), layers_(std::move(layers)), units_(std::move(units)) {
    std::size_t at = 0;
    for (const LayerShape& layer : layers_) {
        ensure(at + layer.parameters() <= units_.size(), "a prefix has its layers' parameters");
        dense_.push_back(dense_of(layer, units_.data() + at));
        at += layer.parameters();
    }
    ensure(!layers_.empty() && at == units_.size(), "a prefix has its layers' parameters");
    bound();
}

/// The same layers from the ends of the range: every operation is monotone, so no record gives more.
void FrozenPrefix::bound() {
    std::vector<double> low(columns(), input_.apply<double>(input_.range.low)),
        high(columns(), input_.apply<double>(input_.range.high));
    for (const DenseRows& layer : dense_) {
        std::vector<double> least(layer.out()), greatest(layer.out());
        layer.bound(low.data(), high.data(), least.data(), greatest.data());
        activate(least);
        activate(greatest);
        low = std::move(least);
        high = std::move(greatest);
    }
    largest_ = *std::max_element(high.begin(), high.end());
    // Of parts of the largest: the square of one that is saturated has no place beside others.
    double squares = 0;
    for (const double entry : high) squares += largest_ > 0 ? (entry / largest_) * (entry / largest_) : 0;
    norm_ = largest_ * std::sqrt(squares);
}

void FrozenPrefix::apply(const double* columns, double* entries) const {
    std::vector<double> values(this->columns());
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = input_.apply<double>(columns[j]);
    for (const DenseRows& layer : dense_) {
        std::vector<double> next(layer.out());
        layer.apply(values.data(), next.data());
        activate(next);
        values = std::move(next);
    }
    std::copy(values.begin(), values.end(), entries);
}

}  // namespace holdfast
