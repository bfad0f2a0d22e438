#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/arithmetic.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// y = W x + b: weight [out, in], bias [out].
struct AffineLayer {
    std::size_t in, out;
    std::vector<double> weight, bias;
};

/// Affine layers with ReLU between them, as a function of real numbers. The rows of the last layer are the
/// margins z_a - z_b of the pairs a < b of classes (of two classes 1 row). Its parameters are those that the
/// program computes with, each rounded as it is there; a convolution is written out as the matrix it is.
struct PlainNetwork {
    std::vector<AffineLayer> layers;
    /// Of each entry of the last layer, [rows, in + 1], the bias last: at least the sizes of the two logits'
    /// entries, where there are three classes or more; elsewhere the entry's own.
    std::vector<double> last_sizes;
    AffineLayer logits{};  ///< of three classes or more: by which the program chooses

    std::size_t inputs() const { return layers.front().in; }
    std::size_t rows() const { return layers.back().out; }
};

/// Error (usage): a regression; a layer that is pooled or dropped out.
void require_plain(const Network& network);

/// The layers of a network without pooling, the last one as it gives logits; units: [network.parameters()].
std::vector<AffineLayer> affine_layers(const Network& network, Precision precision,
                                       std::span<const std::int64_t> units);
/// Of a network that require_plain() passes.
PlainNetwork plain_network(const Network& network, Precision precision, std::span<const std::int64_t> units);

/// The row of the margin of class a over class b, and its sign there.
struct MarginAt {
    std::size_t row;
    double sign;
};
inline MarginAt margin_at(std::size_t classes, std::size_t a, std::size_t b) {
    const std::size_t first = a < b ? a : b, second = a < b ? b : a;
    return {first * (2 * classes - first - 1) / 2 + (second - first - 1), a < b ? 1.0 : -1.0};
}

}  // namespace holdfast
