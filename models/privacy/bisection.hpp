#pragma once

#include <climits>

#include "models/privacy/rational.hpp"

namespace holdfast {

/// Halves [low, high] while `coarse(low, high)`; `at_low(middle)` says which end the middle becomes. False:
/// so many halvings did not get there.
template <typename Coarse, typename Rule>
bool halve(Rational& low, Rational& high, const Coarse& coarse, const Rule& at_low, int most = INT_MAX) {
    for (int halvings = 0; coarse(low, high); ++halvings) {
        if (halvings == most) return false;
        const Rational middle = (low + high) / 2;
        (at_low(middle) ? low : high) = middle;
    }
    return true;
}

/// The same ends where `at_low` is slow and changes once: first as `nearly`, of a long double, says, and all
/// over again if the ends it came to are not so. `nearly` may be wrong, and always the same (of a NaN).
template <typename Coarse, typename Rule, typename Nearly>
void halve_by_guess(Rational& low, Rational& high, const Coarse& coarse, const Rule& at_low,
                    const Nearly& nearly) {
    Rational left = low, right = high;
    const auto guess = [&](const Rational& middle) {
        return nearly(static_cast<long double>(middle.get_d()));
    };
    if (halve(left, right, coarse, guess, 128) && (left == low || at_low(left)) &&
        (right == high || !at_low(right))) {
        low = left;
        high = right;
    } else {
        halve(low, high, coarse, at_low);
    }
}

}  // namespace holdfast
