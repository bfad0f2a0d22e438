#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ops/network_shape.hpp"
#include "models/nets/dense_rows.hpp"

namespace holdfast {

/// A layer at a point, in double and in a fixed order: DenseRows at every position of its window (once, if it
/// is dense), where a tap beside the image reads 0; max(0, ·), saturated; then of every window that is pooled
/// the greatest value, or the sum in order over the number of taps. Every operation is monotone, and so is
/// all of it.
class PointLayer {
  public:
    PointLayer(const Layer& layer, const std::int64_t* units);

    std::size_t in() const { return layer_.input_rows(); }
    std::size_t out() const { return layer_.output_rows(); }
    std::vector<double> apply(const std::vector<double>& x) const;
    /// What no x from `low` to `high` exceeds, or falls below.
    struct Bounds {
        std::vector<double> low, high;
    };
    Bounds bound(const Bounds& x) const;

  private:
    /// Calls at(rows, inputs, outputs) for every dense map of the layer: of which of x, and into which of
    /// what comes before pooling. An input that is `beside` is 0.
    template <typename At>
    void for_each_map(At at) const;
    std::vector<double> pooled(std::vector<double> values) const;

    static constexpr std::size_t beside = SIZE_MAX;
    Layer layer_;
    std::vector<DenseRows> groups_;  ///< one, if it is dense
};

}  // namespace holdfast
