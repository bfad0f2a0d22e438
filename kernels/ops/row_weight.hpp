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
    const std::uint64_t units = one / std::max<std::uint64_t>(rows, 1);
    return static_cast<double>(units) * weight_unit;
}

/// A weight's units, as a whole number.
constexpr std::int64_t weight_units(double weight) {
    return static_cast<std::int64_t>(weight / weight_unit);
}
/// floor(weight * whole), exactly: what of a bound in units a row may take.
constexpr std::int64_t part_of(std::int64_t whole, double weight) {
    if (weight == 1) return whole;
    return static_cast<std::int64_t>((__int128{whole} * weight_units(weight)) >> 30);
}

/// deltas [rows, height] of rows of one weight, clamped to +-limit and multiplied by it, in place. Lemma:
/// both are non-decreasing, as the weight is above 0 and the same at either end.
template <typename Real>
void weigh_rows(std::size_t count, Real limit, double weight, Real* deltas) {
    const Real factor = rounded_down<Real>(weight);
    for (std::size_t i = 0; i < count; ++i) deltas[i] = std::min(std::max(deltas[i], -limit), limit) * factor;
}

}  // namespace holdfast
