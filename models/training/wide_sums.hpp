#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/training/gradient_sums.hpp"

namespace holdfast {

/// An exact sum within +-2^62. Monotone and 1-Lipschitz.
inline std::int64_t clamped_sum(__int128 sum) {
    constexpr __int128 limit = __int128{1} << 62;
    return static_cast<std::int64_t>(std::clamp(sum, -limit, limit));
}

/// Sums of all levels over any number of records: parts, each exact in 64 bits, added in 128 and clamped to
/// +-2^62 at the end. Clamping is monotone and 1-Lipschitz: a box still encloses, nested boxes still nest,
/// and a record still moves a sum by at most Gamma.
class WideSums {
  public:
    explicit WideSums(StepMessage layout) : layout_(layout), total_(layout.size()) {}
    /// A part's message, and the selections of its levels.
    void add(std::span<const std::int64_t> message, std::vector<std::optional<LeastEntries>> selections);
    StepSums clamped();  ///< the object is spent

  private:
    StepMessage layout_;
    std::vector<__int128> total_;
    std::vector<std::optional<LeastEntries>> selections_;
};

}  // namespace holdfast
