#pragma once

#include <cmath>

#include "kernels/ops/clip.hpp"

namespace holdfast {

/// What the entries of one record's gradient are multiplied by, to bring its 2-norm to a clip's norm_limit:
/// of a box, bounds (models/mathematics.md, record scales).
template <typename Real>
struct RecordScale {
    Real least = 1, greatest = 1;
};

/// Bounds of a sum of squares over a box.
struct SquareBounds {
    double least = 0, greatest = 0;

    /// + value^2, of a value in [lower, upper]: the least and the greatest magnitude there.
    void add(double lower, double upper) {
        const double low = std::abs(lower), high = std::abs(upper);
        const double nearest = lower <= 0 && upper >= 0 ? 0 : std::min(low, high),
                     farthest = std::max(low, high);
        least = std::fma(nearest, nearest, least);
        greatest = std::fma(farthest, farthest, greatest);
    }
    SquareBounds& operator+=(const SquareBounds& other) {
        least += other.least;
        greatest += other.greatest;
        return *this;
    }
    /// Of the products of two families: |a b^T|^2 = |a|^2 |b|^2.
    friend SquareBounds operator*(const SquareBounds& a, const SquareBounds& b) {
        return {a.least * b.least, a.greatest * b.greatest};
    }
};

/// min(1, limit / (norm + 1e-6)), as the AGT package has it; of a square that is +infinity: 0.
inline double scale_to(double limit, double square) {
    constexpr double beside = 1e-6;
    return std::min(1.0, limit / (std::sqrt(square) + beside));
}
template <typename Real>
RecordScale<Real> scale_to(double limit, const SquareBounds& square) {
    return {static_cast<Real>(scale_to(limit, square.greatest)),
            static_cast<Real>(scale_to(limit, square.least))};
}

}  // namespace holdfast
