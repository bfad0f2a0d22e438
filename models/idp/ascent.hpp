#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/idp/difference_bounds.hpp"

namespace holdfast {

/// Which confidence, and against which class the label is to change: N's confidence in c is the least of the
/// margins `own`; N_-i is to put another class before c by the margin own[against].
struct Confidence {
    std::vector<MarginAt> own;
    std::size_t against;

    static Confidence of(std::size_t classes, std::size_t c, std::size_t other);
};

/// An input where N_-i gives another label: N's confidence there.
struct Found {
    double confidence;
    std::vector<double> input;
};

/// Searches the box for the greatest confidence of N where the twin's margin is no more than -slack: from
/// `start`, by linear programs in a trust region (both networks are affine near almost every point). Lower
/// bounds come of it, nothing else: what it finds is to be checked by the program's own arithmetic.
std::optional<Found> ascend(DifferenceBounds& bounds, const Twin& twin, const Confidence& confidence,
                            const InputBox& box, double slack, std::vector<double> start);

}  // namespace holdfast
