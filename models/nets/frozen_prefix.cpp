#include "models/nets/frozen_prefix.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
FrozenPrefix::FrozenPrefix(InputTransform input, std::vector<Layer> layers, std::vector<std::int64_t> units)
    : input_(input), layers_(std::move(layers)), units_(std::move(units)) {
    std::size_t at = 0;
    for (const Layer& layer : layers_) {
        ensure(at + layer.parameters() <= units_.size(), "a prefix has its layers' parameters");
        points_.push_back(PointLayer(layer, units_.data() + at));
        at += layer.parameters();
    }
    ensure(!layers_.empty() && at == units_.size(), "a prefix has its layers' parameters");
    bound();
}

/// The same layers from the ends of the range: every operation is monotone, so no record gives more.
void FrozenPrefix::bound() {
    PointLayer::Bounds entries{std::vector<double>(columns(), input_.apply<double>(input_.range.low)),
                               std::vector<double>(columns(), input_.apply<double>(input_.range.high))};
    for (const PointLayer& layer : points_) entries = layer.bound(entries);
    const std::vector<double>& high = entries.high;
    largest_ = *std::max_element(high.begin(), high.end());
    // Of parts of the largest: the square of one that is saturated has no place beside others.
    double squares = 0;
    for (const double entry : high) squares += largest_ > 0 ? (entry / largest_) * (entry / largest_) : 0;
    norm_ = largest_ * std::sqrt(squares);
}

void FrozenPrefix::apply(const double* columns, double* entries) const {
    std::vector<double> values(this->columns());
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = input_.apply<double>(columns[j]);
    for (const PointLayer& layer : points_) values = layer.apply(values);
    std::copy(values.begin(), values.end(), entries);
}

}  // namespace holdfast
