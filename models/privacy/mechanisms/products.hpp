#pragma once

#include <cstddef>
#include <vector>

#include "models/privacy/rational.hpp"

namespace holdfast {

// Integrals over [0, 1] of products of linear functions, one a class: what the laws of the greatest of
// several random things come to.

/// Nodes and weights of Gauss-Legendre quadrature on [0, 1], exact for polynomials of degree below 2 n.
struct Quadrature {
    explicit Quadrature(std::size_t n);
    std::vector<double> nodes, weights;
};

/// result[j] = product of all factors but factors[j], without division.
std::vector<double> products_of_others(const std::vector<double>& factors);

/// Integral over s in [0, 1] of the product over i != j of (constant_i + slope_i s), exactly.
Rational integral_of_product(const std::vector<Rational>& constants, const std::vector<Rational>& slopes,
                             std::size_t j);

}  // namespace holdfast
