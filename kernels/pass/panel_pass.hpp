#pragma once

#include <memory>
#include <vector>

#include "kernels/ops/correct_rule.hpp"
#include "kernels/pass/panel.hpp"

namespace holdfast {

/// The parameters of a network in one box, packed for a set of operations. Point: lower == upper.
template <typename Real>
class PackedNetwork {
  public:
    PackedNetwork(const NetworkShape& network, const PanelOperations<Real>& operations,
                  const std::int64_t* lower, const std::int64_t* upper);
    const PackedLayer& layer(std::size_t index) const { return *layers_[index]; }
    bool is_point() const { return layers_.front()->is_point(); }

  private:
    std::vector<std::unique_ptr<PackedLayer>> layers_;
};

/// What the records of panels add to: the sums of one variant.
struct VariantSums {
    SumBounds sums;           ///< [parameters]
    std::int64_t* correct;    ///< [2]: surely, possibly
    LeastEntries* selection;  ///< null: none
    std::int64_t* undecided;  ///< [hidden layers], as StepMessage counts them; null: not counted
};

/// Forward and backward of one panel in one box, bounds and all. Holds the buffers; one a thread. Every panel
/// and every box gives finite bounds (saturated(), kernels/base/arithmetic.hpp).
template <typename Real>
class PanelPass {
  public:
    using Interval = BasicInterval<Real>;
    using ConstInterval = BasicConstInterval<Real>;

    /// last_rows: outputs that a layer may have that stands in for the last one.
    PanelPass(const NetworkShape& network, const PanelOperations<Real>& operations,
              std::size_t last_rows = 0);

    /// Adds the clipped gradients of the panel's records, and counts which are correct.
    void add_gradients(const PackedNetwork<Real>& parameters, const Panel<Real>& panel, const Clip& clip,
                       const VariantSums& sums);
    /// The same of records that `poison` may turn into anything within `poisoned`, in a box: what that could
    /// add to each entry is offered to the selection, not the entries.
    void add_poisonable(const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
                        const PanelBounds<Real>& poisoned, const Poison& poison, const Clip& clip,
                        const VariantSums& sums);
    /// The outputs of `last`, [rows, panel_height], behind the hidden layers; a box even after a point.
    ConstInterval outputs(const PackedNetwork<Real>& parameters, const PackedLayer& last,
                          const Panel<Real>& panel);

  private:
    struct Buffer {
        AlignedVector<Real> lower, upper;
        explicit Buffer(std::size_t size) : lower(size), upper(size) {}
        Interval view(bool point) { return {lower.data(), point ? lower.data() : upper.data()}; }
    };
    class Gradients;
    class PoisonedGradients;

    void apply(const PackedLayer& layer, std::size_t l, bool input_is_point, ConstInterval features);
    void backward(const PackedLayer& layer, std::size_t l, bool point);
    /// Makes rows_[l - 1].
    void transpose(std::size_t l, bool point);
    /// Of layer l's input and delta, which have been made.
    OuterProduct<Real> product(std::size_t l, const PanelBounds<Real>& panel, const Clip& clip, bool point);

    const NetworkShape& network_;
    const PanelOperations<Real>& operations_;
    std::vector<Buffer>
        activations_;             // [layer]: its output, after ReLU but for the last; [out, panel_height]
    std::vector<Buffer> rows_;    // [layer]: the same transposed, for the outer product
    std::vector<Buffer> deltas_;  // [layer]: derivative of the loss by its pre-activation
    std::unique_ptr<PanelPass> poisoned_;  // the buffers of poisoned records; where there are any
};

}  // namespace holdfast
