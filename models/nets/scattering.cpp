#include "models/nets/scattering.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/circle.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"

namespace holdfast {
namespace {

using Filters = ScatteringFilters;
using cyclic::Half;
using cyclic::Whole;
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

/// Their transforms.
struct Transformed {
    struct Wavelet {
        Whole real, imaginary;
    };
    std::array<Wavelet, angles> fine, coarse;
};

const Transformed& transformed() {
    static const Transformed all = [] {
        Transformed made{};
        const auto of = [](const Filters::Wavelet& wavelet) {
            return Transformed::Wavelet{cyclic::filter_of(wavelet.real),
                                        cyclic::filter_of(wavelet.imaginary)};
        };
        const Filters& filters = Filters::shared();
        std::transform(filters.fine.begin(), filters.fine.end(), made.fine.begin(), of);
        std::transform(filters.coarse.begin(), filters.coarse.end(), made.coarse.begin(), of);
        return made;
    }();
    return all;
}

// Integers ------------------------------------------------------------------------------------------------

/// The root of n < 2^60, rounded down: of doubles it is right up to 1.
std::int64_t root_of(std::int64_t n) {
    auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
    root -= root * root > n ? 1 : 0;
    root += (root + 1) * (root + 1) <= n ? 1 : 0;
    return root;
}

/// |a + ib| on the grid, each of a and b rounded to it first.
template <typename Torus>
void moduli(const Torus& real, const Torus& imaginary, std::int32_t* values) {
    constexpr std::int64_t middle = std::int64_t{1} << (Filters::tap_bits - 1);
    for (std::size_t i = 0; i < real.size(); ++i) {
        const std::int64_t a = (residues::value_of(real[i]) + middle) >> Filters::tap_bits,
                           b = (residues::value_of(imaginary[i]) + middle) >> Filters::tap_bits;
        values[i] = static_cast<std::int32_t>(root_of(a * a + b * b));
    }
}

/// Low pass of what lies on a torus, at every `Step`-th row and column of the image: [height, width].
template <std::size_t Side, std::size_t Step>
void see(const std::int32_t* torus, const std::array<std::int64_t, Side>& taps, std::size_t height,
         std::size_t width, std::int64_t* seen) {
    std::array<std::array<std::int32_t, Side>, 8> windows;
    for (std::size_t k = 0; k < 8; ++k)
        for (std::size_t n = 0; n < Side; ++n)
            windows[k][n] = static_cast<std::int32_t>(taps[(n + Side - (k + 1) * Step % Side) % Side]);
    std::array<std::int64_t, 8 * Side> rows{};  // [width, Side]
    for (std::size_t y = 0; y < Side; ++y) {
        for (std::size_t k = 0; k < width; ++k) {
            std::int64_t sum = 0;
            for (std::size_t x = 0; x < Side; ++x) sum += std::int64_t{torus[y * Side + x]} * windows[k][x];
            rows[k * Side + y] = sum;
        }
    }
    for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t k = 0; k < width; ++k) {
            std::int64_t sum = 0;
            for (std::size_t y = 0; y < Side; ++y) sum += rows[k * Side + y] * windows[i][y];
            seen[i * width + k] = sum;
        }
    }
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

void Scattering::add_channel(const std::int64_t* seen, double weight, double*& entries) const {
    std::array<double, 64> across{};  // [rows, modes of a row]
    const std::size_t high = rows(), wide = width();
    for (std::size_t y = 0; y < high; ++y)
        for (std::size_t a = 0; a < wide; ++a)
            for (std::size_t x = 0; x < wide; ++x)
                across[y * wide + a] += sines_x_[a * wide + x] * static_cast<double>(seen[y * wide + x]);
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
    const Filters& filters = Filters::shared();
    const Transformed& bank = transformed();
    std::array<std::int64_t, 64> seen;
    std::array<std::int32_t, side * side> torus{};
    const auto whole = [&](double weight) {
        see<side, 4>(torus.data(), filters.low, rows(), width(), seen.data());
        add_channel(seen.data(), weight, entries);
    };
    Half real_half, imaginary_half;
    const auto coarse = [&](const Whole& of, double weight) {
        for (const Transformed::Wavelet& wavelet : bank.coarse) {
            cyclic::multiply(of, wavelet.real, real_half);
            cyclic::multiply(of, wavelet.imaginary, imaginary_half);
            cyclic::transform_back(real_half);
            cyclic::transform_back(imaginary_half);
            moduli(real_half, imaginary_half, torus.data());
            see<half, 2>(torus.data(), filters.low_half, rows(), width(), seen.data());
            add_channel(seen.data(), weight, entries);
        }
    };
    const auto of_torus = [&] {
        Whole values;
        std::transform(torus.begin(), torus.end(), values.begin(), residues::of);
        cyclic::transform(values);
        return values;
    };

    for (std::size_t y = 0; y < image_.height; ++y)
        for (std::size_t x = 0; x < image_.width; ++x)
            torus[(y + margin) % side * side + (x + margin) % side] =
                static_cast<std::int32_t>(grey(pixels[y * image_.width + x]));
    whole(weights_[0]);
    const Whole image = of_torus();
    std::array<Whole, angles> fine;
    Whole real, imaginary;
    for (std::size_t angle = 0; angle < angles; ++angle) {
        cyclic::multiply(image, bank.fine[angle].real, real);
        cyclic::multiply(image, bank.fine[angle].imaginary, imaginary);
        cyclic::transform_back(real);
        cyclic::transform_back(imaginary);
        moduli(real, imaginary, torus.data());
        whole(weights_[1]);
        fine[angle] = of_torus();
    }
    coarse(image, weights_[2]);
    for (const Whole& of : fine) coarse(of, weights_[3]);
}

}  // namespace holdfast
