#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/ops/clip.hpp"

namespace holdfast {

/// Clipping a record's whole gradient to a 2-norm of at most S = Clip::weight_units() units of its grid, as
/// the integers that are added (models/mathematics.md, whole gradient; tests/property/norm_clip_test.cpp).
/// The gradient of layer l is the product of delta_l and (z_l, 1), so its square is |delta_l|^2 (1 +
/// |z_l|^2), known without the product: `square` is the sum of these over the layers, in double, in the order
/// of layers and rows. Every delta of the record is multiplied by scale_of(square) before the outer products.
/// Lemma: the integers v of a record's entries then satisfy |v|_2 <= S, whatever the record and the
/// parameters. What products, factors made odd (odd_slack each) and `square` lose to rounding is less than
/// the part `slack`; an entry's rounding to the grid adds at most 1/2, so sqrt(p)/2 over p parameters; what
/// underflows, less than 1. The limit inside leaves room for all of it.
/// A row that counts by a weight is held to floor(weight S) in place of S: the rows of a person, whose weights
/// add to 1 at most, then add to S at most (models/mathematics.md, rows of a person).
template <typename Real>
class NormRule {
  public:
    NormRule(const Clip& clip, std::size_t parameters) : inside_(inside(clip, parameters)) {}

    /// The limit before rounding, in the gradient's own measure; not above 0 where rounding alone may exceed
    /// the clip.
    static double inside(const Clip& clip, std::size_t parameters, double weight = 1) {
        const auto p = static_cast<double>(parameters);
        const double slack = 8 * static_cast<double>(std::numeric_limits<Real>::epsilon()) + p * 0x1p-50;
        const double units = std::floor(weight * static_cast<double>(clip.weight_units<Real>()));
        const double lost = std::sqrt(p) / 2 + 2;
        return (units - lost) * static_cast<double>(clip.grid<Real>().unit()) / (1 + slack);
    }

    /// Of a gradient whose square is +infinity: 0.
    HOLDFAST_PORTABLE double scale_of(double square) const { return scale_of(square, 1.0, inside_); }
    /// Of a row that counts by `weight`; inside: its limit, and it is above 0.
    HOLDFAST_PORTABLE static double scale_of(double square, double weight, double inside) {
        const double norm = std::sqrt(square);
        return norm * weight > inside ? inside / norm : weight;
    }

  private:
    double inside_;
};

}  // namespace holdfast
