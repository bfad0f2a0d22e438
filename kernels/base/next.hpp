#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace holdfast {

/// What std::nextafter(value, +-infinity) gives, without its call.
inline double next_above(double value) {
    if (!(value < std::numeric_limits<double>::infinity())) return value;
    if (value == 0) return std::numeric_limits<double>::denorm_min();
    const auto bits = std::bit_cast<std::int64_t>(value);
    return std::bit_cast<double>(bits + (value > 0 ? 1 : -1));
}
inline double next_below(double value) {
    return -next_above(-value);
}

}  // namespace holdfast
