#pragma once

#include <cstdint>
#include <cstdlib>

namespace holdfast {

/// How many random cases a test looks at: `count`, or HOLDFAST_EFFORT times as many where that is set.
inline std::uint64_t cases_of(std::uint64_t count) {
    const char* effort = std::getenv("HOLDFAST_EFFORT");
    return effort == nullptr ? count : count * std::strtoull(effort, nullptr, 10);
}

}  // namespace holdfast
