#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cpu/wave_lanes.hpp"
#include "kernels/ops/input_transform.hpp"
#include "kernels/ops/network_shape.hpp"

namespace holdfast {

/// What scattering is made of: public integers, the same on every machine.
struct ScatteringFilters {
    static constexpr std::size_t side = cpu::wave_lanes::side, half = cpu::wave_lanes::half,
                                 angles = cpu::wave_lanes::lanes;
    static constexpr int tap_bits = 20, low_bits = 13, grid_bits = 24;  ///< after the point
    using Taps = std::array<std::int64_t, side * side>;                 ///< on the torus, row by row

    /// A wavelet's real and imaginary taps, 2^-20: of a fine one at every pixel, of a coarse one at every
    /// other.
    struct Wavelet {
        Taps real, imaginary;
    };
    std::array<Wavelet, angles> fine, coarse;
    /// Low pass of a row, 2^-13, of 32 pixels at every fourth, and of 16 at every other.
    std::array<std::int64_t, side> low;
    std::array<std::int64_t, half> low_half;

    static const ScatteringFilters& shared();
};

/// The scattering of an image (Mallat 2012; Bruna and Mallat 2013) in exact integers: of each of its channels
/// the low pass of it, of the moduli of its 8 fine and 8 coarse wavelets, and of the moduli of the coarse
/// wavelets of each fine one: 81 channels at every fourth pixel, of which the smooth spatial modes stay, each
/// times a public weight. Without the weights no two images are farther apart behind it than before, in units
/// of the public range (models/mathematics.md, scattering).
class Scattering {
  public:
    static constexpr std::size_t channels = 81;
    /// Of the image's low pass, of fine and of coarse wavelets, and of both one after the other.
    using Weights = std::array<double, 4>;
    static constexpr Weights usual_weights{0.7, 2, 1, 3};
    static constexpr double least_weight = 1e-3, greatest_weight = 1e3;

    /// Must have no problem(). range: the public one of a pixel.
    Scattering(const Image& image, FeatureRange range, const Weights& weights);
    /// What is wrong with them; empty: nothing.
    static std::string problem(const Image& image, FeatureRange range, const Weights& weights);

    const Image& image() const { return image_; }
    FeatureRange range() const { return range_; }
    const Weights& weights() const { return weights_; }

    std::size_t columns() const { return image_.rows(); }
    std::size_t outputs() const { return image_.channels * channels * modes_.size(); }
    FeatureRange entries() const { return {-norm(), norm()}; }
    double norm() const;  ///< of no image's entries exceeded
    /// The entries [outputs] of a record's columns, clamped to the range: channel by channel, mode by mode.
    void apply(const double* columns, double* entries) const;

    /// How far its entries are, before the weights, from those of real numbers, in the 2-norm.
    double rounding() const;

    /// A pixel in units of 2^-24 of the range.
    std::int64_t grey(double column) const;
    std::size_t rows() const { return (image_.height + 3) / 4; }  ///< of a scattered channel
    std::size_t width() const { return (image_.width + 3) / 4; }

    /// A spatial mode: the product of a row's and a column's sine.
    struct Mode {
        std::size_t y, x;
        double weight;
    };
    const std::vector<Mode>& modes() const { return modes_; }
    /// [modes, positions] of an orthogonal map.
    const std::vector<double>& sines_y() const { return sines_y_; }
    const std::vector<double>& sines_x() const { return sines_x_; }
    double largest_weight() const { return largest_; }  ///< of an entry

  private:
    void scatter(const double* pixels, double*& entries) const;
    void add_channel(const std::uint64_t* seen, double weight, double*& entries) const;

    Image image_;
    FeatureRange range_;
    Weights weights_;
    std::vector<Mode> modes_;
    std::vector<double> sines_y_, sines_x_;
    double largest_ = 0;
};

}  // namespace holdfast
