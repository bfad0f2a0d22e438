#include "models/nets/scattering.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/circle.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "kernels/base/residues.hpp"

namespace holdfast {
namespace {

using Filters = ScatteringFilters;
namespace lanes = cpu::wave_lanes;
constexpr std::size_t side = Filters::side, half = Filters::half, angles = Filters::angles;
constexpr std::size_t margin = 2;  ///< of an image on the torus; it is seen at every fourth row from there
constexpr double low_pass_width = 3.2;    ///< of its Gaussian, in pixels
constexpr double most_frequency = 0.625;  ///< of a mode: its squares' sum, where pi is 1
constexpr double whitening =
    0.25;  ///< a mode's weight: this power of what the low pass leaves of it, inverted

// Filters -------------------------------------------------------------------------------------------------

double gaussian(double squares, double width) {
    return monotone_exp(-squares / (2 * width * width));
}

/// A Morlet wavelet: a wave of so many turns a pixel under a Gaussian that is twice as long across it, less
/// what is left of its mean.
Filters::Wavelet morlet(std::size_t angle, double width, double frequency, double factor) {
    constexpr int last = side / 2 - 1;
    const CirclePoint to = circle_point(static_cast<double>(angle) / (2 * angles));
    std::array<double, side * side> real{}, imaginary{}, window{};
    double waves = 0, windows = 0;
    for (int y = -last; y <= last; ++y) {
        for (int x = -last; x <= last; ++x) {
            const std::size_t at =
                static_cast<std::size_t>(y) % side * side + static_cast<std::size_t>(x) % side;
            const double along = to.cosine * x + to.sine * y, across = to.cosine * y - to.sine * x;
            const CirclePoint wave = circle_point(frequency * along);
            window[at] = gaussian(along * along + across * across / 4, width);
            real[at] = window[at] * wave.cosine;
            imaginary[at] = window[at] * wave.sine;
            waves += real[at];
            windows += window[at];
        }
    }
    const double mean = waves / windows, units = std::ldexp(factor, Filters::tap_bits);
    Filters::Wavelet wavelet{};
    for (std::size_t i = 0; i < real.size(); ++i) {
        wavelet.real[i] = std::llrint(units * (real[i] - mean * window[i]));
        wavelet.imaginary[i] = std::llrint(units * imaginary[i]);
    }
    return wavelet;
}

/// Taps of a sum of `gain`, around 0.
template <std::size_t Side>
std::array<std::int64_t, Side> low_pass(double width, double gain) {
    constexpr int last = Side / 2 - 1;
    double all = 0;
    std::array<double, Side> window{};
    for (int x = -last; x <= last; ++x)
        all += window[static_cast<std::size_t>(x) % Side] = gaussian(static_cast<double>(x * x), width);
    std::array<std::int64_t, Side> taps{};
    for (std::size_t i = 0; i < Side; ++i)
        taps[i] = std::llrint(std::ldexp(gain * window[i] / all, Filters::low_bits));
    return taps;
}

/// Factors for which no block of frequencies that are seen together grows:
/// tests/property/scattering_test.cpp. A filter seen at every n-th row and column earns n.
Filters filters() {
    constexpr double fine = 0.1348, coarse = 2 * 0.0321, below = 1 - 0x1p-12;
    Filters made{};
    for (std::size_t angle = 0; angle < angles; ++angle) {
        made.fine[angle] = morlet(angle, 0.8, 3.0 / 8, fine);
        made.coarse[angle] = morlet(angle, 1.6, 3.0 / 16, coarse);
    }
    made.low = low_pass<side>(low_pass_width, 2 * below);
    made.low_half = low_pass<half>(low_pass_width / 2, std::sqrt(2.0) * below);
    return made;
}

/// What the kernels take: transforms of the wavelets, and of each position seen the low pass of a row.
struct Bank {
    lanes::Filters fine, coarse;
    lanes::Windows<side> low;
    lanes::Windows<half> low_half;
};

lanes::Filters transformed(const std::array<Filters::Wavelet, angles>& wavelets) {
    constexpr std::uint64_t inverse = residues::power(side * side, residues::prime - 2);
    lanes::Filters made;
    for (std::size_t angle = 0; angle < angles; ++angle) {
        for (std::size_t i = 0; i < side * side; ++i) {
            made.real[i * angles + angle] = residues::of(wavelets[angle].real[i]);
            made.imaginary[i * angles + angle] = residues::of(wavelets[angle].imaginary[i]);
        }
    }
    for (lanes::Whole* taps : {&made.real, &made.imaginary}) {
        lanes::transform(*taps);
        for (std::uint64_t& value : *taps) value = residues::product(value, inverse);
    }
    return made;
}

template <std::size_t Side>
lanes::Windows<Side> windows_of(const std::array<std::int64_t, Side>& taps) {
    constexpr std::size_t step = Side / 8;
    lanes::Windows<Side> windows{};
    for (std::size_t k = 0; k < windows.size(); ++k)
        for (std::size_t n = 0; n < Side; ++n)
            windows[k][n] = static_cast<std::uint32_t>(taps[(n + Side - (k + 1) * step % Side) % Side]);
    return windows;
}

const Bank& bank() {
    static const Bank all = [] {
        const Filters& filters = Filters::shared();
        return Bank{transformed(filters.fine), transformed(filters.coarse), windows_of(filters.low),
                    windows_of(filters.low_half)};
    }();
    return all;
}

/// Of [size, size]: row `a` is the sine of a + 1 half waves.
std::vector<double> sines_of(std::size_t size) {
    std::vector<double> sines;
    const auto around = static_cast<double>(2 * (size + 1));
    const double factor = std::sqrt(2 / static_cast<double>(size + 1));
    for (std::size_t a = 1; a <= size; ++a)
        for (std::size_t i = 1; i <= size; ++i)
            sines.push_back(factor * circle_point(static_cast<double>(a * i) / around).sine);
    return sines;
}

/// Of a mode, where pi is 1.
double frequency_squares(std::size_t a, std::size_t size) {
    const double share = static_cast<double>(a + 1) / static_cast<double>(size + 1);
    return share * share;
}

}  // namespace

const ScatteringFilters& ScatteringFilters::shared() {
    static const ScatteringFilters all = filters();
    return all;
}

std::string Scattering::problem(const Image& image, FeatureRange range, const Weights& weights) {
    if (image.channels < 1 || image.channels > 64 || std::min(image.height, image.width) < 1 ||
        std::max(image.height, image.width) > side)
        return "an image of " + std::to_string(image.channels) + " channels of " +
               std::to_string(image.height) + " x " + std::to_string(image.width) +
               " pixels, where 1 to 64 of at most 32 x 32 are wanted";
    if (!(range.low < range.high && std::isfinite(range.high - range.low)))
        return "no public range of pixels";
    for (const double weight : weights)
        if (!(weight >= least_weight && weight <= greatest_weight))
            return "a weight that is not in 1e-3..1e3";
    return "";
}

Scattering::Scattering(const Image& image, FeatureRange range, const Weights& weights)
    : image_(image),
      range_(range),
      weights_(weights),
      sines_y_(sines_of(rows())),
      sines_x_(sines_of(width())) {
    ensure(problem(image, range, weights).empty(), "an image fits");
    constexpr double pi = 0x1.921fb54442d18p+1, reach = low_pass_width / 4 * pi;
    for (std::size_t y = 0; y < rows(); ++y) {
        for (std::size_t x = 0; x < width(); ++x) {
            const double squares = frequency_squares(y, rows()) + frequency_squares(x, width());
            if (squares > most_frequency) continue;
            modes_.push_back({y, x, monotone_exp(whitening * reach * reach * squares)});
        }
    }
    for (const Mode& mode : modes_)
        largest_ = std::max(largest_, mode.weight * *std::max_element(weights.begin(), weights.end()));
}

// Of an image of 0 all is 0; what rounding adds is far below the 2^-10.
double Scattering::norm() const {
    return largest_ * std::sqrt(static_cast<double>(columns())) * (1 + 0x1p-10);
}

// A pixel is off by half a unit, and a modulus by less than 2, of which each image has as many as this.
double Scattering::rounding() const {
    constexpr double first = angles * (side * side + half * half), second = angles * angles * half * half;
    const auto images = static_cast<double>(image_.channels);
    const double units = std::sqrt(static_cast<double>(columns())) / 2 + 2 * std::sqrt(images * first) +
                         2 * std::sqrt(images * second);
    return std::ldexp(units, -Filters::grid_bits) * (1 + 0x1p-10);
}

std::int64_t Scattering::grey(double column) const {
    const double share = (column - range_.low) / (range_.high - range_.low);
    return std::llrint(std::ldexp(share, Filters::grid_bits));
}

/// seen: [rows, width, angles], of one angle.
void Scattering::add_channel(const std::uint64_t* seen, double weight, double*& entries) const {
    std::array<double, 64> across{};  // [rows, modes of a row]
    const std::size_t high = rows(), wide = width();
    for (std::size_t y = 0; y < high; ++y)
        for (std::size_t a = 0; a < wide; ++a)
            for (std::size_t x = 0; x < wide; ++x)
                across[y * wide + a] +=
                    sines_x_[a * wide + x] * static_cast<double>(seen[(y * wide + x) * angles]);
    const double unit = std::ldexp(weight, -Filters::grid_bits - 2 * Filters::low_bits);
    for (const Mode& mode : modes_) {
        double sum = 0;
        for (std::size_t y = 0; y < high; ++y) sum += sines_y_[mode.y * high + y] * across[y * wide + mode.x];
        *entries++ = sum * (unit * mode.weight);
    }
}

void Scattering::apply(const double* columns, double* entries) const {
    for (std::size_t channel = 0; channel < image_.channels; ++channel)
        scatter(columns + channel * image_.height * image_.width, entries);
}

void Scattering::scatter(const double* pixels, double*& entries) const {
    std::array<std::uint64_t, 64 * angles> seen;
    const auto add = [&](const auto& values, const auto& windows, std::size_t channels_seen, double weight) {
        lanes::see(values, windows, rows(), width(), seen.data());
        for (std::size_t angle = 0; angle < channels_seen; ++angle)
            add_channel(seen.data() + angle, weight, entries);
    };
    lanes::Half coarse;
    const auto add_coarse = [&](const lanes::Whole& of, std::size_t lane, double weight) {
        lanes::moduli(of, lane, bank().coarse, Filters::tap_bits, coarse);
        add(coarse, bank().low_half, angles, weight);
    };

    lanes::Whole image{}, fine;  // the image is the first lane
    for (std::size_t y = 0; y < image_.height; ++y)
        for (std::size_t x = 0; x < image_.width; ++x)
            image[((y + margin) % side * side + (x + margin) % side) * angles] =
                static_cast<std::uint64_t>(grey(pixels[y * image_.width + x]));
    add(image, bank().low, 1, weights_[0]);
    lanes::transform(image);
    lanes::moduli(image, 0, bank().fine, Filters::tap_bits, fine);
    add(fine, bank().low, angles, weights_[1]);
    lanes::transform(fine);
    add_coarse(image, 0, weights_[2]);
    for (std::size_t angle = 0; angle < angles; ++angle) add_coarse(fine, angle, weights_[3]);
}

}  // namespace holdfast
