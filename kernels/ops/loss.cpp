#include "kernels/ops/loss.hpp"

#include <algorithm>

#include "kernels/ops/loss_rule.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

}  // namespace

template <typename Real>
void loss_gradient_on_host(Loss loss, std::size_t outputs, BasicConstInterval<Real> logits,
                           const std::int32_t* labels, std::size_t count, BasicInterval<Real> delta) {
    for (std::size_t c = 0; c < outputs; ++c) {
        for (std::size_t r = 0; r < height; ++r) {
            const std::size_t at = c * height + r;
            if (r >= count) {
                delta.lower[at] = delta.upper[at] = 0;
                continue;
            }
            const Real* lower = logits.lower + r;
            const Real* upper = logits.upper + r;
            delta.lower[at] =
                static_cast<Real>(loss_derivative(loss, outputs, c, labels[r], lower, upper, height));
            if (delta.is_point()) continue;
            delta.upper[at] =
                static_cast<Real>(loss_derivative(loss, outputs, c, labels[r], upper, lower, height));
        }
    }
}

template <typename Real>
void transpose_on_host(std::size_t rows, const Real* panel, Real* out, std::size_t stride) {
    constexpr std::size_t block = 8;
    for (std::size_t r0 = 0; r0 < height; r0 += block) {
        for (std::size_t j = 0; j < rows; ++j) {
            for (std::size_t r = r0; r < r0 + block; ++r) out[r * stride + j] = panel[j * height + r];
        }
        for (std::size_t r = r0; r < r0 + block; ++r) {
            out[r * stride + rows] = 1;
            std::fill(out + r * stride + rows + 1, out + (r + 1) * stride, Real{0});
        }
    }
}

template void loss_gradient_on_host(Loss, std::size_t, ConstInterval, const std::int32_t*, std::size_t,
                                    Interval);
template void loss_gradient_on_host(Loss, std::size_t, BasicConstInterval<float>, const std::int32_t*,
                                    std::size_t, BasicInterval<float>);
template void transpose_on_host(std::size_t, const double*, double*, std::size_t);
template void transpose_on_host(std::size_t, const float*, float*, std::size_t);

}  // namespace holdfast
