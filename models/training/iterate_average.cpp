#include "models/training/iterate_average.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {

std::int64_t averaged_steps(double fraction, std::int64_t steps) {
    const auto wanted = static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(steps)));
    return std::clamp<std::int64_t>(wanted, 1, steps);
}

void IterateAverage::add(std::span<const std::int64_t> parameters) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        high_sums_[p] += parameters[p] >> 32;
        low_sums_[p] += parameters[p] & 0xffffffff;
    }
    ++count_;
}

std::vector<std::int64_t> IterateAverage::rounded_down() const {
    ensure(count_ > 0, "an average is of something");
    std::vector<std::int64_t> average(high_sums_.size());
    for (std::size_t p = 0; p < average.size(); ++p) {
        const __int128 sum = (static_cast<__int128>(high_sums_[p]) << 32) + low_sums_[p];
        const __int128 quotient = sum / count_;
        average[p] = static_cast<std::int64_t>(quotient - (sum < 0 && quotient * count_ != sum ? 1 : 0));
    }
    return average;
}

}  // namespace holdfast
