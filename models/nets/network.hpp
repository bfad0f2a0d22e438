#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// Error (usage): the loss is not for so many classes; of numbers, a regression, there is 1.
void require_loss_for(std::size_t classes, Loss loss);

/// Layers with ReLU between them, the last one dense, and a loss on its logits.
/// Parameters are one array: layer after layer, each [out, in + 1] with the bias last in its row.
class Network {
  public:
    /// Each layer takes what the one before gives.
    /// Error (usage): no inputs, as require_loss_for().
    Network(std::vector<Layer> layers, std::size_t classes, Loss loss, InputTransform transform = {});
    /// Of dense layers alone.
    /// Error (usage): as there; a hidden layer of width 0.
    Network(std::size_t inputs, const std::vector<std::size_t>& hidden, std::size_t classes, Loss loss,
            InputTransform transform = {});

    const NetworkShape& shape() const { return shape_; }
    const std::vector<Layer>& layers() const { return shape_.layers; }
    std::size_t offset(std::size_t layer) const { return shape_.offset(layer); }  ///< of its first parameter
    std::size_t parameters() const { return shape_.parameters(); }
    std::size_t inputs() const { return shape_.inputs(); }
    std::size_t outputs() const { return shape_.outputs(); }
    std::size_t classes() const { return classes_; }
    Loss loss() const { return shape_.loss; }
    /// Does it give a number, rather than tell classes apart?
    bool is_regression() const { return info_of(loss()).of_numbers; }
    InputTransform transform() const { return shape_.input; }

    /// For each parameter: is it a bias?
    std::vector<bool> biases() const;
    /// The biases that are 0 and stay 0: of layers without.
    std::vector<std::size_t> pinned() const;

    /// Uniform in +-1/sqrt(in), public: a function of the seed and the member.
    std::vector<std::int64_t> initial_parameters(std::uint64_t seed, std::uint64_t member) const;

  private:
    NetworkShape shape_;
    std::size_t classes_;
};

/// How many logits tell so many classes apart.
std::size_t logits_of(std::size_t classes, Loss loss);

}  // namespace holdfast
