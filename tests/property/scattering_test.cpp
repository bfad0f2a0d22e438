#include "models/nets/scattering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/backends.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "models/certify/answers.hpp"
#include "models/convex/mapped_length.hpp"
#include "models/robust/attack.hpp"
#include "models/robust/input_certificate.hpp"
#include "models/robust/query_moves.hpp"
#include "models/robust/scattering_gradient.hpp"
#include "models/robust/scattering_slope.hpp"
#include "tests/support/effort.hpp"
#include "tests/support/records_of.hpp"

namespace holdfast {
namespace {

using Filters = ScatteringFilters;
constexpr std::size_t side = Filters::side, half = Filters::half, angles = Filters::angles;
constexpr Scattering::Weights one{1, 1, 1, 1};
constexpr double pi = 3.14159265358979323846;

// Plain loops ---------------------------------------------------------------------------------------------

using Torus = std::vector<__int128>;

/// A convolution where every `step`-th row and column is wanted.
Torus convolved(const Torus& values, const Filters::Taps& taps, std::size_t step) {
    Torus result;
    for (std::size_t y = 0; y < side; y += step) {
        for (std::size_t x = 0; x < side; x += step) {
            __int128 sum = 0;
            for (std::size_t v = 0; v < side; ++v)
                for (std::size_t u = 0; u < side; ++u)
                    sum += taps[(y + side - v) % side * side + (x + side - u) % side] * values[v * side + u];
            result.push_back(sum);
        }
    }
    return result;
}

Torus modulus(const Torus& values, const Filters::Wavelet& wavelet, std::size_t step) {
    const Torus real = convolved(values, wavelet.real, step),
                imaginary = convolved(values, wavelet.imaginary, step);
    Torus result;
    const auto rounded = [](__int128 value) {
        const __int128 unit = __int128{1} << Filters::tap_bits, twice = 2 * value + unit;
        return (twice - ((twice % (2 * unit)) + 2 * unit) % (2 * unit)) / (2 * unit);
    };
    for (std::size_t i = 0; i < real.size(); ++i) {
        const __int128 squares =
            rounded(real[i]) * rounded(real[i]) + rounded(imaginary[i]) * rounded(imaginary[i]);
        __int128 low = 0, high = __int128{1} << 40;
        while (high - low > 1) {
            const __int128 centre = (low + high) / 2;
            (centre * centre <= squares ? low : high) = centre;
        }
        result.push_back(low);
    }
    return result;
}

/// Low pass of the torus of `Side`, the modes of what the image's rows and columns see of it, and a weight.
template <std::size_t Side>
void add(const Torus& torus, const std::array<std::int64_t, Side>& taps, const Image& image, double weight,
         std::vector<double>& entries) {
    const std::size_t high = (image.height + 3) / 4, wide = (image.width + 3) / 4, step = Side / 8;
    std::vector<double> seen;
    for (std::size_t i = 1; i <= high; ++i) {
        for (std::size_t k = 1; k <= wide; ++k) {
            __int128 sum = 0;
            for (std::size_t y = 0; y < Side; ++y)
                for (std::size_t x = 0; x < Side; ++x)
                    sum += taps[(y + Side - step * i % Side) % Side] *
                           taps[(x + Side - step * k % Side) % Side] * torus[y * Side + x];
            seen.push_back(std::ldexp(static_cast<double>(sum), -50));
        }
    }
    const auto sine = [](std::size_t a, std::size_t i, std::size_t size) {
        const auto n = static_cast<double>(size + 1);
        return std::sqrt(2 / n) * std::sin(pi * static_cast<double>(a * i) / n);
    };
    for (std::size_t a = 1; a <= high; ++a) {
        for (std::size_t b = 1; b <= wide; ++b) {
            const double y = static_cast<double>(a) / static_cast<double>(high + 1),
                         x = static_cast<double>(b) / static_cast<double>(wide + 1);
            if (y * y + x * x > 0.625) continue;
            double sum = 0;
            for (std::size_t i = 1; i <= high; ++i)
                for (std::size_t k = 1; k <= wide; ++k)
                    sum += sine(a, i, high) * sine(b, k, wide) * seen[(i - 1) * wide + k - 1];
            entries.push_back(weight * std::exp(0.25 * 0.64 * pi * pi * (y * y + x * x)) * sum);
        }
    }
}

std::vector<double> plainly(const Scattering& map, const std::vector<double>& pixels) {
    const Filters& filters = Filters::shared();
    const Image& image = map.image();
    std::vector<double> entries;
    for (std::size_t channel = 0; channel < image.channels; ++channel) {
        Torus torus(side * side);
        for (std::size_t y = 0; y < image.height; ++y)
            for (std::size_t x = 0; x < image.width; ++x)
                torus[(y + 2) % side * side + (x + 2) % side] =
                    map.grey(pixels[(channel * image.height + y) * image.width + x]);
        add<side>(torus, filters.low, image, map.weights()[0], entries);
        std::vector<Torus> fine;
        for (const Filters::Wavelet& wavelet : filters.fine) {
            fine.push_back(modulus(torus, wavelet, 1));
            add<side>(fine.back(), filters.low, image, map.weights()[1], entries);
        }
        const auto coarse = [&](const Torus& of, double weight) {
            for (const Filters::Wavelet& wavelet : filters.coarse)
                add<half>(modulus(of, wavelet, 2), filters.low_half, image, weight, entries);
        };
        coarse(torus, map.weights()[2]);
        for (const Torus& of : fine) coarse(of, map.weights()[3]);
    }
    return entries;
}

std::vector<double> random_pixels(std::size_t count, std::mt19937_64& random) {
    std::vector<double> pixels(count);
    for (double& pixel : pixels) pixel = std::uniform_real_distribution<double>(0, 1)(random);
    return pixels;
}

std::vector<double> mapped(const Scattering& map, const std::vector<double>& pixels) {
    std::vector<double> entries(map.outputs());
    map.apply(pixels.data(), entries.data());
    return entries;
}

TEST(Scattering, IsWhatPlainLoopsGive) {
    std::mt19937_64 random(5);
    for (const auto& [image, range] : {std::pair<Image, FeatureRange>{{1, 28, 28}, {0, 1}},
                                       {{2, 9, 32}, {-1, 3}},
                                       {{1, 1, 5}, {0, 255}}}) {
        const Scattering map(image, range, Scattering::usual_weights);
        std::vector<double> pixels = random_pixels(image.rows(), random);
        for (double& pixel : pixels) pixel = range.low + (range.high - range.low) * pixel;
        pixels.front() = range.high;
        pixels.back() = range.low;
        const std::vector<double> entries = mapped(map, pixels), plain = plainly(map, pixels);
        ASSERT_EQ(entries.size(), plain.size());
        double squares = 0;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            EXPECT_NEAR(entries[i], plain[i], 1e-11) << i;
            squares += entries[i] * entries[i];
        }
        EXPECT_LE(std::sqrt(squares), map.norm());
        for (const std::string& target : simd_targets()) {
            const SimdTargetOverride only(target);
            EXPECT_EQ(mapped(map, pixels), entries) << target;
        }
    }
}

TEST(Scattering, OfImagesThatAreAllBrightStaysInItsIntegers) {
    const Scattering map({1, 32, 32}, {0, 1}, Scattering::usual_weights);
    const std::vector<double> bright(1024, 1.0);
    const std::vector<double> entries = mapped(map, bright), plain = plainly(map, bright);
    for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_NEAR(entries[i], plain[i], 1e-11) << i;
    const auto size = [](const Filters::Taps& taps) {
        std::int64_t sum = 0;
        for (const std::int64_t tap : taps) sum += std::abs(tap);
        return sum;
    };
    // A first modulus is below 2^26, a second one below 2^29: their squares below 2^60, sums below 2^63.
    for (const auto* wavelets : {&Filters::shared().fine, &Filters::shared().coarse}) {
        for (const Filters::Wavelet& wavelet : *wavelets) {
            EXPECT_LT(size(wavelet.real), std::int64_t{2} << Filters::tap_bits);
            EXPECT_LT(size(wavelet.imaginary), std::int64_t{2} << Filters::tap_bits);
        }
    }
}

// The frame -----------------------------------------------------------------------------------------------

/// Of taps that are even, or odd with the factor i: real, at every frequency of the torus.
std::vector<double> response(const Filters::Wavelet& wavelet) {
    std::vector<double> result;
    for (std::size_t v = 0; v < side; ++v) {
        for (std::size_t u = 0; u < side; ++u) {
            double sum = 0;
            for (std::size_t y = 0; y < side; ++y) {
                for (std::size_t x = 0; x < side; ++x) {
                    const double angle = 2 * pi * static_cast<double>((v * y + u * x) % side) / side;
                    sum += static_cast<double>(wavelet.real[y * side + x]) * std::cos(angle) +
                           static_cast<double>(wavelet.imaginary[y * side + x]) * std::sin(angle);
                }
            }
            result.push_back(std::ldexp(sum, -Filters::tap_bits));
        }
    }
    return result;
}

template <std::size_t Side>
std::vector<double> row_response(const std::array<std::int64_t, Side>& taps) {
    std::vector<double> result;
    for (std::size_t v = 0; v < Side; ++v) {
        double sum = 0;
        for (std::size_t y = 0; y < Side; ++y)
            sum += static_cast<double>(taps[y]) * std::cos(2 * pi * static_cast<double>(v * y % Side) / Side);
        result.push_back(std::ldexp(sum, -Filters::low_bits));
    }
    return result;
}

/// Of a symmetric matrix no eigenvalue is above the largest of (|M| v)_i / v_i, whatever v > 0.
double largest_eigenvalue(std::vector<double> matrix, std::size_t size) {
    std::vector<double> v(size, 1);
    double bound = 0;
    for (int round = 0; round < 300; ++round) {
        std::vector<double> next(size, 1e-9);
        bound = 0;
        for (std::size_t i = 0; i < size; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < size; ++j) sum += std::abs(matrix[i * size + j]) * v[j];
            bound = std::max(bound, sum / v[i]);
            next[i] += sum;
        }
        const double most = *std::max_element(next.begin(), next.end());
        for (std::size_t i = 0; i < size; ++i) v[i] = next[i] / most;
    }
    return bound;
}

/// What the layer does with the 16 frequencies of a block: of the fine ones what they weigh, of the coarse
/// ones of four that fold together, and of the low pass of all, each product once.
double block_bound(std::size_t v, std::size_t u) {
    static const auto all = [] {
        std::array<std::vector<double>, 2 * angles> made;
        for (std::size_t a = 0; a < angles; ++a) {
            made[a] = response(Filters::shared().fine[a]);
            made[angles + a] = response(Filters::shared().coarse[a]);
        }
        return made;
    }();
    const std::vector<double> low = row_response(Filters::shared().low);
    std::vector<double> matrix(256);
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 16; ++j) {
            const std::size_t vi = (v + 8 * (i / 4)) % side, ui = (u + 8 * (i % 4)) % side,
                              vj = (v + 8 * (j / 4)) % side, uj = (u + 8 * (j % 4)) % side;
            const auto at = [&](std::size_t y, std::size_t x) { return y * side + x; };
            const auto across = [&](std::size_t y, std::size_t x) {
                return (side - y) % side * side + (side - x) % side;
            };
            double& entry = matrix[i * 16 + j];
            entry = low[vi] * low[ui] * low[vj] * low[uj] / 16;
            for (std::size_t a = 0; a < angles; ++a) {
                const std::vector<double>&fine = all[a], &coarse = all[angles + a];
                if (i == j) entry += (std::pow(fine[at(vi, ui)], 2) + std::pow(fine[across(vi, ui)], 2)) / 2;
                if ((i / 4 + j / 4) % 2 == 0 && (i + j) % 2 == 0)
                    entry += (coarse[at(vi, ui)] * coarse[at(vj, uj)] +
                              coarse[across(vi, ui)] * coarse[across(vj, uj)]) /
                             8;
            }
        }
    }
    return largest_eigenvalue(std::move(matrix), 16);
}

TEST(Scattering, NoBlockOfFrequenciesGrows) {
    // Errors of sums in double of 2^10 taps, each below 2 in all, are below 2^-30.
    double most = 0;
    for (std::size_t v = 0; v < 8; ++v)
        for (std::size_t u = 0; u < 8; ++u) most = std::max(most, block_bound(v, u));
    EXPECT_LE(most, 1 - 0x1p-20);
    EXPECT_GE(most, 0.99);
    const std::vector<double> low = row_response(Filters::shared().low_half);
    for (std::size_t v = 0; v < 8; ++v)
        EXPECT_LE((low[v] * low[v] + low[v + 8] * low[v + 8]) / 2, 1 - 0x1p-20);
}

TEST(Scattering, TapsAreEvenAndOdd) {
    for (const auto* wavelets : {&Filters::shared().fine, &Filters::shared().coarse}) {
        for (const Filters::Wavelet& wavelet : *wavelets) {
            for (std::size_t y = 0; y < side; ++y) {
                for (std::size_t x = 0; x < side; ++x) {
                    const std::size_t other = (side - y) % side * side + (side - x) % side;
                    EXPECT_EQ(wavelet.real[y * side + x], wavelet.real[other]);
                    EXPECT_EQ(wavelet.imaginary[y * side + x], -wavelet.imaginary[other]);
                }
            }
        }
    }
}

// Pairs of images -----------------------------------------------------------------------------------------

/// Entries without the modes' weights.
std::vector<double> unweighted(const Scattering& map, const std::vector<double>& pixels) {
    std::vector<double> entries = mapped(map, pixels), weights;
    for (std::size_t a = 1; a <= map.rows(); ++a) {
        for (std::size_t b = 1; b <= map.width(); ++b) {
            const double y = static_cast<double>(a) / static_cast<double>(map.rows() + 1),
                         x = static_cast<double>(b) / static_cast<double>(map.width() + 1);
            if (y * y + x * x <= 0.625) weights.push_back(std::exp(0.16 * pi * pi * (y * y + x * x)));
        }
    }
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] /= weights[i % weights.size()];
    return entries;
}

double distance(const std::vector<double>& one, const std::vector<double>& other) {
    double squares = 0;
    for (std::size_t i = 0; i < one.size(); ++i) squares += (one[i] - other[i]) * (one[i] - other[i]);
    return std::sqrt(squares);
}

TEST(Scattering, BringsNoImagesFartherApart) {
    const Scattering map({1, 28, 28}, {0, 1}, one);
    const double lost = 2 * map.rounding();
    std::mt19937_64 random(9);
    double best = 0;
    const auto compare = [&](const std::vector<double>& x, const std::vector<double>& y) {
        const double before = distance(x, y), after = distance(unweighted(map, x), unweighted(map, y));
        EXPECT_LE(after, before + lost);
        best = std::max(best, after / before);
        return after / before;
    };
    const std::vector<double> grey(784, 0.5);
    const auto row_of = [](std::size_t pixel) {  // from 1
        const std::size_t row = pixel / 28 + 1;
        return static_cast<double>(row);
    };
    for (int i = 0; i < 6; ++i) {
        const std::vector<double> x = i % 2 == 0 ? random_pixels(784, random) : grey;
        compare(x, random_pixels(784, random));
        for (const std::size_t pixel : {0U, 27U, 406U, 783U}) {  // one alone, at the border too
            std::vector<double> y = x;
            y[pixel] = y[pixel] < 0.5 ? 1 : 0;
            compare(x, y);
        }
        std::vector<double> wave = x;  // the highest frequency
        for (std::size_t p = 0; p < 784; ++p)
            wave[p] = std::clamp(x[p] + ((p / 28 + p) % 2 == 0 ? .1 : -.1), 0., 1.);
        compare(x, wave);
        std::vector<double> smooth = x;  // what the low pass keeps
        for (std::size_t p = 0; p < 784; ++p)
            smooth[p] = x[p] + (0.5 - x[p] > 0 ? .3 : -.3) * std::sin(pi * row_of(p) / 29) *
                                   std::sin(pi * (static_cast<double>(p % 28) + 1) / 29);
        compare(x, smooth);
    }
    // A climb: steps that bring them farther apart are kept.
    const std::vector<double>& x = grey;
    std::vector<double> y = grey;
    for (std::size_t p = 0; p < 784; ++p)
        y[p] +=
            0.3 *
            std::exp(-(std::pow(row_of(p) - 14.5, 2) + std::pow(static_cast<double>(p % 28) - 13.5, 2)) / 60);
    double ratio = compare(x, y);
    for (int step = 0; step < 60; ++step) {
        std::vector<double> moved = y;
        for (double& pixel : moved)
            pixel = std::clamp(pixel + std::normal_distribution<double>(0, 0.005)(random), 0., 1.);
        const double now = compare(x, moved);
        if (now > ratio) {
            ratio = now;
            y = moved;
        }
    }
    EXPECT_GE(best, 0.9) << "the bound is loose, or the images were";
}

// A linear model behind it --------------------------------------------------------------------------------

constexpr std::size_t pixels_of_small = 64;

Scattering small_map() {
    return {{1, 8, 8}, {0, 1}, Scattering::usual_weights};
}

TEST(Scattering, HasNoPixelsBesideIt) {
    const Scattering map = small_map();
    EXPECT_EQ(FeatureMap::problem(map.columns(), map, false, 0), "");
    EXPECT_EQ(FeatureMap::problem(map.columns(), map, true, 0), "pixels beside their scattering");
}

double value_of(const Scattering& map, const std::vector<double>& w, const std::vector<double>& pixels) {
    const std::vector<double> entries = mapped(map, pixels);
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) sum += w[i] * entries[i];
    return sum;
}

/// By differences of the values.
std::vector<double> gradient_at(const Scattering& map, const std::vector<double>& w,
                                std::vector<double> pixels) {
    constexpr double step = 1e-4;
    const double from = value_of(map, w, pixels);
    std::vector<double> gradient;
    for (double& pixel : pixels) {
        const double sign = pixel < 0.5 ? step : -step;
        pixel += sign;
        gradient.push_back((value_of(map, w, pixels) - from) / sign);
        pixel -= sign;
    }
    return gradient;
}

/// Of one scattered channel alone, or of all.
std::vector<double> random_weights(const Scattering& map, std::mt19937_64& random, int trial) {
    std::vector<double> w(map.outputs());
    const std::size_t each = w.size() / Scattering::channels;
    for (std::size_t i = 0; i < w.size(); ++i) {
        const double drawn = std::normal_distribution<double>()(random);
        const std::size_t channel = i / each;
        const bool kept =
            trial % 3 == 0 ||
            (trial % 3 == 1 ? channel == static_cast<std::size_t>(trial) / 3 * 5 : channel > 16);
        w[i] = kept ? drawn : 0;
    }
    return w;
}

TEST(ScatteringSlopes, NoMoveOfAnImageChangesAWeightedSumFaster) {
    const Scattering map = small_map();
    std::mt19937_64 random(3);
    double best = 0;
    for (int trial = 0; trial < 12; ++trial) {
        const std::vector<double> w = random_weights(map, random, trial);
        const ScatteringSlope slope = slope_of(map, w);
        const double lost = 2 * map.rounding() * slope.by_entries.value();
        EXPECT_LE(slope.by_image.value(), slope.by_entries.value() * (1 + 1e-9)) << "no worse than lengths";
        std::vector<double> x = random_pixels(pixels_of_small, random);
        const std::vector<double> gradient = gradient_at(map, w, x);
        const double length = distance(gradient, std::vector<double>(pixels_of_small));
        for (const double far : {1e-5, 1e-2, 0.2}) {
            std::vector<double> y = x;
            for (std::size_t p = 0; p < y.size(); ++p)
                y[p] = std::clamp(y[p] + far * gradient[p] / length, 0., 1.);
            const double change = std::abs(value_of(map, w, y) - value_of(map, w, x));
            EXPECT_LE(change, slope.by_image.value() * distance(x, y) + lost);
            best = std::max(best, change / (slope.by_image.value() * distance(x, y)));
        }
    }
    EXPECT_GE(best, 0.4) << "the bound is loose";
}

/// What a training follows of it: Euler's identity, and differences of the bound.
TEST(ScatteringSlopes, GrowAsTheirGradientSays) {
    std::mt19937_64 random(12);
    for (const Image& image : {Image{1, 8, 8}, Image{2, 12, 5}}) {
        const Scattering map(image, {0, 1}, Scattering::usual_weights);
        for (int trial = 0; trial < 6; ++trial) {
            const std::vector<double> w = random_weights(map, random, trial % 3 == 1 ? 0 : trial);
            const double bound = slope_of(map, w).by_image.value();
            const std::vector<double> gradient = slope_gradient(map, w);
            double product = 0;
            for (std::size_t i = 0; i < w.size(); ++i) product += w[i] * gradient[i];
            ASSERT_NEAR(product / bound, 1, 1e-9);
            for (std::size_t i = 0; i < w.size(); i += 7) {
                if (w[i] == 0) continue;
                std::vector<double> above = w, below = w;
                above[i] += 1e-4;
                below[i] -= 1e-4;
                const double by_differences =
                    (slope_of(map, above).by_image.value() - slope_of(map, below).by_image.value()) / 2e-4;
                ASSERT_NEAR(by_differences, gradient[i], 1e-5 * bound) << i;
            }
        }
        const std::vector<double> none(map.outputs());
        EXPECT_EQ(slope_gradient(map, none), none);
    }
}

/// The map as attacks see it: its values but for rounding, its derivative by differences.
TEST(SmoothScatterings, AreTheMapAndItsDerivative) {
    std::mt19937_64 random(13);
    for (const auto& [image, range] :
         {std::pair<Image, FeatureRange>{{1, 8, 8}, {0, 1}}, {{2, 28, 9}, {-1, 3}}}) {
        const Scattering map(image, range, Scattering::usual_weights);
        const SmoothScattering smooth(map);
        SmoothScattering::Pass pass;
        std::vector<double> pixels = random_pixels(image.rows(), random), entries(map.outputs()),
                            by_entries(map.outputs()), gradient(image.rows());
        for (double& pixel : pixels) pixel = range.low + (range.high - range.low) * pixel;
        smooth.forward(pixels, pass, entries);
        EXPECT_LE(distance(entries, mapped(map, pixels)), map.rounding() * map.largest_weight() + 1e-9);
        for (double& by : by_entries) by = std::normal_distribution<double>()(random);
        smooth.gradient(by_entries, pass, gradient);
        const auto value_at = [&](const std::vector<double>& x) {
            SmoothScattering::Pass other;
            std::vector<double> found(map.outputs());
            smooth.forward(x, other, found);
            double sum = 0;
            for (std::size_t i = 0; i < found.size(); ++i) sum += by_entries[i] * found[i];
            return sum;
        };
        const double length = distance(gradient, std::vector<double>(gradient.size()));
        for (std::size_t p = 0; p < pixels.size(); p += 5) {
            std::vector<double> above = pixels, below = pixels;
            above[p] += 1e-5;
            below[p] -= 1e-5;
            ASSERT_NEAR((value_at(above) - value_at(below)) / 2e-5, gradient[p], 1e-5 * length) << p;
        }
    }
}

Model model_of(const Scattering& map, const std::vector<double>& w, double bias) {
    const FeatureMap features(map.columns(), {.range = map.range()}, map, false);
    Network network(features.outputs(), {}, 2, Loss::binary_cross_entropy, features.network_input());
    Model model{std::move(network), Precision::double_precision, {}, "elsewhere", "test", "1", {}, {}};
    for (const double weight : w) model.parameters.push_back(parameter_units(weight));
    model.parameters.push_back(parameter_units(bias));
    model.features = features;
    return model;
}

std::int32_t label_at(const Model& model, const Backend& backend, const std::vector<double>& pixels) {
    return answers_of(model.network, backend, model.parameters, model.feature_map()(records_of({pixels})))
        .labels[0];
}

TEST(ScatteredRadii, NoClimbWithinThemChangesALabel) {
    const auto backend = make_backend("cpu");
    const Scattering map = small_map();
    std::mt19937_64 random(4);
    int beyond = 0;
    for (int trial = 0; trial < 5; ++trial) {
        const std::vector<double> w = random_weights(map, random, trial);
        const std::vector<double> x = random_pixels(pixels_of_small, random);
        const double margin = (trial % 2 == 0 ? 0.02 : -0.02) * slope_of(map, w).by_image.value();
        const Model model = model_of(map, w, margin - value_of(map, w, x));
        const InputCertificates found = certify_l2_radii(model, *backend, records_of({x}));
        ASSERT_EQ(found.labels[0], margin > 0 ? 1 : 0);
        ASSERT_GT(found.radii[0], 0.018);
        for (const double part : {1 - 1e-9, 10.0}) {
            const double radius = part * found.radii[0], sign = margin > 0 ? -1 : 1;
            std::vector<double> y = x;
            for (int step = 0; step < 3; ++step) {
                const std::vector<double> gradient = gradient_at(map, w, y);
                const double length = distance(gradient, std::vector<double>(pixels_of_small));
                for (std::size_t p = 0; p < y.size(); ++p) y[p] += sign * radius / 2 * gradient[p] / length;
                const double far = distance(x, y), back = far > radius ? radius / far * (1 - 1e-12) : 1;
                for (std::size_t p = 0; p < y.size(); ++p)
                    y[p] = std::clamp(x[p] + back * (y[p] - x[p]), 0., 1.);
            }
            const bool changed = label_at(model, *backend, y) != found.labels[0];
            if (part < 1)
                EXPECT_FALSE(changed);
            else
                beyond += changed ? 1 : 0;
        }
    }
    EXPECT_GE(beyond, 2) << "ten times as far changes labels";
}

/// Three classes, near where they meet: no attack succeeds within a radius, and those that follow the map's
/// gradient do beyond it.
TEST(ScatteredRadii, NoAttackWithinThemChangesALabel) {
    const auto backend = make_backend("cpu");
    const Scattering map = small_map();
    const FeatureMap features(map.columns(), {.range = map.range()}, map, false);
    std::mt19937_64 random(14);
    const std::uint64_t all = cases_of(10);
    std::uint64_t by_margin = 0, by_pgd = 0, by_square = 0;
    for (std::uint64_t trial = 0; trial < all; ++trial) {
        std::vector<double> x = random_pixels(pixels_of_small, random);
        for (double& pixel : x) pixel = 0.3 + 0.4 * pixel;
        Network network(features.outputs(), {}, 3, Loss::cross_entropy, features.network_input());
        Model model{std::move(network), Precision::double_precision, {}, "elsewhere", "test", "1", {}, {}};
        model.features = features;
        for (int c = 0; c < 3; ++c) {
            const std::vector<double> w = random_weights(map, random, 0);
            for (const double weight : w) model.parameters.push_back(parameter_units(weight));
            const double lead = c == 0 ? 0.02 * slope_of(map, w).by_image.value() : 0;
            model.parameters.push_back(parameter_units(lead - value_of(map, w, x)));
        }
        const Records queries = records_of({x});
        const InputCertificates found = certify_l2_radii(model, *backend, queries);
        ASSERT_EQ(found.labels[0], 0);
        ASSERT_GT(found.radii[0], 0.005);
        const Attacker attacker(model, *backend, queries);
        const auto falls = [&](const std::string& name, double part) {
            const Attack attack{name, name == "square" ? std::size_t{2} : std::size_t{6}, 1};
            return attacker.succeed(attack, Norm::l2, part * found.radii[0], {0}, {1})[0] != 0;
        };
        for (const std::string& name : Attack::names()) EXPECT_FALSE(falls(name, 1 - 1e-9)) << name;
        by_margin += falls("margin", 20) ? 1 : 0;
        by_pgd += falls("pgd", 20) ? 1 : 0;
        by_square += falls("square", 20) ? 1 : 0;
    }
    EXPECT_GE(2 * by_margin, all);
    EXPECT_GE(2 * by_pgd, all);
    EXPECT_LE(by_square, by_margin) << "without a gradient less is found";
}

/// A pixel at the end of its unit jumps with the least move.
TEST(ScatteredRadii, HoldWhereTheMapRounds) {
    const auto backend = make_backend("cpu");
    const Scattering map = small_map();
    std::mt19937_64 random(6);
    const std::vector<double> w = random_weights(map, random, 0);
    std::vector<double> x = random_pixels(pixels_of_small, random);
    const double end = 0.5 + 0x1p-25;
    x[27] = end - 0x1p-50;
    std::vector<double> y = x;
    y[27] = end + 0x1p-50;
    const double here = value_of(map, w, x), there = value_of(map, w, y);
    ASSERT_NE(here, there);
    const Model model = model_of(map, w, -(here + there) / 2);
    const InputCertificates found = certify_l2_radii(model, *backend, records_of({x}));
    ASSERT_NE(label_at(model, *backend, y), found.labels[0]);
    EXPECT_LE(found.radii[0], 0x1p-49);
    const ScatteringSlope slope = slope_of(map, w);
    const double lost = map.rounding() * slope.by_entries.value();
    const Model close = model_of(map, w, 3 * lost - here);
    const double radius = certify_l2_radii(close, *backend, records_of({x})).radii[0];
    EXPECT_GT(radius, 0);
    EXPECT_LE(radius, lost / slope.by_image.value()) << "both ends may be off";
}

TEST(ScatteredRadii, BehindALimitOfTheNormRestOnLengthsAlone) {
    const auto backend = make_backend("cpu");
    const Scattering map = small_map();
    std::mt19937_64 random(8);
    const std::vector<double> w = random_weights(map, random, 0), x = random_pixels(pixels_of_small, random);
    Model model = model_of(map, w, 1 - value_of(map, w, x));
    const double free = certify_l2_radii(model, *backend, records_of({x})).radii[0];
    model.features = FeatureMap(map.columns(), {.range = map.range()}, map, false, 1e5);
    model.network =
        Network(map.outputs(), {}, 2, Loss::binary_cross_entropy, model.features->network_input());
    const double limited = certify_l2_radii(model, *backend, records_of({x})).radii[0];
    EXPECT_GT(limited, 0);
    double squares = 0;
    for (const double weight : w) squares += weight * weight;
    EXPECT_LE(limited, 1 / (map.largest_weight() * std::sqrt(squares)));
    EXPECT_LT(limited, free);
}

/// Of a convex run a lead, less what a moved query takes, may change with the parameters by no more than the
/// joint distance counts on: along the query, along the weights, anywhere.
TEST(ScatteredLeads, MoveWithTheParametersNoFasterThanTheirStep) {
    const auto backend = make_backend("cpu");
    const Scattering map = small_map();
    const FeatureMap features(map.columns(), {.range = map.range()}, map, false);
    std::mt19937_64 random(15);
    double most = 0;
    for (int trial = 0; trial < 12; ++trial) {
        const Records query = features(records_of({random_pixels(pixels_of_small, random)}));
        const std::vector<double> w = random_weights(map, random, trial);
        const auto lead = [&](const std::vector<double>& weights, double radius) {
            const Model model = model_of(map, weights, 0.5);
            const std::vector<double> logits =
                deciding_values(model.network, *backend, model.parameters, query);
            const QueryMoves moves(model.network, features, Precision::double_precision, model.parameters);
            return QueryMoves::OfQuery(moves, query.features, 0, logits.data()).lead(1, 0).within(radius);
        };
        const Network network = model_of(map, w, 0).network;
        const double length = mapped_length(network, query.features, 0).value();
        for (const double radius : {0.01, 1.0, 100.0}) {
            const double reach = QueryMoves::reach(network, features, radius).value(), here = lead(w, radius);
            for (int kind = 0; kind < 3; ++kind) {
                std::vector<double> other = w;
                const std::vector<double> drawn = random_weights(map, random, 0);
                for (std::size_t i = 0; i < w.size(); ++i)
                    other[i] += 0.01 * (kind == 0 ? query.features.at(0, i) : kind == 1 ? w[i] : drawn[i]);
                const double moved = std::abs(lead(other, radius) - here) / distance(w, other);
                EXPECT_LE(moved, (1 + 1e-6) * (length + reach));
                most = std::max(most, moved / (length + reach));
            }
        }
    }
    EXPECT_GT(most, 0.4) << "the bound is loose";
}

}  // namespace
}  // namespace holdfast
