#pragma once

#include <omp.h>

#include <algorithm>
#include <cstddef>

namespace holdfast {

/// As many threads as so many multiply-adds feed: each gets a few hundred microseconds of work at least,
/// beside which starting and meeting the others costs little, even where another process has the other core.
inline int threads_for(double multiply_adds) {
    constexpr double least_per_thread = 1 << 20;
    const double fed = std::max(1.0, multiply_adds / least_per_thread);
    return static_cast<int>(std::min<double>(omp_get_max_threads(), fed));
}

}  // namespace holdfast
