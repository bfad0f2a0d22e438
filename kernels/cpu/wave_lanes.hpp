#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// Exact cyclic convolutions of a torus of 32 x 32 with eight complex filters side by side, one a lane of a
/// vector, and the moduli and low pass of what comes out (models/mathematics.md, exact convolution). Numbers
/// are residues (kernels/base/residues.hpp); of a transform bits are reversed.
namespace holdfast::cpu::wave_lanes {

constexpr std::size_t lanes = 8, side = 32, half = side / 2;
template <std::size_t Side>
struct alignas(64) Torus : std::array<std::uint64_t, Side * Side * lanes> {};  ///< row by row, [lanes]
using Whole = Torus<side>;
using Half = Torus<half>;

/// Transforms of the filters' real and imaginary parts, divided by 32 x 32.
struct Filters {
    Whole real, imaginary;
};
void transform(Whole& values);

/// The moduli |a + ib| of convolutions of what has this lane's transform with each filter, rounded down, each
/// of a and b (below 2^60 in size) rounded to 2^bits before, whose quotients are below 2^29; at every pixel,
/// and of twice as long rows at every other one.
void moduli(const Whole& of, std::size_t lane, const Filters& filters, int bits, Whole& values);
void moduli(const Whole& of, std::size_t lane, const Filters& filters, int bits, Half& values);

/// Of each position that is seen, what its window takes of a row and of a column.
template <std::size_t Side>
using Windows = std::array<std::array<std::uint32_t, Side>, 8>;
/// seen [height, width, lanes]: the sums of values < 2^32 in windows, below 2^64. height, width: at most 8.
void see(const Whole& values, const Windows<side>& windows, std::size_t height, std::size_t width,
         std::uint64_t* seen);
void see(const Half& values, const Windows<half>& windows, std::size_t height, std::size_t width,
         std::uint64_t* seen);

}  // namespace holdfast::cpu::wave_lanes
