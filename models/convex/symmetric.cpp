#include "models/convex/symmetric.hpp"

#include <cmath>
#include <limits>

namespace holdfast {
namespace {

/// Far above what underflow adds to a factor's products, far below any pivot that decides.
constexpr double underflow = 0x1p-900;

}  // namespace

Upper Symmetric::trace() const {
    Upper sum;
    for (std::size_t i = 0; i < size_; ++i) sum = sum + Upper(std::abs(row(i)[i]));
    return sum;
}

std::optional<Symmetric> Symmetric::factor(double shift) const {
    Symmetric root(size_);
    for (std::size_t i = 0; i < size_; ++i) {
        double* mine = root.row(i);
        for (std::size_t j = 0; j <= i; ++j) {
            const double* other = root.row(j);
            double rest = row(i)[j] - (i == j ? shift : 0);
            for (std::size_t l = 0; l < j; ++l) rest -= mine[l] * other[l];
            if (i == j && !(rest > 0)) return std::nullopt;
            mine[j] = i == j ? std::sqrt(rest) : rest / other[j];
        }
    }
    return root;
}

Symmetric Symmetric::inverse_of_triangle() const {
    Symmetric inverse(size_);
    for (std::size_t i = 0; i < size_; ++i) {
        for (std::size_t l = 0; l < i; ++l) {
            for (std::size_t j = 0; j <= l; ++j) inverse.row(i)[j] -= row(i)[l] * inverse.row(l)[j];
        }
        for (std::size_t j = 0; j < i; ++j) inverse.row(i)[j] /= row(i)[i];
        inverse.row(i)[i] = 1 / row(i)[i];
    }
    return inverse;
}

double Symmetric::least_eigenvalue(Upper off) const {
    constexpr int halvings = 20;
    double shift = 0, beyond = trace().value();
    for (int halving = 0; halving < halvings; ++halving) {
        const double middle = (shift + beyond) / 2;
        (factor(middle) ? shift : beyond) = middle;
    }
    if (shift == 0 && !factor()) return -std::numeric_limits<double>::infinity();
    const Upper entries = trace() + Upper::of_count(size_) * Upper(shift);
    const Upper rounding = Upper::of_count(size_ + 4) * Upper(0x1p-51) * entries + Upper(underflow) + off;
    return std::nextafter(shift - rounding.value(), -std::numeric_limits<double>::infinity());
}

}  // namespace holdfast
