#include "kernels/ops/panel_operations.hpp"

#include <algorithm>

#include "kernels/ops/loss_rule.hpp"

namespace holdfast {
namespace {

constexpr std::size_t height = panel_height;

}  // namespace

template <typename Real>
void PanelOperations<Real>::load(const InputTransform& input, double moved, std::size_t inputs,
                                 const RecordSet& records, std::span<const std::uint32_t> indices,
                                 Real* x) const {
    std::fill(x, x + inputs * height, Real{0});
    for (std::size_t r = 0; r < indices.size(); ++r) {
        for (std::size_t j = 0; j < inputs; ++j) {
            const double feature = records.feature(indices[r] * inputs + j);
            x[j * height + r] = input.apply<Real>(moved == 0 ? feature : input.inside(feature) + moved);
        }
    }
}

template <typename Real>
void PanelOperations<Real>::loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits,
                                          const double* targets, std::size_t count, Interval delta) const {
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
                static_cast<Real>(loss_derivative(loss, outputs, c, targets[r], lower, upper, height));
            if (delta.is_point()) continue;
            delta.upper[at] =
                static_cast<Real>(loss_derivative(loss, outputs, c, targets[r], upper, lower, height));
        }
    }
}

template <typename Real>
void PanelOperations<Real>::poisoned_loss_gradient(Loss loss, std::size_t outputs, ConstInterval logits,
                                                   const double* targets, std::size_t count,
                                                   const Poison& poison, Interval delta) const {
    loss_gradient(loss, outputs, logits, targets, count, delta);
    const auto widen = [&](std::size_t c, std::size_t r, double least_target, double greatest_target) {
        const Real* lower = logits.lower + r;
        const Real* upper = logits.upper + r;
        const std::size_t at = c * height + r;
        delta.lower[at] = std::min(
            delta.lower[at],
            static_cast<Real>(loss_derivative(loss, outputs, c, greatest_target, lower, upper, height)));
        delta.upper[at] = std::max(
            delta.upper[at],
            static_cast<Real>(loss_derivative(loss, outputs, c, least_target, upper, lower, height)));
    };
    for (std::size_t c = 0; c < outputs; ++c) {
        const auto own = static_cast<double>(c), other = c == 0 ? 1.0 : 0.0;
        for (std::size_t r = 0; r < count; ++r) {
            if (info_of(loss).of_numbers) {
                widen(c, r, targets[r] - poison.target_radius, targets[r] + poison.target_radius);
            } else if (poison.labels == Poison::Labels::targeted) {
                widen(c, r, poison.target_label, poison.target_label);
            } else if (poison.labels == Poison::Labels::any) {
                // A derivative tells apart no more than whether a label is this class.
                widen(c, r, own, own);
                widen(c, r, other, other);
            }
        }
    }
}

template <typename Real>
void PanelOperations<Real>::transpose(std::size_t rows, const Real* panel, Real* out,
                                      std::size_t stride) const {
    constexpr std::size_t block = 8;  // a cache line of records at a time
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

template <typename Real>
LayerSquares PanelOperations<Real>::squares(const OuterProduct<Real>& product) const {
    const auto& [in, out] = product.shape;
    LayerSquares squares;
    for (std::size_t r = 0; r < product.count; ++r) {
        SquareBounds z;
        for (std::size_t j = r * product.stride; j < r * product.stride + in; ++j)
            z.add(static_cast<double>(product.z_rows.lower[j]), static_cast<double>(product.z_rows.upper[j]));
        SquareBounds& delta = squares.biases[r];
        for (std::size_t o = r; o < out * height; o += height)
            delta.add(static_cast<double>(product.delta.lower[o]),
                      static_cast<double>(product.delta.upper[o]));
        squares.weights[r] = delta * z;
    }
    return squares;
}

template class PanelOperations<double>;
template class PanelOperations<float>;

}  // namespace holdfast
