#pragma once

#include <array>
#include <complex>
#include <cstddef>

/// Transforms of a torus of 32 x 32 and of 16 x 16 in double, with the root exp(-2 pi i / 32): what
/// kernels/cpu/wave_lanes.hpp does in residues.
namespace holdfast::cyclic {

constexpr std::size_t side = 32, half = side / 2;
using Complex = std::complex<double>;
using WholeWave = std::array<Complex, side * side>;  ///< row by row; of a transform bits are reversed
using HalfWave = std::array<Complex, half * half>;
/// Without what std::complex does for infinities.
inline Complex product(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
void transform(WholeWave& values);
void transform(HalfWave& values);
/// Of a transform that was divided by 32 x 32, or 16 x 16, before.
void transform_back(WholeWave& values);
void transform_back(HalfWave& values);

}  // namespace holdfast::cyclic
