#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/base/arithmetic.hpp"
#include "models/idp/plain_network.hpp"

namespace holdfast {

/// Where inputs lie: [inputs] each, low <= high.
struct InputBox {
    std::vector<double> low, high;
    std::size_t size() const { return low.size(); }
};

/// [out, in] both ways, padded with zeros to whole cache lines.
struct PaddedMatrix {
    PaddedMatrix() = default;
    PaddedMatrix(std::size_t out, std::size_t in, const std::vector<double>& values);

    static constexpr std::size_t line = 8;
    static std::size_t padded(std::size_t count) { return (count + line - 1) / line * line; }

    std::size_t out = 0, in = 0, row_stride = 0, column_stride = 0;
    AlignedVector<double> rows;     ///< [out, row_stride]
    AlignedVector<double> columns;  ///< [in, column_stride]
};

/// A layer of N.
struct PreparedLayer {
    PaddedMatrix weight;
    AlignedVector<double> bias;  ///< [weight.column_stride]
};

/// N, that a whole fleet is compared with.
struct PreparedNetwork {
    explicit PreparedNetwork(const PlainNetwork& network);
    std::vector<PreparedLayer> layers;

    std::size_t inputs() const { return layers.front().weight.in; }
    std::size_t hidden() const { return layers.size() - 1; }
    std::size_t widest() const;  ///< column_stride of any layer
};

/// How another network's layer differs from that of N: W' = W + difference, up to `radius`, where it stands
/// for several.
struct TwinLayer {
    PaddedMatrix difference, weight;  ///< W' - W and W'
    AlignedVector<double> bias_difference;
    PaddedMatrix radius;  ///< empty: one network
    AlignedVector<double> bias_radius;
    /// What rounding takes off bounds of z and of d (models/mathematics.md, difference rounding).
    AlignedVector<double> value_error, difference_error;
};

/// A network to be compared with N, or the hull of several (models/mathematics.md, difference propagation).
class Twin {
  public:
    /// box: where inputs lie; precision: that the program computes in.
    /// Error (usage): inputs or values so large that the program would saturate.
    Twin(const PlainNetwork& network, const PlainNetwork& other, const InputBox& box, Precision precision);
    /// One that stands for all of them.
    Twin(const PlainNetwork& network, std::span<const PlainNetwork> others, const InputBox& box,
         Precision precision);

    const std::vector<TwinLayer>& layers() const { return layers_; }
    bool is_hull() const { return hull_; }
    /// The program's value of this row of the last layer less the exact one, of N or of the other, in size at
    /// most; of three classes or more that of the difference of two logits, too.
    double program_error(std::size_t row) const { return program_error_[row]; }
    /// What rounding takes off a bound for each multiple of z or z' of this hidden unit that was added.
    double split_error(std::size_t layer, std::size_t unit) const { return split_error_[layer][unit]; }

  private:
    /// last_sizes: of every network that takes part, at least.
    void prepare(const PlainNetwork& network, const std::vector<double>& last_sizes, const InputBox& box,
                 Precision precision);

    bool hull_ = false;
    std::vector<TwinLayer> layers_;
    std::vector<double> program_error_;
    std::vector<std::vector<double>> split_error_;
};

}  // namespace holdfast
