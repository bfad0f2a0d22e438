#include "models/privacy/mechanisms/products.hpp"

#include <cmath>
#include <numbers>

namespace holdfast {

Quadrature::Quadrature(std::size_t n) : nodes(n), weights(n) {
    for (std::size_t i = 0; i < n; ++i) {
        double x =
            std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
        double derivative = 0;
        for (int step = 0; step < 60; ++step) {  // Newton from a close guess
            double previous = 1, value = x;      // Legendre P_0, P_1
            for (std::size_t k = 2; k <= n; ++k) {
                const double order = static_cast<double>(k);
                const double next = ((2 * order - 1) * x * value - (order - 1) * previous) / order;
                previous = value;
                value = next;
            }
            derivative = static_cast<double>(n) * (x * value - previous) / (x * x - 1);
            const double change = value / derivative;
            x -= change;
            if (std::abs(change) < 1e-16) break;
        }
        nodes[i] = (1 + x) / 2;
        weights[i] = 1 / ((1 - x * x) * derivative * derivative);
    }
}

std::vector<double> products_of_others(const std::vector<double>& factors) {
    std::vector<double> result(factors.size(), 1.0);
    double before = 1, after = 1;
    for (std::size_t j = 0; j < factors.size(); ++j) {
        result[j] *= before;
        before *= factors[j];
    }
    for (std::size_t j = factors.size(); j-- > 0;) {
        result[j] *= after;
        after *= factors[j];
    }
    return result;
}

Rational integral_of_product(const std::vector<Rational>& constants, const std::vector<Rational>& slopes,
                             std::size_t j) {
    std::vector<Rational> polynomial{1};
    for (std::size_t i = 0; i < constants.size(); ++i) {
        if (i == j) continue;
        std::vector<Rational> product(polynomial.size() + 1, 0);
        for (std::size_t k = 0; k < polynomial.size(); ++k) {
            product[k] += polynomial[k] * constants[i];
            product[k + 1] += polynomial[k] * slopes[i];
        }
        polynomial = std::move(product);
    }
    Rational integral = 0;
    for (std::size_t k = 0; k < polynomial.size(); ++k)
        integral += polynomial[k] / Rational(static_cast<unsigned long>(k + 1));
    return integral;
}

}  // namespace holdfast
