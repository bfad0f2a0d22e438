#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

/// How many of the last steps' parameters are averaged: this fraction of them, and one at least.
std::int64_t averaged_steps(double fraction, std::int64_t steps);

/// The average of a training's last parameters, exact until it is rounded down once.
class IterateAverage {
  public:
    IterateAverage() = default;
    explicit IterateAverage(std::size_t parameters) : high_sums_(parameters, 0), low_sums_(parameters, 0) {}

    /// At most 2^31 times.
    void add(std::span<const std::int64_t> parameters);
    std::vector<std::int64_t> rounded_down() const;

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& count_& high_sums_& low_sums_;
    }

  private:
    std::int64_t count_ = 0;
    std::vector<std::int64_t> high_sums_, low_sums_;  ///< of value / 2^32, and of the rest, both rounded down
};

}  // namespace holdfast
