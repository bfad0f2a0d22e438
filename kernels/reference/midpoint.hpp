#pragma once

#include <span>
#include <utility>

#include "kernels/reference/operations.hpp"

namespace holdfast::midpoint {

/// Interval products in midpoint-radius form (Rump 1999; Nguyen 2012), as the AGT package forms them: wider
/// than the exact ones and not isotone bit by bit; rounded outwards, so that inclusion still holds
/// (models/mathematics.md, midpoint-radius products).

/// [a] * [b].
std::pair<double, double> product(Product product, double a_lower, double a_upper, double b_lower,
                                  double b_upper);
/// Of the products of so many pairs of factors.
std::pair<double, double> sum(Product product, std::span<const reference::Factors<double>> factors);
/// a = W z + b; W, b from lower, upper [out, in + 1].
void forward(Product product, LayerShape shape, const double* lower, const double* upper, ConstInterval z,
             Interval a);
/// d = gate(z) * (W^T delta).
void backward(Product product, LayerShape shape, const double* lower, const double* upper,
              ConstInterval delta, ConstInterval z, Interval d);

}  // namespace holdfast::midpoint
