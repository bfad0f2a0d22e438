#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ops/backend.hpp"
#include "models/nets/panel.hpp"

namespace holdfast {

/// Dense layers with ReLU between them, and a loss on the last one's logits.
/// Parameters are one array: layer after layer, each [out, in + 1] with the bias last in its row.
class Network {
  public:
    /// One logit with binary cross-entropy, or `classes` logits with cross-entropy.
    /// Error (usage): no inputs, a hidden layer of width 0, fewer than two classes, one logit for more than
    /// two.
    Network(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t classes, Loss loss,
            InputTransform transform = {});

    const std::vector<LayerShape>& layers() const { return layers_; }
    std::size_t offset(std::size_t layer) const { return offsets_[layer]; }  ///< of its first parameter
    std::size_t parameters() const { return offsets_.back(); }
    std::size_t inputs() const { return layers_.front().in; }
    std::size_t outputs() const { return layers_.back().out; }
    std::size_t classes() const { return classes_; }
    std::size_t widest() const;  ///< most rows of any panel
    Loss loss() const { return loss_; }
    InputTransform transform() const { return transform_; }
    template <typename Real = double>
    BasicPanel<Real> empty_panel() const {
        return BasicPanel<Real>(inputs(), transform_);
    }

    /// For each parameter: is it a bias?
    std::vector<bool> biases() const;

    /// Uniform in +-1/sqrt(in), public: a function of the seed and the member.
    std::vector<std::int64_t> initial_parameters(std::uint64_t seed, std::uint64_t member) const;

  private:
    std::vector<LayerShape> layers_;
    std::vector<std::size_t> offsets_;  // one more than layers
    std::size_t classes_;
    Loss loss_;
    InputTransform transform_;
};

}  // namespace holdfast
