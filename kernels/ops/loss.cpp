#include "kernels/ops/loss.hpp"

#include <algorithm>

#include "kernels/ops/loss_rule.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

}  // namespace

void loss_gradient_on_host(Loss loss, std::size_t outputs, ConstInterval logits, const std::int32_t* labels,
                           std::size_t count, Interval delta) {
    for (std::size_t c = 0; c < outputs; ++c) {
        for (std::size_t r = 0; r < height; ++r) {
            const std::size_t at = c * height + r;
            if (r >= count) {
                delta.lower[at] = delta.upper[at] = 0.0;
                continue;
            }
            const double* lower = logits.lower + r;
            const double* upper = logits.upper + r;
            delta.lower[at] = loss_derivative(loss, outputs, c, labels[r], lower, upper, height);
            if (delta.is_point()) continue;
            delta.upper[at] = loss_derivative(loss, outputs, c, labels[r], upper, lower, height);
        }
    }
}

void transpose_on_host(std::size_t rows, const double* panel, double* out, std::size_t stride) {
    constexpr std::size_t block = 8;
    for (std::size_t r0 = 0; r0 < height; r0 += block) {
        for (std::size_t j = 0; j < rows; ++j) {
            for (std::size_t r = r0; r < r0 + block; ++r) out[r * stride + j] = panel[j * height + r];
        }
        for (std::size_t r = r0; r < r0 + block; ++r) {
            out[r * stride + rows] = 1.0;
            std::fill(out + r * stride + rows + 1, out + (r + 1) * stride, 0.0);
        }
    }
}

bool all_finite_on_host(std::size_t rows, ConstInterval a) {
    // x * 0 is NaN exactly when x is NaN or infinite.
    const auto residue = [&](const double* values) {
        double sums[8] = {};
        for (std::size_t i = 0; i < rows * height; i += 8) {
            for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += values[i + lane] * 0.0;
        }
        return std::all_of(std::begin(sums), std::end(sums), [](double sum) { return sum == 0.0; });
    };
    return residue(a.lower) && (a.is_point() || residue(a.upper));
}

}  // namespace holdfast
