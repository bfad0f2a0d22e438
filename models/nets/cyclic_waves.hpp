#pragma once

#include <complex>

#include "models/nets/cyclic_transform.hpp"

namespace holdfast::cyclic {

/// The same transforms in double, with the root exp(-2 pi i / 32).
using Complex = std::complex<double>;
using WholeWave = std::array<Complex, side * side>;
using HalfWave = std::array<Complex, half * half>;
/// Without what std::complex does for infinities.
inline Complex product(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
void transform(WholeWave& values);
void transform(HalfWave& values);
void transform_back(WholeWave& values);
void transform_back(HalfWave& values);

}  // namespace holdfast::cyclic
