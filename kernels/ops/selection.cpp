#include "kernels/ops/selection.hpp"

#include <algorithm>

namespace holdfast {
namespace {

/// Reorders [first, last) so that what is less than the pivot comes first; returns how many are. Without a
/// branch on the values, which no processor could foresee.
std::int64_t* partition_below(std::int64_t* first, std::int64_t* last, std::int64_t pivot) {
    std::int64_t* border = first;
    for (std::int64_t* at = first; at != last; ++at) {
        const std::int64_t value = *at;
        *at = *border;
        *border = value;
        border += value < pivot;
    }
    return border;
}

std::int64_t median(std::int64_t a, std::int64_t b, std::int64_t c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

/// Reorders [first, last) so that the `count` least come first (quickselect).
void move_least_to_front(std::int64_t* first, std::int64_t* last, std::int64_t count) {
    std::int64_t* const end = first + count;  // of what is to be the least
    while (first < end && end < last) {
        const std::int64_t pivot = median(*first, first[(last - first) / 2], last[-1]);
        std::int64_t* const below = partition_below(first, last, pivot);
        if (end <= below) {
            last = below;
            continue;
        }
        // The pivot itself is behind `below`: those equal to it come next, in any number.
        first = pivot == INT64_MAX ? last : partition_below(below, last, pivot + 1);
    }
}

}  // namespace

LeftValues keep_least(std::int64_t* values, std::size_t size, std::size_t count) {
    move_least_to_front(values, values + size, static_cast<std::int64_t>(count));
    return {count, *std::max_element(values, values + count)};
}

}  // namespace holdfast
