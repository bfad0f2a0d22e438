#pragma once

#include <cmath>
#include <cstddef>

#include "kernels/ops/clip.hpp"

namespace holdfast {

/// Clipping a record's whole gradient to a 2-norm of at most S = Clip::weight_units() units of its grid, as
/// the integers that are added (models/mathematics.md, whole gradient; tests/property/norm_clip_test.cpp).
/// The gradient of a dense layer l is the product of delta_l and (z_l, 1), so its square is |delta_l|^2 (1 +
/// |z_l|^2), known without the product; that of a convolution is of its sums over positions, which are
/// formed. `square` is the sum of these over the layers, in double, in the order of layers and rows. Every
/// delta of a dense layer is multiplied by scale_of(square) before the outer products, and every sum of a
/// convolution. Lemma: the integers v of a record's entries then satisfy |v|_2 <= S, whatever the record and
/// the parameters. What products, factors made odd (odd_slack each) and `square` lose to rounding is less
/// than the part `slack`; an entry's rounding to the grid adds at most 1/2, so sqrt(p)/2 over p parameters;
/// what underflows, less than 1. The limit inside leaves room for all of it. A row of a person, which counts
/// by clip.part, is held to floor(part S) in place of S: the rows of a person, whose parts add to 1 at most,
/// then add to S at most (models/mathematics.md, rows of a person).
template <typename Real>
class NormRule {
  public:
    NormRule(const Clip& clip, std::size_t parameters)
        : inside_(inside(clip, parameters)), part_(clip.part) {}

    /// The limit before rounding, in the gradient's own measure; not above 0 where rounding alone may exceed
    /// the clip.
    static double inside(const Clip& clip, std::size_t parameters) {
        const auto p = static_cast<double>(parameters);
        const double slack = 8 * static_cast<double>(std::numeric_limits<Real>::epsilon()) + p * 0x1p-50;
        const auto units = static_cast<double>(clip.weight_units<Real>());
        const double lost = std::sqrt(p) / 2 + 2;
        return (units - lost) * static_cast<double>(clip.grid<Real>().unit()) / (1 + slack);
    }

    /// Of a gradient whose square is +infinity: 0.
    HOLDFAST_PORTABLE double scale_of(double square) const {
        const double norm = std::sqrt(square);
        return norm * part_ > inside_ ? inside_ / norm : part_;
    }

  private:
    double inside_, part_;
};

}  // namespace holdfast
