#pragma once

#include <vector>

#include "models/nets/interval_pass.hpp"

namespace holdfast {

/// Decisions are made, and certified, on pairwise margins: for each pair of classes a < b the value z_a -
/// z_b, one affine function of the last hidden layer with parameters theta_a - theta_b (exact in integers).
/// Bounding the difference is tighter than subtracting the bounds of two logits. With one logit z the only
/// margin is that of class 0 over class 1, -z.
class MarginLayer {
  public:
    /// From the box of a whole network, [parameters]; the same pointer twice for a point.
    template <typename Real>
    MarginLayer(const Network& network, const BasicBackend<Real>& backend, const std::int64_t* lower,
                const std::int64_t* upper);
    const PackedLayer& layer() const { return *layer_; }  ///< [pairs, in + 1]

  private:
    std::unique_ptr<PackedLayer> layer_;
};

/// Margins of a panel at one level; answers for record r. Comparisons are strict, so NaN decides and
/// certifies nothing.
template <typename Real>
class BasicMargins {
  public:
    BasicMargins(std::size_t classes, BasicConstInterval<Real> values) : classes_(classes), values_(values) {}

    /// Lower bound of z_a - z_b.
    Real least(std::size_t a, std::size_t b, std::size_t r) const {
        return a < b ? values_.lower[pair(a, b) * panel_height + r]
                     : -values_.upper[pair(b, a) * panel_height + r];
    }
    /// The predicted class of a point: classes challenge the champion in order, ties keep it. If `c` has a
    /// positive margin over every other class at a point, it wins here.
    std::size_t winner(std::size_t r) const;
    /// c has a positive margin over every other class, everywhere in the box: every run in the box answers c.
    bool certified(std::size_t c, std::size_t r) const;
    /// Some class has a positive margin over j everywhere in the box: no run in the box answers j.
    bool beaten(std::size_t j, std::size_t r) const;

  private:
    std::size_t pair(std::size_t a, std::size_t b) const {
        return a * (2 * classes_ - a - 1) / 2 + (b - a - 1);
    }
    std::size_t classes_;
    BasicConstInterval<Real> values_;
};
using Margins = BasicMargins<double>;

}  // namespace holdfast
