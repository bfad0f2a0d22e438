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

/// What the outputs of each layer are multiplied by, [layers or fewer][output_rows] (Engine::set_dropout); an
/// empty one: by nothing.
template <typename Real>
using DropoutFactors = std::vector<std::vector<Real>>;

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

    /// Adds the clipped gradients of the panel's records, and counts which are correct. gathered: what may
    /// keep products until its finish(); null: they are in the sums at once.
    void add_gradients(const PackedNetwork<Real>& parameters, const Panel<Real>& panel, const Clip& clip,
                       const DropoutFactors<Real>& dropout, const VariantSums& sums,
                       OuterSums<Real>* gathered = nullptr);
    /// The same of records that `poison` may turn into anything within `poisoned`, in a box: what that could
    /// add to each entry is offered to the selection, not the entries. Of dense networks.
    void add_poisonable(const PackedNetwork<Real>& parameters, const Panel<Real>& panel,
                        const PanelBounds<Real>& poisoned, const Poison& poison, const Clip& clip,
                        const VariantSums& sums);
    /// The outputs of `last`, [rows, panel_height], behind the hidden layers, nothing left out; a box even
    /// after a point. features: [inputs, panel_height], a point or what bounds them.
    ConstInterval outputs(const PackedNetwork<Real>& parameters, const PackedLayer& last,
                          ConstInterval features);

  private:
    struct Buffer {
        AlignedVector<Real> lower, upper;
        explicit Buffer(std::size_t size) : lower(size), upper(size) {}
        Interval view(bool point) { return {lower.data(), point ? lower.data() : upper.data()}; }
    };
    class Gradients;
    class PoisonedGradients;

    /// activations_[l] and outputs_[l] from the layer before it, or from the features.
    void apply(const PackedLayer& layer, std::size_t l, bool input_is_point, ConstInterval features,
               const DropoutFactors<Real>& dropout);
    void weigh(const PackedLayer& layer, std::size_t l, ConstInterval z, Interval a);
    /// Of a first layer whose input is a box of any sign: at each position forward_box() of what the window
    /// reads, by all channels, of which those of its group are kept.
    void convolve_box(const PackedLayer& layer, const Convolution& convolution, ConstInterval x, Interval a);
    /// What layer l hands on to the next.
    Buffer& output(std::size_t l, const DropoutFactors<Real>& dropout);
    /// deltas_[l - 1] from deltas_[l].
    void backward(const PackedLayer& layer, std::size_t l, bool point, const DropoutFactors<Real>& dropout);
    void transposed(const PackedLayer& layer, std::size_t l, bool point, ConstInterval z, Interval d);
    /// Of layer l, which is dense: makes the rows of its input, if it is not the first.
    void make_rows(std::size_t l, bool point, const DropoutFactors<Real>& dropout);
    /// Of layer l's rows and delta, which have been made.
    OuterProduct<Real> product(std::size_t l, const PanelBounds<Real>& panel, const Clip& clip, bool point);

    const NetworkShape& network_;
    const PanelOperations<Real>& operations_;
    // [layer], of rows by panel_height:
    std::vector<Buffer> activations_;  // what its weights give, after ReLU but for the last
    std::vector<Buffer> outputs_;      // that after pooling and dropout, where there is any
    std::vector<Buffer> rows_;         // its output transposed, for the outer product of a dense layer
    std::vector<Buffer> deltas_;       // derivative of the loss by its pre-activation
    Buffer behind_;                    // derivative by the outputs of a layer that has outputs_
    AlignedVector<Real> ones_;         // activations whose gate is open, of as many rows
    Buffer patch_, patch_rows_, patch_deltas_;  // of one position: a window's taps, by record too; channels
    std::unique_ptr<PanelPass> poisoned_;       // the buffers of poisoned records; where there are any
};

}  // namespace holdfast
