// A million draws of each scale against the discrete Laplace law. Frequencies by Chernoff tests at 1e-12 (no
// normal approximation), some hundred of them: a right sampler fails this file with probability below 1e-9
// over the choice of seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/privacy/noise/laplace_noise.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace laplace_frequencies_test {

const double log_level = std::log(1e-12);
constexpr int draws = 1000000;

/// P(X >= k) for k >= 1, and of X <= -k: r^k / (1 + r) with r = exp(-1/scale).
double beyond(std::int64_t k, std::int64_t scale) {
    const double over = -1 / static_cast<double>(scale);
    return std::exp(static_cast<double>(k) * over) / (1 + std::exp(over));
}

/// The least log-probability, over all tails, that a sampler of scale `scale` has these values.
double least_log_false_alarm(const std::vector<std::int64_t>& values, std::int64_t scale) {
    double least = 0;
    for (const double part : {0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0}) {
        const auto k = std::max<std::int64_t>(1, std::llround(part * static_cast<double>(scale)));
        const auto above =
                       std::count_if(values.begin(), values.end(), [&](std::int64_t v) { return v >= k; }),
                   below =
                       std::count_if(values.begin(), values.end(), [&](std::int64_t v) { return v <= -k; });
        const double p = beyond(k, scale);
        for (const auto count : {above, below})
            least = std::min(least, test::log_false_alarm(static_cast<double>(count), draws, p));
    }
    return least;
}

std::vector<std::int64_t> drawn(std::int64_t scale, std::uint64_t seed) {
    test::SeededBits bits(seed);
    const LaplaceNoise noise(scale);
    std::vector<std::int64_t> values(draws);
    for (std::int64_t& value : values) value = noise.draw(bits);
    return values;
}

TEST(LaplaceFrequencies, AreThoseOfItsLaw) {
    for (const std::int64_t scale : {1L, 2L, 3L, 10L, 1001L, 1L << 40, (1L << 56) - 1})
        EXPECT_GT(least_log_false_alarm(drawn(scale, 31), scale), log_level) << scale;
    // The test sees a fiftieth of the scale.
    EXPECT_LT(least_log_false_alarm(drawn(1020, 31), 1000), log_level);
}

TEST(LaplaceFrequencies, DrawsThatFollowEachOtherAreIndependent) {
    const std::vector<std::int64_t> values = drawn(1L << 30, 32);
    double alike = 0, both_far = 0;
    const auto far = [](std::int64_t v) { return std::abs(v) >= 2L << 30; };
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
        alike += (values[i] > 0) == (values[i + 1] > 0);
        both_far += far(values[i]) && far(values[i + 1]);
    }
    const double p = 2 * beyond(2L << 30, 1L << 30);
    EXPECT_GT(test::log_false_alarm(alike, draws / 2.0, 0.5), log_level);
    EXPECT_GT(test::log_false_alarm(both_far, draws / 2.0, p * p), log_level);
}

}  // namespace laplace_frequencies_test
}  // namespace holdfast
