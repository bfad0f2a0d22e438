#pragma once

#include <cstddef>

namespace holdfast {

/// The sum of term(0) to term(n - 1) as sixteen sums, each in order: what a processor adds side by side.
template <typename Term>
double in_sixteen_sums(std::size_t n, const Term& term) {
    constexpr std::size_t lanes = 16;
    double sums[lanes] = {};
    const std::size_t whole = n - n % lanes;
    for (std::size_t i = 0; i < whole; i += lanes)
        for (std::size_t k = 0; k < lanes; ++k) sums[k] += term(i + k);
    for (std::size_t i = whole; i < n; ++i) sums[i % lanes] += term(i);
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
        for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
    return sums[0];
}

}  // namespace holdfast
