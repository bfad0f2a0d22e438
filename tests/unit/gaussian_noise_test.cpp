// What the sampler decides by further digits, decided here with all of them; scripts of random bits lead it
// there. Its law: tests/property/gaussian_law_test.cpp.

#include "models/privacy/noise/gaussian_noise.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/noise/chunks.hpp"
#include "models/privacy/noise/secret_stream.hpp"
#include "models/privacy/rational.hpp"
#include "tests/support/normal_scripts.hpp"
#include "tests/support/scripted_bits.hpp"
#include "tests/support/secret_keys.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast {
namespace {

using namespace test;

constexpr std::uint64_t all_ones = ~std::uint64_t{0}, one = 1;
constexpr int position_bits = HalfNormal::position_bits;

TEST(HalfNormalSlots, ReachOverTheCurveWithoutOneTooMany) {
    const Rational height = dyadic(HalfNormalSlots::height, HalfNormalSlots::height_bits);
    std::size_t all = 0;
    for (std::size_t column = 0; column < HalfNormalSlots::columns; ++column) {
        const Rational left(static_cast<unsigned long>(column), 16), right = left + Rational(1, 16);
        const auto piled = static_cast<unsigned long>(slots().slots_of(column)),
                   whole = static_cast<unsigned long>(slots().whole_slots_of(column));
        EXPECT_GE(piled * height, exp_upper(-left * left / 2)) << column;
        EXPECT_LT((piled - 1) * height, exp_lower(-left * left / 2)) << column;
        EXPECT_LE(whole * height, exp_lower(-right * right / 2)) << column;
        EXPECT_GT((whole + 1) * height, exp_upper(-right * right / 2)) << column;
        all += piled;
    }
    EXPECT_EQ(all + 1, HalfNormalSlots::slots);
    for (long m = 0; m < 1000; ++m) {  // the tail: its slot is 2^-(m+3) high from 4 + m/4 on
        const Rational left = 4 + Rational(m, 4);
        EXPECT_GE(height / power_of_two(static_cast<unsigned long>(m + 3)), exp_upper(-left * left / 2)) << m;
    }
}

TEST(GaussianNoise, TheSignBitMirrorsTheDraw) {
    const GaussianNoise noise(1000.3);
    SeededBits seeds(1);
    for (int i = 0; i < 1000; ++i) {
        Script words(20);
        seeds.fill(std::as_writable_bytes(std::span(words)));
        words[0] = first_word(first_slot(static_cast<std::size_t>(i) % 40), words[0] >> 13, false);
        ScriptedBits plus(words);
        words[0] |= one << position_bits;
        ScriptedBits minus(words);
        const std::int64_t size = noise.draw(plus);
        EXPECT_GT(size + 1, 0);
        EXPECT_EQ(noise.draw(minus), -size);
    }
}

/// exp(-y^2/2) at y = known/2^55, as a height in slots, to 300 bits.
Rational height_of_curve(const Integer& known) {
    const Rational y = dyadic(known, HalfNormal::fraction_bits);
    return exp_lower(-y * y / 2) / dyadic(HalfNormalSlots::height, HalfNormalSlots::height_bits);
}

TEST(HalfNormalSlots, AtTheCurveAsManyDigitsDecideAsItTakes) {
    for (const std::size_t column : {0, 1, 5, 16, 33, 50, 63}) {
        const std::size_t below = slots().whole_slots_of(column);
        std::uint64_t position = 0;
        Rational height;  // in the slot, of the curve above a position where it crosses this slot
        for (std::uint64_t step = 1; step < 64 && (height <= 0 || height >= 1); ++step) {
            position = step * (one << (position_bits - 6)) + 12345;
            const Integer known = (Integer(static_cast<unsigned long>(column)) << position_bits) + position;
            height = height_of_curve(known) - static_cast<unsigned long>(below);
        }
        ASSERT_TRUE(height > 0 && height < 1) << column;
        std::array<std::uint64_t, 3> digits;
        for (std::uint64_t& digit : digits) {
            height *= power_of_two(64);
            const Integer whole = floor(height);
            digit = whole.get_ui();
            height -= whole;
        }
        const auto [a, b, c] = digits;
        // In turn: a digit of the height; two of the position, of which the first is asked for alone.
        const std::uint64_t by_double = one << 40, by_digit = one << 30;
        for (const auto& [under, over] : std::vector<std::pair<Script, Script>>{
                 {{a - by_double}, {a + by_double}},
                 {{a - 2, 0}, {a + 2, 0}},
                 {{a, 0, 0, b - by_digit}, {a, 0, 0, b + by_digit}},
                 {{a, 0, 0, b, 0, c - by_digit}, {a, 0, 0, b, 0, c + by_digit}}}) {
            for (const Script* script : {&under, &over}) {
                ScriptedBits bits(*script);
                Words words(bits, 1);
                const auto number = slots().under_curve(first_slot(column) + below, position, words);
                EXPECT_EQ(number.has_value(), script == &under) << column << " " << script->size();
                EXPECT_EQ(bits.handed_out(), 8 * script->size()) << column;
                if (number) {
                    EXPECT_EQ(number->column, column);
                    EXPECT_EQ(number->position, position);
                }
            }
        }
    }
}

TEST(HalfNormalSlots, TheTailReachesAsFarAsTheBitsSay) {
    const auto proposed = [](const Script& script) {
        ScriptedBits bits(script);
        Words words(bits, 1);
        const auto number = slots().under_curve(tail_slot, 7, words);
        EXPECT_EQ(bits.handed_out(), 8 * script.size());
        return number ? std::optional<std::uint64_t>(number->column) : std::nullopt;
    };
    EXPECT_EQ(proposed({tail_word(0, 0), 0}), 64U);
    EXPECT_EQ(proposed({tail_word(0, 3), 0}), 67U);
    EXPECT_EQ(proposed({tail_word(1, 2), 0}), 70U);
    EXPECT_EQ(proposed({tail_word(7, 3), 0}), 95U);  // the last column in doubles: below 6
    // Beyond 6 digits of the position and of the height alternate. At 19.44 the curve is 2^-272.5 high, the
    // slot 2^-71.6: that a point is below takes four zeros.
    EXPECT_EQ(proposed({tail_word(61, 3), 0, 0, 0, 0, 0, 0, 0, 0}), 64U + 4 * 61 + 3);
    EXPECT_EQ(proposed({0, all_ones, 0, all_ones}), std::nullopt);  // m = 62: at 19.5, high up
    EXPECT_EQ(proposed({3, 0, 1, 0, all_ones}), std::nullopt);      // m = 62 + 64 + 63
    EXPECT_EQ(proposed({tail_word(0, 0), all_ones}), std::nullopt);
    // The curve at 4 as a height in the tail's slot.
    const Integer known = (Integer(64) << position_bits) + 7;
    const Integer digit = floor(height_of_curve(known) * 8 * power_of_two(64));
    EXPECT_EQ(proposed({tail_word(0, 0), digit.get_ui() - (one << 40)}), 64U);
    EXPECT_EQ(proposed({tail_word(0, 0), digit.get_ui() + (one << 40)}), std::nullopt);
    EXPECT_EQ(proposed({tail_word(0, 0), digit.get_ui() - 2, 0}), 64U);
    EXPECT_EQ(proposed({tail_word(0, 0), digit.get_ui() + 2, 0}), std::nullopt);
}

TEST(HalfNormalSlots, ZerosOnlyAreNoRandomBits) {
    ScriptedBits bits(Script(2000, 0));
    Words words(bits, 1);
    EXPECT_THROW(slots().under_curve(tail_slot, 0, words), Error);
}

/// 0.digits to the base 2^64.
Rational fraction(const Script& digits) {
    Integer value = 0;
    for (const std::uint64_t digit : digits) value = (value << 64) + digit;
    return dyadic(value, 64 * digits.size());
}

const std::vector<double> sigmas = {
    0x1p-4, 0.3, 1.0, 3.7, 1000.1, 0x1.3p30, 0x1.4ccp50, 0x1.9b8p54, 0x1.fffffffffffffp55, 0x1p56};

TEST(GaussianNoise, RoundsTheVeryNumber) {
    SeededBits seeds(2);
    for (const double sigma : sigmas) {
        const GaussianNoise noise(sigma);
        for (int i = 0; i < 2000; ++i) {
            Script words(5);
            seeds.fill(std::as_writable_bytes(std::span(words)));
            const std::size_t column = words[0] % 40;
            const std::uint64_t position = words[0] >> 13;
            words[0] = first_word(first_slot(column), position);
            ScriptedBits bits(words);
            const std::int64_t drawn = noise.draw(bits);
            const Integer known = (Integer(static_cast<unsigned long>(column)) << position_bits) + position;
            for (const int beyond : {0, 1}) {  // whatever the digits after these
                const Rational digits = fraction({words.begin() + 1, words.end()}) + dyadic(beyond, 256);
                const Rational y = (known + digits) / power_of_two(HalfNormal::fraction_bits);
                ASSERT_EQ(Integer(drawn), floor(Rational(sigma) * y + Rational(1, 2))) << sigma;
            }
        }
    }
}

TEST(GaussianNoise, AtAHalfAsManyDigitsDecideAsItTakes) {
    for (const double sigma : sigmas) {
        if (sigma == 0x1p-4 || sigma == 1 || sigma == 0x1p56) continue;  // there a half has no further digits
        const GaussianNoise noise(sigma);
        for (const double about : {0.5, 1.0, 2.0}) {
            const auto size = static_cast<std::int64_t>(about * sigma);
            Rational half =
                (size + Rational(1, 2)) / Rational(sigma) * power_of_two(HalfNormal::fraction_bits);
            const Integer known = floor(half), column = known >> position_bits;
            ASSERT_GT(slots().whole_slots_of(column.get_ui()), 0U);
            const std::uint64_t word =
                first_word(first_slot(column.get_ui()), Integer(known - (column << position_bits)).get_ui());
            half -= known;
            std::array<std::uint64_t, 3> digits;
            for (std::uint64_t& digit : digits) {
                half *= power_of_two(64);
                const Integer whole = floor(half);
                digit = whole.get_ui();
                half -= whole;
            }
            const auto [a, b, c] = digits;
            for (const auto& [below, above] :
                 std::vector<std::pair<Script, Script>>{{{word, a - 1}, {word, a + 1}},
                                                        {{word, a, b - 1}, {word, a, b + 1}},
                                                        {{word, a, b, c - 1}, {word, a, b, c + 1}}}) {
                ScriptedBits before(below), after(above);
                EXPECT_EQ(noise.draw(before), size) << sigma << " " << below.size();
                EXPECT_EQ(noise.draw(after), size + 1) << sigma << " " << above.size();
                EXPECT_EQ(before.handed_out(), 8 * below.size());
                EXPECT_EQ(after.handed_out(), 8 * above.size());
            }
        }
    }
}

TEST(GaussianNoise, AHalfIsNotMissedInTheLastUnitThatADigitReaches) {
    // sigma = s 2^-1 with an odd s, so that of one column and position the half is any number of units ahead:
    // units are 2^-56 of an integer, and the digits to come add less than s of them.
    const std::uint64_t s = (one << 52) + 12345;
    const Integer integer = power_of_two(56), significand = s;
    const GaussianNoise noise(static_cast<double>(s) / 2);
    Integer inverse;
    ASSERT_NE(mpz_invert(inverse.get_mpz_t(), significand.get_mpz_t(), integer.get_mpz_t()), 0);
    const auto word_before_half = [&](const Integer& units) {
        Integer known = (integer / 2 - units) * inverse % integer;
        if (known < 0) known += integer;
        EXPECT_EQ((known * significand + units) % integer, integer / 2);
        const Integer column = known >> position_bits;
        EXPECT_GT(slots().whole_slots_of(column.get_ui()), 0U);
        return first_word(first_slot(column.get_ui()), Integer(known - (column << position_bits)).get_ui());
    };
    const auto drawn = [&](const Script& script) {
        ScriptedBits bits(script);
        const std::int64_t size = noise.draw(bits);
        EXPECT_EQ(bits.handed_out(), 8 * script.size());
        return size;
    };
    for (const std::uint64_t units : {s - 1, s - 2, s / 2, one}) {
        const std::uint64_t word = word_before_half(units);
        EXPECT_EQ(drawn({word, all_ones}), drawn({word, 0}) + 1) << units;
    }
    EXPECT_NO_THROW(drawn({word_before_half(s)}));  // out of reach: no digit is asked for
    EXPECT_NO_THROW(drawn({word_before_half(s + 1)}));
}

TEST(GaussianNoise, StopsAtTwoToThe62) {
    const auto drawn = [](double sigma, int zeros, bool negative) {
        // m = zeros: at 4 + zeros/4, and height 0.
        Script script(400, 0);
        script[0] = first_word(tail_slot, 0, negative);
        const int word = zeros < 62 ? 1 : 2 + (zeros - 62) / 64, bit = zeros < 62 ? zeros : (zeros - 62) % 64;
        script[static_cast<std::size_t>(word)] = one << (63 - bit);
        ScriptedBits bits(script);
        return GaussianNoise(sigma).draw(bits);
    };
    EXPECT_EQ(drawn(0x1p56, 239, false), (std::int64_t{1} << 62) - (std::int64_t{1} << 54));  // 63.75 sigma
    EXPECT_EQ(drawn(0x1p56, 240, false), std::int64_t{1} << 62);                              // 64 sigma
    EXPECT_EQ(drawn(0x1p56, 241, false), GaussianNoise::greatest);
    EXPECT_EQ(drawn(0x1p56, 300, true), -GaussianNoise::greatest);
    EXPECT_EQ(drawn(0x1p54, 300, true), -79 * (std::int64_t{1} << 54));
    EXPECT_EQ(drawn(0x1p-4, 300, false), 5);  // 4.9375
}

std::vector<std::int64_t> filled(const GaussianNoise& noise, std::size_t size, const SecretKey& key,
                                 std::uint64_t place) {
    std::vector<std::int64_t> values(size, 77);
    noise.fill(values, key, place);
    return values;
}

TEST(GaussianNoise, FillsChunkByChunkFromTheStreamOfEach) {
    const SecretKey key = known_key(1);
    const GaussianNoise noise(0x1.8p40);
    std::vector<std::int64_t> expected;
    for (std::uint32_t c = 0; c < 3; ++c) {
        SecretStream stream(key, 9, c);
        for (std::size_t i = 0; i < noise_chunk; ++i) expected.push_back(noise.draw(stream));
    }
    for (const std::size_t size : {0, 1, 1023, 1024, 1025, 2500, 3072}) {
        EXPECT_EQ(filled(noise, size, key, 9),
                  std::vector<std::int64_t>(expected.begin(),
                                            expected.begin() + static_cast<std::ptrdiff_t>(size)));
    }
    EXPECT_NE(filled(noise, 10, key, 10), filled(noise, 10, key, 9));
    EXPECT_NE(filled(noise, 10, known_key(2), 9), filled(noise, 10, key, 9));
}

TEST(GaussianNoise, IsTheSameOnAnyNumberOfThreads) {
    const SecretKey key = known_key(3);
    const GaussianNoise noise(12345.6);
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const std::vector<std::int64_t> alone = filled(noise, 300001, key, 1);
    for (const int threads : {2, 3}) {
        omp_set_num_threads(threads);
        EXPECT_EQ(filled(noise, 300001, key, 1), alone) << threads;
    }
    omp_set_num_threads(before);
}

TEST(GaussianNoise, IsNotDrawnWhereDoublesAreRoundedOtherwise) {
    const GaussianNoise noise(1);
    SeededBits bits(3);
    const SecretKey key = known_key(1);
    for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
        std::fesetround(mode);
        EXPECT_THROW(noise.draw(bits), Error);
        EXPECT_THROW(filled(noise, 1, key, 0), Error);
    }
    std::fesetround(FE_TONEAREST);
    EXPECT_NO_THROW(noise.draw(bits));
}

TEST(GaussianNoise, RefusesASigmaOutOfRange) {
    for (const double sigma : {0.0, -1.0, 0x1.fffffffffffffp-5, 0x1.0000000000001p56,
                               std::numeric_limits<double>::infinity(), std::nan("")}) {
        try {
            GaussianNoise noise(sigma);
            FAIL() << sigma;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), "sigma");
        }
    }
    EXPECT_NO_THROW(GaussianNoise(0x1p-4));
    EXPECT_NO_THROW(GaussianNoise(0x1p56));
}

}  // namespace
}  // namespace holdfast
