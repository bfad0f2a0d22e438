#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/ops/selection.hpp"

namespace holdfast {

/// What a selection keeps of an entry, in order: for comparisons.
inline std::vector<std::int64_t> sorted_values(Selection& selection, std::size_t entry) {
    const auto kept = selection.values(entry);
    std::vector<std::int64_t> values(kept.begin(), kept.end());
    std::sort(values.begin(), values.end());
    return values;
}

/// Of all entries, either side.
inline std::vector<std::vector<std::int64_t>> sorted_values(LeastEntries& least) {
    std::vector<std::vector<std::int64_t>> entries;
    for (Selection* selection : {&least.upper, &least.negated_lower}) {
        for (std::size_t entry = 0; entry < selection->entries(); ++entry)
            entries.push_back(sorted_values(*selection, entry));
    }
    return entries;
}

}  // namespace holdfast
