#pragma once

#include <memory>
#include <vector>

#include "models/nets/network.hpp"
#include "models/nets/panel.hpp"

namespace holdfast {

/// The parameters of a network at one level, packed for a backend. Point: lower == upper.
class PackedNetwork {
  public:
    template <typename Real>
    PackedNetwork(const Network& network, const BasicBackend<Real>& backend, const std::int64_t* lower,
                  const std::int64_t* upper);
    const PackedLayer& layer(std::size_t index) const { return *layers_[index]; }
    bool is_point() const { return layers_.front()->is_point(); }

  private:
    std::vector<std::unique_ptr<PackedLayer>> layers_;
};

/// Forward and backward of one panel at one level, bounds and all. Holds the buffers; one a thread.
/// Every panel and every box gives finite bounds (saturated(), kernels/base/arithmetic.hpp).
template <typename Real>
class BasicIntervalPass {
  public:
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;
    using Panel = BasicPanel<Real>;

    BasicIntervalPass(const Network& network, const BasicBackend<Real>& backend);

    /// Activations up to the input of the last layer (the panel's features if there is only one layer).
    void forward_hidden(const PackedNetwork& parameters, const Panel& panel);
    /// The last layer's logits, [outputs, panel_height], after forward_hidden at a point or a box. `last` may
    /// be another last layer of the same input (models/certify/margins.hpp), a box even after a point.
    ConstInterval last_layer(const PackedLayer& last, const Panel& panel, bool hidden_point);
    ConstInterval forward(const PackedNetwork& parameters, const Panel& panel);

    /// The least upper bounds, and the least of the lower bounds negated, of every parameter's gradients.
    struct Selections {
        Selection& least_upper;
        Selection& least_negated_lower;
    };
    /// After forward(): adds the clipped gradients' bounds to the sums [parameters], and offers them to
    /// `selections` (may be null; then not for points).
    void accumulate(const PackedNetwork& parameters, const Panel& panel, const Clip& clip,
                    std::int64_t* sum_lower, std::int64_t* sum_upper, const Selections* selections = nullptr);

  private:
    struct Buffer {
        AlignedVector<Real> lower, upper;
        explicit Buffer(std::size_t size) : lower(size), upper(size) {}
        Interval view(bool point) { return {lower.data(), point ? lower.data() : upper.data()}; }
    };

    const Network& network_;
    const BasicBackend<Real>& backend_;
    std::vector<Buffer>
        activations_;             // [layer]: its output, after ReLU but for the last; [out, panel_height]
    std::vector<Buffer> rows_;    // [layer]: the same transposed, for the outer product
    std::vector<Buffer> deltas_;  // [layer]: derivative of the loss by its pre-activation
};
using IntervalPass = BasicIntervalPass<double>;

}  // namespace holdfast
