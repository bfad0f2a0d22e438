#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/convex/upper.hpp"

namespace holdfast {

/// A symmetric matrix, or a triangular one: the lower triangle, row by row.
class Symmetric {
  public:
    explicit Symmetric(std::size_t size) : size_(size), entries_(size * (size + 1) / 2, 0) {}

    std::size_t size() const { return size_; }
    double* row(std::size_t i) { return entries_.data() + i * (i + 1) / 2; }  ///< entries 0..i
    const double* row(std::size_t i) const { return entries_.data() + i * (i + 1) / 2; }
    Upper trace() const;

    /// L of L L' = matrix - shift I, by Cholesky; nothing: a pivot is not above 0.
    std::optional<Symmetric> factor(double shift = 0) const;
    /// Of a triangular matrix with a diagonal above 0, up to rounding.
    Symmetric inverse_of_triangle() const;
    /// No eigenvalue of any symmetric matrix within `off` of this one, in the 2-norm, is below it
    /// (models/mathematics.md, smallest eigenvalue). A matrix >= 0, else it may be far too small.
    double least_eigenvalue(Upper off) const;

  private:
    std::size_t size_;
    std::vector<double> entries_;
};

}  // namespace holdfast
