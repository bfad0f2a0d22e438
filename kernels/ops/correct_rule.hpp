#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/portable.hpp"

namespace holdfast {

/// Of one record: does the whole box predict its label, may some of it?
struct Correct {
    bool surely, possibly;
};

/// One logit says 1 where it is positive, several say the greatest. Bounds of class c at [c * stride].
template <typename Real>
HOLDFAST_PORTABLE Correct correct_of(std::size_t outputs, std::size_t label, const Real* lower,
                                     const Real* upper, std::size_t stride) {
    if (outputs == 1) {
        const bool low = *lower > 0, high = *upper > 0;
        return label == 1 ? Correct{low, high} : Correct{!high, !low};
    }
    Correct correct{true, true};
    for (std::size_t c = 0; c < outputs; ++c) {
        if (c == label) continue;
        correct.surely &= lower[label * stride] > upper[c * stride];
        correct.possibly &= upper[label * stride] > lower[c * stride];
    }
    return correct;
}

}  // namespace holdfast
