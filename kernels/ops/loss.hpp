#pragma once

#include <span>

namespace holdfast {

enum class Loss { binary_cross_entropy, cross_entropy, hinge };

/// A loss by its name; what it computes is its rule in kernels/ops/loss_rule.hpp.
struct LossInfo {
    Loss loss;
    const char* name;
    bool one_logit;  ///< whose sign tells two classes apart; else a logit a class, of which the greatest
                     ///< counts
};

/// Every loss there is.
std::span<const LossInfo> losses();
const LossInfo& info_of(Loss loss);

}  // namespace holdfast
