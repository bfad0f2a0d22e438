#include "kernels/ops/loss.hpp"

#include <limits>

#include "kernels/base/error.hpp"

namespace holdfast {

std::span<const LossInfo> losses() {
    constexpr double root_of_two = 0x1.6a09e667f3bcdp+0;  // rounded up
    constexpr double unbounded = std::numeric_limits<double>::infinity();
    static constexpr LossInfo all[] = {
        {Loss::binary_cross_entropy, "binary_cross_entropy", true, true, 1, 0.25},
        {Loss::cross_entropy, "cross_entropy", false, false, root_of_two, 0.5},
        {Loss::hinge, "hinge", true, true, 1, std::nullopt},
        {Loss::one_vs_rest, "one_vs_rest", false, true, 1, 0.25},
        {Loss::huber, "huber", true, true, 1, 1 / (2 * huber_width)},
        {Loss::squared_error, "squared_error", true, true, unbounded, 2, true}};
    return all;
}

const LossInfo& info_of(Loss loss) {
    for (const LossInfo& info : losses()) {
        if (info.loss == loss) return info;
    }
    throw Error(ExitCode::internal, "a loss without a name");
}

}  // namespace holdfast
