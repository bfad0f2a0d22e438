#pragma once

#include <cstdint>

namespace holdfast {

/// What an adversary may do to a record, all of it public (models/mathematics.md, poisoned record).
struct Poison {
    enum class Labels {
        kept,
        any,       ///< a label becomes any other
        targeted,  ///< or `target_label`, and no other
    };
    double input_radius = 0;  ///< every feature moves by at most this, before the input transform
    Labels labels = Labels::kept;
    std::int32_t target_label = 0;
    double target_radius = 0;  ///< a numeric target moves by at most this
};

}  // namespace holdfast
