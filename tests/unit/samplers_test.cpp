// The samplers against probabilities worked out in rational arithmetic: every bit string of a length is
// tried, so that a frequency here is a probability, not an estimate.

#include "models/privacy/samplers.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "kernels/base/error.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "tests/support/scripted_bits.hpp"

namespace holdfast {
namespace {

using test::ScriptedBits;

struct Counts {
    Rational yes = 0, no = 0;  ///< probability of true and of false within the script
};

/// Exact probabilities of a sampler's outcomes, of those that come within two bytes of randomness.
template <typename Sampler>
Counts outcomes_within_two_bytes(const Sampler& sampler) {
    Counts counts;
    for (unsigned code = 0; code < 65536; ++code) {
        ScriptedBits bits({static_cast<std::byte>(code & 255U), static_cast<std::byte>(code >> 8)});
        try {
            (sampler(bits) ? counts.yes : counts.no) += Rational(1, 65536);
        } catch (const ScriptedBits::RanOut&) {
        }
    }
    return counts;
}

TEST(ExactSamplers, ADyadicBernoulliIsItsProbability) {
    for (const int numerator : {0, 1, 3, 100, 255, 256}) {
        const Rational p(numerator, 256);
        Rational canonical = p;
        canonical.canonicalize();
        const Counts counts =
            outcomes_within_two_bytes([&](RandomBits& bits) { return bernoulli(canonical, bits); });
        EXPECT_EQ(counts.yes, canonical);
        EXPECT_EQ(counts.no, 1 - canonical);
    }
}

TEST(ExactSamplers, RejectionKeepsTheOddsExact) {
    for (const auto& [numerator, denominator] : std::map<int, int>{{1, 3}, {2, 7}, {5, 11}, {99, 100}}) {
        const Rational p(numerator, denominator);
        const Counts counts = outcomes_within_two_bytes([&](RandomBits& bits) { return bernoulli(p, bits); });
        EXPECT_EQ(counts.yes * (1 - p), counts.no * p);  // the odds, whatever was cut off
        EXPECT_GT(counts.yes, 0);
    }
}

TEST(ExactSamplers, UniformCoversItsRange) {
    for (const int bound : {1, 2, 3, 10, 255, 256, 257, 1000}) {
        std::map<long, int> hits;
        for (unsigned code = 0; code < 65536; ++code) {
            ScriptedBits bits({static_cast<std::byte>(code & 255U), static_cast<std::byte>(code >> 8)});
            try {
                ++hits[uniform_below(bound, bits).get_si()];
            } catch (const ScriptedBits::RanOut&) {
            }
        }
        ASSERT_EQ(hits.size(), static_cast<std::size_t>(bound));
        for (const auto& [value, count] : hits)
            EXPECT_EQ(count, hits.begin()->second) << value << " of " << bound;
    }
}

TEST(ExactSamplers, EdgesAreCertain) {
    ScriptedBits none(std::vector<std::byte>{});
    EXPECT_TRUE(bernoulli(1, none));
    EXPECT_FALSE(bernoulli(0, none));
    EXPECT_EQ(uniform_below(1, none), 0);
    EXPECT_THROW(bernoulli(2, none), Error);
    EXPECT_THROW(bernoulli(-1, none), Error);
    EXPECT_THROW(uniform_below(0, none), Error);
}

TEST(FixedBits, WideProductsAgreeWithIntegerArithmetic) {
    const std::uint64_t all = ~std::uint64_t{0};
    const Bits256 patterns[] = {
        {0, 0, 0, 0},
        {all, all, all, all},
        {1, 2, 3, 4},
        {all, 0, all, 0},
        {0, 0, 0, std::uint64_t{1} << 63},
        {0x0123456789abcdef, 0xfedcba9876543210, 0xdeadbeefcafef00d, 0x8badf00d5ca1ab1e}};
    const Word128 largest = ~Word128{0};
    const Word128 bounds[] = {
        1, 2, 3, Word128{1} << 64, (Word128{1} << 64) - 1, largest, largest / 3, (Word128{1} << 112) + 12345};
    for (const Bits256& words : patterns) {
        Integer value = 0;
        for (std::size_t i = 4; i-- > 0;) value = (value << 64) + to_integer(words[i]);
        for (const Word128 bound : bounds) {
            const Integer expected = value * to_integer(bound) / power_of_two(256);
            EXPECT_EQ(to_integer(below(words, bound)), expected);
        }
        const Word128 low = static_cast<Word128>(words[1]) << 64 | words[0];
        for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{7}, all}) {
            EXPECT_EQ(to_integer(below(low, bound)), to_integer(low) * to_integer(bound) / power_of_two(128));
        }
    }
}

TEST(FixedBits, WordsAndIntegersConvertBothWays) {
    for (const Word128 word : {Word128{0}, Word128{1}, Word128{1} << 64, ~Word128{0}})
        EXPECT_TRUE(to_word(to_integer(word)) == word);
    EXPECT_THROW(to_word(power_of_two(128)), Error);
    EXPECT_THROW(to_word(-1), Error);
}

TEST(FixedBits, AFlipHappensExactlyBelowItsTableEntry) {
    // The draw's bits on either side of P(h): the law is the table, to the last unit of 2^-128.
    const Mechanism mechanism("stable_rr", {1.0, 0, 2, 10, 0});
    for (const std::int64_t h : {0, 3, 10}) {
        Evidence evidence;
        evidence.distance = h;
        const Rational scaled = mechanism.exact_law(evidence)[1] * Rational(power_of_two(128));
        ASSERT_EQ(scaled.get_den(), 1);
        const Word128 entry = to_word(scaled.get_num());
        for (const auto& [uniform, label] : {std::pair{entry - 1, 1}, std::pair{entry, 0},
                                             std::pair{Word128{0}, 1}, std::pair{~Word128{0}, 0}}) {
            std::vector<std::byte> script(16);
            for (std::size_t i = 0; i < 16; ++i)
                script[i] = static_cast<std::byte>(static_cast<unsigned char>(uniform >> (8 * i)));
            ScriptedBits bits(script);
            EXPECT_EQ(mechanism.draw(evidence, bits), label);
        }
    }
}

TEST(SystemRandomBits, AreDifferentEveryTime) {
    SystemRandomBits first, second;
    std::set<Bits256> drawn;
    for (int i = 0; i < 1000; ++i) {
        drawn.insert(draw_256_bits(first));
        drawn.insert(draw_256_bits(second));
    }
    EXPECT_EQ(drawn.size(), 2000U);
}

}  // namespace
}  // namespace holdfast
