#pragma once

#include <cmath>
#include <initializer_list>

#include "kernels/base/portable.hpp"

namespace holdfast {

struct CirclePoint {
    double cosine, sine;
};

/// Where a point of the unit circle stands after so many turns, any finite number: (cos, sin) of 2 pi turns
/// up to 2^-51 each (models/mathematics.md, circle point). Correctly rounded operations alone: the same bytes
/// on every machine, which a library's cos and sin are not.
HOLDFAST_PORTABLE inline CirclePoint circle_point(double turns) {
    using std::floor;
    using std::fma;
    using std::nearbyint;
    // The rest is exact, and at most an eighth of a turn.
    const double quarters = nearbyint(4 * turns), rest = turns - quarters / 4;
    const double angle = rest * 0x1.921fb54442d18p+2, square = angle * angle;
    // Taylor's polynomials of degree 16 and 17: what is left out is below 2^-58.
    double cosine = 1.0 / 20922789888000, sine = 1.0 / 355687428096000;
    for (const double coefficient : {-1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320,
                                     -1.0 / 720, 1.0 / 24, -1.0 / 2, 1.0})
        cosine = fma(cosine, square, coefficient);
    for (const double coefficient : {-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
                                     -1.0 / 5040, 1.0 / 120, -1.0 / 6})
        sine = fma(sine, square, coefficient);
    sine = fma(sine * square, angle, angle);
    const double quadrant = quarters - 4 * floor(quarters / 4);
    if (quadrant == 0) return {cosine, sine};
    if (quadrant == 1) return {-sine, cosine};
    if (quadrant == 2) return {-cosine, -sine};
    return {sine, -cosine};
}

}  // namespace holdfast
