#include "models/robust/scattering_slope.hpp"

#include <array>
#include <cmath>

namespace holdfast {
namespace {

using Filters = ScatteringFilters;
constexpr std::size_t angles = Filters::angles, spots = 64;  ///< at most so many positions
constexpr double rounded = 1 + 0x1p-40;                      ///< more than sums of 100 numbers gain in double

/// Of one scattered channel: |v|, and the length of the image that the low pass was applied to.
struct Lengths {
    Upper whole, seen;
};

/// Low pass of `Side` pixels a row, backwards.
template <std::size_t Side>
double length_behind(const std::array<std::int64_t, Side>& taps, const std::array<double, spots>& at,
                     std::size_t rows, std::size_t width) {
    constexpr std::size_t step = Side / 8;
    const auto tap = [&](std::size_t pixel, std::size_t k) {
        return std::ldexp(static_cast<double>(taps[(pixel + Side - step * (k + 1) % Side) % Side]),
                          -Filters::low_bits);
    };
    std::array<std::array<double, 8>, Side> window;
    for (std::size_t pixel = 0; pixel < Side; ++pixel)
        for (std::size_t k = 0; k < 8; ++k) window[pixel][k] = tap(pixel, k);
    double squares = 0;
    for (std::size_t y = 0; y < Side; ++y) {
        std::array<double, 8> row{};
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t k = 0; k < width; ++k) row[k] += window[y][i] * at[i * width + k];
        for (std::size_t x = 0; x < Side; ++x) {
            double sum = 0;
            for (std::size_t k = 0; k < width; ++k) sum += window[x][k] * row[k];
            squares += sum * sum;
        }
    }
    return std::sqrt(squares);
}

Lengths lengths_of(const Scattering& map, const double* w, double weight, bool coarse) {
    const std::size_t rows = map.rows(), width = map.width();
    std::array<double, spots> at{};
    double squares = 0;
    for (const Scattering::Mode& mode : map.modes()) {
        const double v = weight * mode.weight * *w++;
        squares += v * v;
        for (std::size_t y = 0; y < rows; ++y)
            for (std::size_t x = 0; x < width; ++x)
                at[y * width + x] += v * map.sines_y()[mode.y * rows + y] * map.sines_x()[mode.x * width + x];
    }
    const Upper whole(std::sqrt(squares) * rounded);
    const double seen = coarse ? length_behind(Filters::shared().low_half, at, rows, width)
                               : length_behind(Filters::shared().low, at, rows, width);
    return {whole, Upper(seen * rounded) + Upper(0x1p-40) * whole};
}

Upper square(Upper a) {
    return a * a;
}

/// Of one channel of the image.
ScatteringSlope channel_slope(const Scattering& map, const double* w) {
    const Scattering::Weights& weights = map.weights();
    const std::size_t each = map.modes().size();
    const auto of = [&](std::size_t channel, double weight, bool coarse) {
        return lengths_of(map, w + channel * each, weight, coarse);
    };
    const Lengths image = of(0, weights[0], false);
    Upper waves, whole = square(image.whole);
    for (std::size_t l = 0; l < angles; ++l) {
        const Lengths fine = of(1 + l, weights[1], false), coarse = of(1 + angles + l, weights[2], true);
        Upper second;
        for (std::size_t m = 0; m < angles; ++m) {
            const Lengths both = of(1 + 2 * angles + l * angles + m, weights[3], true);
            second = second + square(both.seen);
            whole = whole + square(both.whole);
        }
        const Upper joint = min(fine.seen + sqrt(second), sqrt(square(fine.whole) + second));
        waves = waves + square(joint) + square(coarse.seen);
        whole = whole + square(fine.whole) + square(coarse.whole);
    }
    return {min(sqrt(square(image.whole) + waves), image.seen + sqrt(waves)), sqrt(whole)};
}

}  // namespace

ScatteringSlope slope_of(const Scattering& map, std::span<const double> w) {
    Upper by_image, by_entries;
    const std::size_t each = Scattering::channels * map.modes().size();
    for (std::size_t first = 0; first < w.size(); first += each) {
        const ScatteringSlope slope = channel_slope(map, w.data() + first);
        by_image = by_image + square(slope.by_image);
        by_entries = by_entries + square(slope.by_entries);
    }
    return {sqrt(by_image), sqrt(by_entries)};
}

}  // namespace holdfast
