#pragma once

#include <cstddef>

namespace holdfast {

/// The sum of term(0) to term(n - 1) as four sums, each in order: what a processor adds side by side.
template <typename Term>
double in_four_sums(std::size_t n, const Term& term) {
    double sums[4] = {};
    const std::size_t whole = n - n % 4;
    for (std::size_t i = 0; i < whole; i += 4)
        for (std::size_t k = 0; k < 4; ++k) sums[k] += term(i + k);
    for (std::size_t i = whole; i < n; ++i) sums[i % 4] += term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace holdfast
