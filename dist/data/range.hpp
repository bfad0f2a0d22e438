#pragma once

#include <cmath>

namespace holdfast {

/// A closed range of a feature, mapped to [0, 1].
struct Range {
    double lowest = 0, highest = 1;
    bool operator==(const Range&) const = default;
};

inline constexpr Range unknown_range{1, 0};
inline bool is_known(const Range& range) {
    return range.lowest < range.highest;
}
/// Can values be clipped to the range and mapped to [0, 1]? Its width is a finite number, too.
inline bool is_valid(const Range& range) {
    return is_known(range) && std::isfinite(range.lowest) && std::isfinite(range.highest - range.lowest);
}
/// The rule, for messages.
inline constexpr const char* valid_range = "finite with LOW < HIGH, and HIGH - LOW finite too";

}  // namespace holdfast
