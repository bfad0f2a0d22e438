#pragma once

#include <optional>
#include <span>

namespace holdfast {

enum class Loss { binary_cross_entropy, cross_entropy, hinge, one_vs_rest, huber, squared_error };

/// Half the width over which huber's derivative goes from its slope to 0, around a margin of 1.
constexpr double huber_width = 0.5;

/// A loss by its name; what it computes is its rule in kernels/ops/loss_rule.hpp. Slope and curvature are of
/// the exact loss as a function of its logits, in the 2-norm (models/mathematics.md, loss constants); of
/// one_vs_rest, a sum of losses of one logit each, they are those of one term.
struct LossInfo {
    Loss loss;
    const char* name;
    bool one_logit;  ///< whose sign tells two classes apart; else a logit a class, of which the greatest
                     ///< counts
    bool separate;   ///< a derivative depends on its own logit alone
    double slope;    ///< no gradient is longer; infinite: no bound
    std::optional<double> curvature;  ///< no gradient changes faster; none: it jumps
    bool of_numbers = false;          ///< a record's target is a number; there are no classes
};

/// Every loss there is.
std::span<const LossInfo> losses();
const LossInfo& info_of(Loss loss);

}  // namespace holdfast
