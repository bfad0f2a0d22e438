#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// The sums of a step as one array of integers, which is all that ranks add:
/// [records, then for every variant: lower sums, upper sums (parameters each), surely, possibly correct].
struct StepMessage {
    std::size_t variants, parameters;

    static constexpr std::size_t records = 0;  ///< where their number stands
    std::size_t stride() const { return 2 * parameters + 2; }
    std::size_t size() const { return 1 + variants * stride(); }
    std::size_t lower(std::size_t variant) const { return 1 + variant * stride(); }
    std::size_t upper(std::size_t variant) const { return lower(variant) + parameters; }
    /// Records whose label the whole box predicts, and those whose label some of it may predict.
    std::size_t surely_correct(std::size_t variant) const { return upper(variant) + parameters; }
    std::size_t possibly_correct(std::size_t variant) const { return surely_correct(variant) + 1; }
};

}  // namespace holdfast
