#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// The sums of a step as one array of integers, which is all that ranks add:
/// [records, then for every variant: lower sums, upper sums (parameters each), surely, possibly correct,
/// then of the last variant: undecided activations of every hidden layer].
struct StepMessage {
    std::size_t variants, parameters, hidden;
    static StepMessage of(std::size_t variants, const NetworkShape& network) {
        return {variants, network.parameters(), network.last()};
    }

    static constexpr std::size_t records = 0;  ///< where their number stands
    std::size_t stride() const { return 2 * parameters + 2; }
    std::size_t size() const { return undecided(0) + hidden; }
    std::size_t lower(std::size_t variant) const { return 1 + variant * stride(); }
    std::size_t upper(std::size_t variant) const { return lower(variant) + parameters; }
    /// Records whose label the whole box predicts, and those whose label some of it may predict.
    std::size_t surely_correct(std::size_t variant) const { return upper(variant) + parameters; }
    std::size_t possibly_correct(std::size_t variant) const { return surely_correct(variant) + 1; }
    /// Activations of a hidden layer, over all records, that are 0 in some of the box and above 0 in some: a
    /// point has none. Only of the last variant, so that the others pay nothing for it.
    std::size_t undecided(std::size_t layer) const { return 1 + variants * stride() + layer; }
};

}  // namespace holdfast
