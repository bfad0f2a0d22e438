// Millions of draws against the stated laws. Each comparison is a Chernoff test at 1e-12 (no normal
// approximation), at most 100 of them: a right sampler fails this file with probability below 1e-10 over the
// choice of seeds.

#include <gtest/gtest.h>

#include <cmath>

#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/samplers.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace sampler_frequencies_test {

const double log_level = std::log(1e-12);

template <typename Sampler>
double frequency_count(int draws, const Sampler& sampler) {
    double count = 0;
    for (int i = 0; i < draws; ++i) count += sampler() ? 1 : 0;
    return count;
}

bool plausible(double count, int draws, double p) {
    return test::log_false_alarm(count, draws, p) > log_level;
}

TEST(SamplerFrequencies, TheStableFlipIsDrawnWithItsProbability) {
    constexpr int draws = 1000000;
    test::SeededBits bits(13);
    const Mechanism mechanism("stable_rr", {0.5, 0, 2, 4, 0});
    for (const std::int64_t h : {0, 1, 4}) {
        Evidence evidence;
        evidence.distance = h;
        const double p = std::exp(-0.5 * static_cast<double>(h)) / (1 + std::exp(0.5));
        const double count = frequency_count(draws, [&] { return mechanism.draw(evidence, bits) == 1; });
        EXPECT_TRUE(plausible(count, draws, p)) << h << ": " << count;
        EXPECT_FALSE(plausible(count, draws, p + 0.005)) << "the test sees half a percent";
    }
}

TEST(SamplerFrequencies, EveryMechanismDrawsItsLaw) {
    constexpr int draws = 1000000;
    test::SeededBits bits(14);
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.releasable()) continue;
        const int classes = info.binary_only ? 2 : 4;
        const Mechanism mechanism(info.name, {1.0, info.needs_delta ? 0.05 : 0.0, classes, 6, 9});
        Evidence evidence;
        evidence.classes = classes;
        evidence.label = 1;
        evidence.distance = 2;
        evidence.class_distances = {3, 0, 5, 3};
        evidence.class_distances.resize(static_cast<std::size_t>(classes));
        evidence.votes =
            classes == 2 ? std::vector<std::int64_t>{4, 5} : std::vector<std::int64_t>{3, 4, 0, 2};
        std::vector<double> counts(mechanism.outcomes(), 0);
        for (int i = 0; i < draws; ++i) {
            const int label = mechanism.draw(evidence, bits);
            ++counts[label == refused ? counts.size() - 1 : static_cast<std::size_t>(label)];
        }
        const std::vector<double> law = mechanism.law(evidence);
        for (std::size_t j = 0; j < law.size(); ++j) {
            if (law[j] == 0) {
                EXPECT_EQ(counts[j], 0) << info.name;
            } else {
                EXPECT_TRUE(plausible(counts[j], draws, law[j]))
                    << info.name << " " << j << ": " << counts[j] << " for " << law[j];
            }
        }
    }
}

TEST(SamplerFrequencies, SystemBitsAreFair) {
    constexpr int words = 100000;
    SystemRandomBits bits;
    double ones = 0;
    for (int i = 0; i < words; ++i) {
        for (const std::uint64_t word : draw_256_bits(bits)) ones += __builtin_popcountll(word);
    }
    EXPECT_TRUE(plausible(ones, 256 * words, 0.5)) << ones;
}

}  // namespace sampler_frequencies_test
}  // namespace holdfast
