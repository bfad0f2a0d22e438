#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ops/network_shape.hpp"
#include "models/nets/point_layer.hpp"

namespace holdfast {

/// The hidden layers of a public model, of which records become what its last hidden layer gives: computed in
/// double whatever the model's precision, by PointLayer.
class FrozenPrefix {
  public:
    /// units: [parameters] of these layers, as Network has them. One layer at least.
    FrozenPrefix(InputTransform input, std::vector<Layer> layers, std::vector<std::int64_t> units);

    const InputTransform& input() const { return input_; }  ///< what its first layer sees of a column
    const std::vector<Layer>& layers() const { return layers_; }
    const std::vector<std::int64_t>& units() const { return units_; }

    std::size_t columns() const { return layers_.front().input_rows(); }
    std::size_t outputs() const { return layers_.back().output_rows(); }
    FeatureRange entries() const { return {0, largest_}; }
    double norm() const { return norm_; }  ///< of no record's entries exceeded, but for the rounding of this
    /// The entries [outputs] of a record's columns.
    void apply(const double* columns, double* entries) const;

  private:
    void bound();

    InputTransform input_;
    std::vector<Layer> layers_;
    std::vector<std::int64_t> units_;
    std::vector<PointLayer> points_;
    double largest_ = 0, norm_ = 0;
};

}  // namespace holdfast
