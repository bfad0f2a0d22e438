#pragma once

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

}  // namespace holdfast
