#pragma once

#include <span>
#include <vector>

#include "models/nets/network.hpp"
#include "models/nets/panel.hpp"

namespace holdfast {

/// The box of one level, [parameters]; the same pointer twice for a point.
struct BoxView {
    const std::int64_t* lower;
    const std::int64_t* upper;
};

/// Bounds of the sum over the records of their clipped gradients, at one level.
struct LevelSums {
    std::vector<std::int64_t> lower, upper;  ///< [parameters], gradient grid units
    std::int64_t surely_correct = 0;         ///< records whose label the whole box predicts
    std::int64_t possibly_correct = 0;       ///< records whose label some of the box may predict
    std::vector<Selection> least_upper, least_negated_lower;  ///< one each, if asked for
};

/// The message of a step's one reduction, sums and counts of all levels (StepEngine::run says its layout).
std::vector<std::int64_t> packed(std::int64_t records, std::span<const LevelSums> levels);
/// Its sums and counts of networks of so many parameters; selections stay as they are. Returns its records.
std::int64_t unpack(std::span<const std::int64_t> message, std::size_t parameters,
                    std::span<LevelSums> levels);

/// Which records of a batch this rank holds.
struct Batch {
    const Records& records;
    std::vector<std::uint32_t> indices;
    bool selectable;  ///< private: its records may be the changed ones
};

/// Gradient bounds of all levels over this rank's records of a batch, all levels in one pass over each panel.
/// selection_counts[level]: how many least values to keep per entry; 0: none (mathematics.md, charges).
/// Threads share the panels; sums are of integers, so any number of threads gives the same bytes.
template <typename Real>
std::vector<LevelSums> gradient_sums(const Network& network, const BasicBackend<Real>& backend,
                                     const Clip& clip, std::span<const BoxView> boxes,
                                     std::span<const Batch> batches,
                                     std::span<const std::int64_t> selection_counts);

}  // namespace holdfast
