#include "kernels/ops/loss.hpp"

#include "kernels/base/error.hpp"

namespace holdfast {

std::span<const LossInfo> losses() {
    static constexpr LossInfo all[] = {{Loss::binary_cross_entropy, "binary_cross_entropy", true},
                                       {Loss::cross_entropy, "cross_entropy", false},
                                       {Loss::hinge, "hinge", true}};
    return all;
}

const LossInfo& info_of(Loss loss) {
    for (const LossInfo& info : losses()) {
        if (info.loss == loss) return info;
    }
    throw Error(ExitCode::internal, "a loss without a name");
}

}  // namespace holdfast
