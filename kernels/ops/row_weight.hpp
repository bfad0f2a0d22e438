#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/base/arithmetic.hpp"

namespace holdfast {

/// Of a weight: every one is a whole number of them.
constexpr double weight_unit = 0x1p-30;

/// What each row of a person counts by who has `rows` of them: 1 / rows, rounded down to a multiple of 2^-30.
/// So the weights of a person's rows add to 1 at most, exactly (models/mathematics.md, rows of a person).
inline double row_weight(std::uint64_t rows) {
    constexpr std::uint64_t one = std::uint64_t{1} << 30;
    return static_cast<double>(one / std::max<std::uint64_t>(rows, 1)) * weight_unit;
}

/// What a record counts by, as a whole number: its weight's units, or 1 where none are weighed.
inline std::int64_t counted(const double* weights, std::size_t record) {
    return weights == nullptr ? 1 : static_cast<std::int64_t>(weights[record] / weight_unit);
}

/// deltas [rows, panel_height] of a panel, clamped to +-limit and multiplied by the weights [panel_height] of
/// their records, in place. Lemma: both are non-decreasing, as a weight is above 0 and the same at either end.
template <typename Real>
void weigh_rows(std::size_t rows, std::size_t height, Real limit, const Real* weights, Real* deltas) {
    for (std::size_t row = 0; row < rows; ++row, deltas += height) {
        for (std::size_t r = 0; r < height; ++r)
            deltas[r] = std::min(std::max(deltas[r], -limit), limit) * weights[r];
    }
}

}  // namespace holdfast
