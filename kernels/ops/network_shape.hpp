#pragma once

#include <cstddef>
#include <vector>

#include "kernels/ops/input_transform.hpp"
#include "kernels/ops/loss.hpp"

namespace holdfast {

/// A dense layer: parameters [out, in + 1], the bias last in each row.
struct LayerShape {
    std::size_t in, out;
    std::size_t parameters() const { return out * (in + 1); }
};

/// Dense layers with ReLU between them, and a loss on the last one's logits. Parameters are one array, layer
/// after layer.
struct NetworkShape {
    std::vector<LayerShape> layers;
    Loss loss;
    InputTransform input = {};

    std::size_t inputs() const { return layers.front().in; }
    std::size_t outputs() const { return layers.back().out; }
    std::size_t last() const { return layers.size() - 1; }
    std::size_t parameters() const { return offset(layers.size()); }
    std::size_t offset(std::size_t layer) const {  ///< of its first parameter
        std::size_t count = 0;
        for (std::size_t l = 0; l < layer; ++l) count += layers[l].parameters();
        return count;
    }
    std::size_t widest() const {  ///< outputs of any layer
        std::size_t rows = 0;
        for (const LayerShape& layer : layers) rows = layer.out > rows ? layer.out : rows;
        return rows;
    }
};

}  // namespace holdfast
