// The exponential law by every order of the uniform numbers it compares, and rounding by all the digits.

#include "models/privacy/noise/laplace_noise.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/noise/chunks.hpp"
#include "models/privacy/rational.hpp"
#include "tests/support/scripted_bits.hpp"
#include "tests/support/secret_keys.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace laplace_noise_test {

using namespace test;
using Script = std::vector<std::uint64_t>;
constexpr std::uint64_t one = 1, all_ones = ~std::uint64_t{0};

std::vector<std::uint64_t> uniforms(std::size_t count) {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back((2 * i + 1) << 58);
    return values;
}

/// How many numbers fall one below the other from the front.
std::size_t falling(const Script& values) {
    std::size_t count = 1;
    while (count < values.size() && values[count] < values[count - 1]) ++count;
    return count;
}

// P(the first n fall | the first is x) = x^(n-1)/(n-1)!: that an odd number falls has probability exp(-x).
// All that the sampler may depend on is the order: here is every order of up to 7 numbers.
TEST(Exponential, TakesANumberThatBeginsAnOddFall) {
    for (std::size_t count = 2; count <= 7; ++count) {
        Script values = uniforms(count);
        do {
            const std::size_t fall = falling(values);
            if (fall + 1 < count) continue;  // decided by fewer
            Script script = values;
            const Script second{one << 60, 3 * (one << 60)};  // taken at once, where the first is not
            script.insert(script.end(), second.begin(), second.end());
            ScriptedBits bits(script);
            Words words(bits, 1);
            if (fall == count) {  // it may go on
                ScriptedBits short_of(values);
                Words few(short_of, 1);
                EXPECT_THROW(draw_exponential(few), ScriptedBits::RanOut);
                continue;
            }
            Exponential number = draw_exponential(words);
            const bool taken = fall % 2 == 1;
            EXPECT_EQ(number.whole, taken ? 0U : 1U);
            EXPECT_EQ(number.fraction[0], taken ? values[0] : second[0]);
            EXPECT_EQ(bits.handed_out(), 8 * (taken ? count : count + 2));
        } while (std::next_permutation(values.begin(), values.end()));
    }
}

TEST(Exponential, EqualDigitsAskForTheNext) {
    // Two numbers with equal first digits: the second digit of the first is drawn before that of the next.
    for (const bool rises : {false, true}) {
        const Script script{7, 7, 5, rises ? 6U : 4U, 9, 3};
        ScriptedBits bits(script);
        Words words(bits, 1);
        if (rises) {
            Exponential number = draw_exponential(words);
            EXPECT_EQ(number.whole, 0U);
            EXPECT_EQ(number.fraction[1], 5U);
            EXPECT_EQ(bits.handed_out(), 8 * 4U);
        } else {  // falls to 7.4, then rises to 9: even, so again, from 3
            EXPECT_THROW(draw_exponential(words), ScriptedBits::RanOut);
            EXPECT_EQ(bits.handed_out(), 8 * script.size());
        }
    }
}

TEST(Exponential, BitsThatRepeatThemselvesAreNoRandomBits) {
    ScriptedBits bits(Script(5000, 3));
    Words words(bits, 1);
    EXPECT_THROW(draw_exponential(words), Error);
}

Rational number_of(std::uint64_t whole, const Script& digits) {
    Rational value = 0;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit)
        value = (value + Rational(*digit)) / power_of_two(64);
    return value + whole;
}

const std::vector<std::int64_t> scales = {
    1, 2, 3, 10, 1000003, (std::int64_t{1} << 40) + 1, (std::int64_t{1} << 56) - 1, std::int64_t{1} << 56};

/// A draw that takes `first` after `rejected` tries, of which the further digits are `later`.
std::int64_t drawn(const LaplaceNoise& noise, bool negative, std::uint64_t rejected, std::uint64_t first,
                   const Script& later) {
    Script script{negative};
    for (std::uint64_t i = 0; i < rejected; ++i) script.insert(script.end(), {2, 1, 2});
    script.insert(script.end(), {first, all_ones});
    script.insert(script.end(), later.begin(), later.end());
    ScriptedBits bits(script);
    const std::int64_t value = noise.draw(bits);
    EXPECT_LE(bits.handed_out(), 8 * script.size());
    return value;
}

TEST(LaplaceNoise, RoundsTheVeryNumberDown) {
    SeededBits seeds(3);
    for (const std::int64_t scale : scales) {
        const LaplaceNoise noise(scale);
        for (std::uint64_t i = 0; i < 500; ++i) {
            Script digits(4);
            seeds.fill(std::as_writable_bytes(std::span(digits)));
            const Rational exact = number_of(i % 5, digits);
            const Integer size = floor(as_rational(scale) * exact);
            const Script later(digits.begin() + 1, digits.end());
            ASSERT_EQ(Integer(drawn(noise, false, i % 5, digits[0], later)), size) << scale;
            if (size > 0) {
                ASSERT_EQ(Integer(drawn(noise, true, i % 5, digits[0], later)), -size) << scale;
            }
        }
    }
}

TEST(LaplaceNoise, AtAnIntegerAsManyDigitsDecideAsItTakes) {
    for (const std::int64_t scale : {3L, 1000003L, (1L << 56) - 1}) {
        const LaplaceNoise noise(scale);
        for (const std::int64_t integer : {std::int64_t{1}, scale / 2, scale - 1}) {
            Rational left = as_rational(integer) / scale;  // the least number that is rounded to it
            Script digits;
            for (int place = 0; place < 3; ++place) {
                left *= power_of_two(64);
                const Integer digit = floor(left);
                digits.push_back(digit.get_ui());
                left -= digit;
            }
            ASSERT_GT(left, 0);
            EXPECT_EQ(drawn(noise, false, 0, digits[0], {digits[1], digits[2] + 1}), integer) << scale;
            EXPECT_EQ(drawn(noise, false, 0, digits[0], {digits[1], digits[2] - 1}), integer - 1) << scale;
            EXPECT_EQ(drawn(noise, false, 0, digits[0], {digits[1] + 1}), integer) << scale;
            EXPECT_EQ(drawn(noise, false, 0, digits[0], {digits[1] - 1}), integer - 1) << scale;
        }
    }
}

TEST(LaplaceNoise, ZeroHasOneSign) {
    const LaplaceNoise noise(4);
    ScriptedBits bits(Script{1, one << 61, one << 62, 1, one << 63, all_ones});  // -0, then -2
    EXPECT_EQ(noise.draw(bits), -2);
    ScriptedBits plus(Script{0, one << 61, one << 62});
    EXPECT_EQ(noise.draw(plus), 0);
}

TEST(LaplaceNoise, StopsAtTwoToThe62) {
    const LaplaceNoise noise(LaplaceNoise::greatest_scale);
    EXPECT_EQ(drawn(noise, false, 63, all_ones - 1, {}), LaplaceNoise::greatest - 1);
    EXPECT_EQ(drawn(noise, false, 64, 0, {}), LaplaceNoise::greatest);
    EXPECT_EQ(drawn(noise, true, 1000, all_ones - 1, {}), -LaplaceNoise::greatest);
}

TEST(LaplaceNoise, OfAScaleOutOfRangeIsRefused) {
    for (const std::int64_t scale : {std::int64_t{0}, std::int64_t{-1}, LaplaceNoise::greatest_scale + 1})
        EXPECT_THROW(LaplaceNoise{scale}, Error) << scale;
}

TEST(LaplaceNoise, IsTheSameOnAnyNumberOfThreadsChunkByChunk) {
    const SecretKey key = known_key(3);
    const LaplaceNoise noise(12345);
    std::vector<std::int64_t> expected(noise_chunk), values(20 * noise_chunk + 7);
    SecretStream stream(key, 4, 2);
    for (std::int64_t& value : expected) value = noise.draw(stream);
    const int before = omp_get_max_threads();
    for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        noise.fill(values, key, 4);
        const auto chunk = values.begin() + 2 * noise_chunk;
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), chunk)) << threads;
    }
    omp_set_num_threads(before);
    noise.fill(std::span<std::int64_t>(), key, 4);
}

}  // namespace laplace_noise_test
}  // namespace holdfast
