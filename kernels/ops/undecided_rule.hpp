#pragma once

#include "kernels/base/portable.hpp"

namespace holdfast {

/// Of one activation z = max(a, 0), by its bounds: is a below or at 0 in some of the box, and above in some?
/// There the gate opens and shuts, and the bounds behind it lose what ties them.
template <typename Real>
HOLDFAST_PORTABLE bool is_undecided(Real lower, Real upper) {
    return lower <= 0 && upper > 0;
}

}  // namespace holdfast
