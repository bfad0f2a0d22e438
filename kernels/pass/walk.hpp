#pragma once

#include <cstddef>

namespace holdfast {

/// The one walk over a network, for whatever holds the arrays: `pass` does the work of each step on all it
/// has in hand, a panel of the host (panel_pass.hpp) or a chunk of records and many boxes on a device
/// (kernels/cuda/variant_pass.hpp).

/// forward(l): the outputs of layer l, from those of the layer before or the features.
template <typename Pass>
void walk_forward(std::size_t layers, Pass& pass) {
    for (std::size_t l = 0; l < layers; ++l) pass.forward(l);
}

/// Backpropagation: loss(), the derivative by the logits, whose labels are counted there too; outer(l), the
/// gradient of layer l's parameters; backward(l), the derivative by the inputs of layer l. Where a record's
/// gradient is clipped as a whole, clip_records() knows all of it before any is added.
template <typename Pass>
void walk_gradient(std::size_t layers, Pass& pass) {
    walk_forward(layers, pass);
    pass.loss();
    if (pass.clips_whole_records()) {
        for (std::size_t l = layers - 1; l > 0; --l) pass.backward(l);
        pass.clip_records();
        for (std::size_t l = 0; l < layers; ++l) pass.outer(l);
        return;
    }
    for (std::size_t l = layers - 1; l > 0; --l) {
        pass.outer(l);
        pass.backward(l);
    }
    pass.outer(0);
}

}  // namespace holdfast
