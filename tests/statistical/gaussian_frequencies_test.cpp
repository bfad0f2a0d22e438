// Millions of draws against the normal law. Frequencies of bins and of pairs by Chernoff
// tests at 1e-12 (no normal approximation), a few hundred of them, and all bins of a sampler together by a
// chi-square test at e^-28: right samplers fail this file with probability below 1e-9 over the choice of
// seeds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/privacy/noise/gaussian_noise.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace {

const double log_level = std::log(1e-12);
constexpr double sigmas[] = {0x1p-4, 0.3, 1, 3.7, 1000.1, 0x1.3p20, 0x1p40, 0x1.8p55};

double below(double x) {
    return std::erfc(-x / std::sqrt(2.0)) / 2;
}

/// Bins of integers about a quarter of sigma wide, the outer two without end: ends[i] is the last integer of
/// bin i.
struct Bins {
    double sigma;
    std::vector<double> ends;

    explicit Bins(double of_sigma) : sigma(of_sigma) {
        for (int quarter = -16; quarter <= 16; ++quarter) {
            const double end = std::floor(0.25 * quarter * sigma);
            if (ends.empty() || end > ends.back()) ends.push_back(end);
        }
    }
    std::size_t size() const { return ends.size() + 1; }
    std::size_t of(double value) const {
        return static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), value) - ends.begin());
    }
    double probability(std::size_t bin) const {
        const auto at = [&](std::size_t i) { return (ends[i] + 0.5) / sigma; };
        if (bin == 0) return below(at(0));
        if (bin == ends.size()) return below(-at(bin - 1));
        return at(bin) <= 0 ? below(at(bin)) - below(at(bin - 1)) : below(-at(bin - 1)) - below(-at(bin));
    }
};

/// How far the counts of `draws` draws are from the normal law of that sigma.
struct Comparison {
    double least_log_false_alarm = 0;  // over the bins
    double chi_square = 0;
    double freedom = -1;  // of the bins with 20 expected draws or more, one less

    template <typename Draw>
    Comparison(double sigma, int draws, double shift, const Draw& draw) {
        const Bins bins(sigma);
        std::vector<double> counts(bins.size(), 0);
        for (int i = 0; i < draws; ++i) ++counts[bins.of(draw() + shift)];
        for (std::size_t b = 0; b < bins.size(); ++b) {
            const double p = bins.probability(b), expected = draws * p;
            if (p > 0)
                least_log_false_alarm =
                    std::min(least_log_false_alarm, test::log_false_alarm(counts[b], draws, p));
            if (expected >= 20) {
                chi_square += (counts[b] - expected) * (counts[b] - expected) / expected;
                ++freedom;
            }
        }
    }
    /// Laurent and Massart 2000: beyond with probability e^-t at most.
    double chi_square_limit() const {
        constexpr double t = 28;
        return freedom + 2 * std::sqrt(std::max(freedom, 1.0) * t) + 2 * t;
    }
};

TEST(GaussianFrequencies, OfTheSamplerInUse) {
    constexpr int draws = 4000000;
    test::SeededBits bits(21);
    for (const double sigma : sigmas) {
        const GaussianNoise noise(sigma);
        const auto draw = [&] { return static_cast<double>(noise.draw(bits)); };
        const Comparison result(sigma, draws, 0, draw);
        EXPECT_GT(result.least_log_false_alarm, log_level) << sigma;
        EXPECT_LT(result.chi_square, result.chi_square_limit()) << sigma << ", " << result.freedom;
    }
    // The test sees a fiftieth of sigma.
    const GaussianNoise noise(1000.1);
    const Comparison shifted(1000.1, draws, 20, [&] { return static_cast<double>(noise.draw(bits)); });
    EXPECT_LT(shifted.least_log_false_alarm, log_level);
    EXPECT_GT(shifted.chi_square, shifted.chi_square_limit());
}

TEST(GaussianFrequencies, DrawsThatFollowEachOtherAreIndependent) {
    constexpr int draws = 4000000, pairs = draws / 2;
    test::SeededBits bits(23);
    const GaussianNoise noise(0x1p30);
    const double tail = below(-2);
    double above = 0, beyond = 0, before = 0;
    for (int i = 0; i < draws; ++i) {
        const double x = static_cast<double>(noise.draw(bits)) * 0x1p-30;
        if (i % 2 == 1) {
            above += (x > 0) == (before > 0);
            beyond += std::abs(x) > 2 && std::abs(before) > 2;
        }
        before = x;
    }
    EXPECT_GT(test::log_false_alarm(above, pairs, 0.5), log_level);
    EXPECT_GT(test::log_false_alarm(beyond, pairs, 4 * tail * tail), log_level);
}

}  // namespace
}  // namespace holdfast
