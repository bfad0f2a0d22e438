#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/training/step_metrics.hpp"

namespace holdfast {

/// One level of one member: parameters [parameters] in parameter units. The nominal run is level 0, a point.
/// per_batch: the box T^k. per_epoch: its core G (T^k = G +- R_t(k): models/mathematics.md, core and radius).
/// both: the core and, from k = 1 on, the charged box; T^k is what G +- R_t(k) and that have in common.
struct LevelState {
    std::int64_t k = 0;
    std::vector<std::int64_t> lower, upper;
    std::vector<std::int64_t> lower_slots, upper_slots;  ///< of the optimiser, [slots, parameters]
    std::vector<std::int64_t> charged_lower = {}, charged_upper = {};
    std::vector<std::int64_t> charged_lower_slots = {}, charged_upper_slots = {};

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& k& lower& upper& lower_slots& upper_slots;
        archive& charged_lower& charged_upper& charged_lower_slots& charged_upper_slots;
    }
};

/// Everything a member's training needs to go on: the levels this rank holds, after `step` steps.
struct MemberState {
    std::uint64_t member = 0;
    std::int64_t step = 0;
    std::vector<LevelState> levels;
    std::vector<double> normalisers;  ///< [step], what each step divided by
    std::vector<StepMetrics> metrics;

    template <typename Archive>
    void serialize(Archive& archive, unsigned) {
        archive& member& step& levels& normalisers& metrics;
    }

    std::vector<std::byte> packed() const;
    static MemberState unpacked(std::span<const std::byte> bytes);  ///< Error (input): damaged
};

}  // namespace holdfast
