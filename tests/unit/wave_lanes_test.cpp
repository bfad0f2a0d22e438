// Eight convolutions side by side, against plain sums modulo the prime, on every instruction set.

#include "kernels/cpu/wave_lanes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "kernels/base/residues.hpp"
#include "kernels/cpu/simd_target.hpp"

namespace holdfast::wave_lanes_test {
namespace {

namespace wave_lanes = cpu::wave_lanes;
using wave_lanes::half;
using wave_lanes::lanes;
using wave_lanes::side;
using Wide = unsigned __int128;
constexpr std::uint64_t prime = residues::prime;

std::uint64_t product(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(Wide{a} * b % prime);
}

/// Residues at which a reduction borrows or carries, and others.
std::uint64_t residue(std::mt19937_64& random) {
    const std::uint64_t bit = std::uint64_t{1} << random() % 64;
    switch (random() % 4) {
        case 0:
            return random() % 3;
        case 1:
            return prime - 1 - random() % 3;
        case 2:
            return (bit - random() % 2) % prime;
        default:
            return random() % prime;
    }
}

std::size_t reversed(std::size_t k) {
    return (k & 1) << 4 | (k & 2) << 2 | (k & 4) | (k & 8) >> 2 | (k & 16) >> 4;
}

template <typename Act>
void on_every_target(const Act& act) {
    for (const std::string& target : simd_targets()) {
        SCOPED_TRACE(target);
        const SimdTargetOverride only(target);
        act();
    }
}

TEST(Residues, AreProductsModuloThePrime) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t a = residue(random), b = residue(random);
        ASSERT_EQ(residues::product(a, b), product(a, b)) << a << " " << b;
        ASSERT_EQ(residues::sum(a, b), static_cast<std::uint64_t>((Wide{a} + b) % prime)) << a << " " << b;
        ASSERT_EQ(residues::difference(a, b), static_cast<std::uint64_t>((Wide{a} + prime - b) % prime));
    }
}

TEST(WaveLanes, TransformAsPlainSumsDo) {
    on_every_target([] {
        std::mt19937_64 random(2);
        const auto given = std::make_unique<wave_lanes::Whole>();
        for (std::uint64_t& value : *given) value = residue(random);
        const auto found = std::make_unique<wave_lanes::Whole>(*given);
        wave_lanes::transform(*found);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            std::vector<std::uint64_t> rows(side * side);  // each transformed
            const auto power = [](std::size_t k) { return residues::power(residues::root, k % side); };
            for (std::size_t y = 0; y < side; ++y)
                for (std::size_t k = 0; k < side; ++k)
                    for (std::size_t x = 0; x < side; ++x)
                        rows[y * side + k] =
                            residues::sum(rows[y * side + k],
                                          product((*given)[(y * side + x) * lanes + lane], power(k * x)));
            for (std::size_t v = 0; v < side; ++v) {
                for (std::size_t u = 0; u < side; ++u) {
                    std::uint64_t sum = 0;
                    for (std::size_t y = 0; y < side; ++y)
                        sum = residues::sum(sum, product(rows[y * side + u], power(v * y)));
                    ASSERT_EQ((*found)[(reversed(v) * side + reversed(u)) * lanes + lane], sum);
                }
            }
        }
    });
}

/// Rounded to 2^20, as the least integer in size that the residue stands for.
__int128 rounded(std::int64_t value) {
    const std::int64_t above = value + (1 << 19);
    return above >= 0 ? above >> 20 : -((-above + (1 << 20) - 1) >> 20);
}

std::uint64_t modulus(std::int64_t a, std::int64_t b) {
    const __int128 squares = rounded(a) * rounded(a) + rounded(b) * rounded(b);
    std::uint64_t low = 0, high = std::uint64_t{1} << 31;
    while (high - low > 1) {
        const std::uint64_t centre = low + (high - low) / 2;
        (static_cast<__int128>(centre) * centre <= squares ? low : high) = centre;
    }
    return low;
}

/// Of the mean alone every pixel is the same: a product that comes out as a small integer, of factors that
/// are none.
TEST(WaveLanes, HaveTheModuliOfWhatProductsStandFor) {
    on_every_target([] {
        std::mt19937_64 random(3);
        const auto filters = std::make_unique<wave_lanes::Filters>();
        const auto transform = std::make_unique<wave_lanes::Whole>(),
                   whole = std::make_unique<wave_lanes::Whole>();
        const auto halves = std::make_unique<wave_lanes::Half>();
        for (int trial = 0; trial < 60; ++trial) {
            std::array<std::int64_t, lanes> real, imaginary;
            const std::size_t from = static_cast<std::size_t>(trial) % lanes;
            std::uint64_t& mean = (*transform = {})[from];
            do mean = residue(random);
            while (mean == 0);
            const std::uint64_t inverse = residues::power(mean, prime - 2);
            const auto small = [&] {
                const auto size = static_cast<std::int64_t>(random() >> (16 + random() % 48));
                return random() % 2 == 0 ? size : -size;
            };
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                real[lane] = small();
                imaginary[lane] = trial % 3 == 0 ? 0 : small();
                if (trial % 3 == 1) {  // one less than a square: (2 c^2 + 1)^2
                    const auto c = static_cast<std::int64_t>(8000 + random() % 8000);
                    real[lane] = 2 * c * c << 20;
                    imaginary[lane] = -2 * c * (1 << 20);
                }
                filters->real[lane] = product(residues::of(real[lane]), inverse);
                filters->imaginary[lane] = product(residues::of(imaginary[lane]), inverse);
            }
            wave_lanes::moduli(*transform, from, *filters, 20, *whole);
            wave_lanes::moduli(*transform, from, *filters, 20, *halves);
            for (std::size_t i = 0; i < whole->size(); ++i)
                ASSERT_EQ((*whole)[i], modulus(real[i % lanes], imaginary[i % lanes]));
            for (std::size_t i = 0; i < halves->size(); ++i) ASSERT_EQ((*halves)[i], (*whole)[i]);
        }
    });
}

template <std::size_t Side>
void see_as_plain_sums_do() {
    std::mt19937_64 random(4);
    const auto values = std::make_unique<wave_lanes::Torus<Side>>();
    for (std::uint64_t& value : *values) value = random() >> 36 << (random() % 2 == 0 ? 4 : 0);
    wave_lanes::Windows<Side> windows;
    for (auto& window : windows)
        for (std::uint32_t& by : window) by = static_cast<std::uint32_t>(random() % (1 << 11));
    constexpr std::size_t height = 8, width = 5;
    std::vector<std::uint64_t> seen(height * width * lanes);
    wave_lanes::see(*values, windows, height, width, seen.data());
    for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t k = 0; k < width; ++k) {
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                Wide sum = 0;
                for (std::size_t y = 0; y < Side; ++y)
                    for (std::size_t x = 0; x < Side; ++x)
                        sum += Wide{(*values)[(y * Side + x) * lanes + lane]} * windows[i][y] * windows[k][x];
                ASSERT_TRUE(seen[(i * width + k) * lanes + lane] == sum);
            }
        }
    }
}

TEST(WaveLanes, SeeAsPlainSumsDo) {
    on_every_target([] {
        see_as_plain_sums_do<side>();
        see_as_plain_sums_do<half>();
    });
}

}  // namespace
}  // namespace holdfast::wave_lanes_test
