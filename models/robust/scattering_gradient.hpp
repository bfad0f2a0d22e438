#pragma once

#include <array>
#include <span>
#include <vector>

#include "models/nets/cyclic_waves.hpp"
#include "models/nets/scattering.hpp"

namespace holdfast {

/// A scattering as a function of real numbers, in double, with its derivative: what attacks climb. Nothing is
/// claimed of it; whether an attack succeeded, the map itself decides.
class SmoothScattering {
  public:
    explicit SmoothScattering(const Scattering& map);

    /// What one image leaves for its derivative.
    struct Pass {
        std::vector<cyclic::WholeWave> fine;   ///< waves of a channel's image, 8 of each
        std::vector<cyclic::HalfWave> coarse;  ///< of its image, then of each fine one's moduli: 72
    };
    /// pixels: [map.columns()], within the range; entries: [map.outputs()]
    void forward(std::span<const double> pixels, Pass& pass, std::span<double> entries) const;
    /// pixels = the derivative at the image of the last forward() of the sum of by_entries times the entries.
    void gradient(std::span<const double> by_entries, const Pass& pass, std::span<double> pixels) const;

  private:
    void forward_channel(const double* pixels, std::size_t channel, Pass& pass, double* entries) const;
    void gradient_channel(const double* by_entries, std::size_t channel, const Pass& pass,
                          double* pixels) const;
    template <std::size_t Side>
    void see(const double* torus, double weight, double* entries) const;
    template <std::size_t Side>
    void show(const double* by_entries, double weight, double* torus) const;

    Scattering map_;
    std::vector<cyclic::WholeWave> fine_, coarse_;  ///< transforms of the wavelets, [angles]
    /// Of each sine behind the low pass, [size, Side].
    std::vector<double> whole_y_, whole_x_, half_y_, half_x_;
};

/// How by_image of slope_of() grows with each entry of w [map.outputs()], in double: its gradient; where two
/// of its forms are as small, that of one of them. Nothing is claimed of it: a training follows it.
std::vector<double> slope_gradient(const Scattering& map, std::span<const double> w);

}  // namespace holdfast
