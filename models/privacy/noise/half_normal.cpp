#include "models/privacy/noise/half_normal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/base/error.hpp"
#include "kernels/base/monotone_exp.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

/// exp(-y^2/2) at y = column/16, as a number of slots.
std::size_t slots_under(std::size_t column, bool rounded_up) {
    const Rational y(static_cast<unsigned long>(column), 16),
        scale(power_of_two(HalfNormalSlots::height_bits), HalfNormalSlots::height);
    const Rational exponent = -y * y / 2;
    return rounded_up ? ceil(exp_upper(exponent) * scale).get_ui()
                      : floor(exp_lower(exponent) * scale).get_ui();
}

/// Where a point lies above its abscissa: at (below + vertical) * HalfNormalSlots::height / 2^exponent.
struct Ordinate {
    std::uint64_t below;
    int exponent;
    Digits vertical;
};

/// 2^-exponent * (that integer), to the precision and with the rounding of `result`.
void set(BigFloat& result, const Integer& value, long exponent, mpfr_rnd_t rounding) {
    mpfr_set_z_2exp(result.get(), value.get_mpz_t(), -exponent, rounding);
}

Integer with_digits(Integer value, Digits& digits, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) value = (value << 64) + to_integer(digits[i]);
    return value;
}

/// exp(-y^2/2) for y = known/2^bits.
void set_curve(BigFloat& result, const Integer& known, long bits, mpfr_rnd_t rounding) {
    const mpfr_rnd_t of_exponent = rounding == MPFR_RNDU ? MPFR_RNDU : MPFR_RNDD;
    set(result, -known * known, 2 * bits + 1, of_exponent);
    mpfr_exp(result.get(), result.get(), rounding);
}

/// Whether the point lies under the curve, by as many digits of both coordinates as it takes: every bound is
/// rounded outwards.
bool lies_under_exactly(HalfNormal& number, Ordinate& ordinate) {
    for (std::size_t count = 1;; ++count) {
        const auto bits = static_cast<long>(64 * count);
        const Integer x = with_digits(to_integer(number.known()), number.later, count),
                      y = with_digits(to_integer(ordinate.below), ordinate.vertical, count);
        const long x_bits = HalfNormal::fraction_bits + bits, y_bits = ordinate.exponent + bits;
        BigFloat curve(bits + 128), height(bits + 128);
        set_curve(curve, x + 1, x_bits, MPFR_RNDD);
        set(height, (y + 1) * HalfNormalSlots::height, y_bits, MPFR_RNDU);
        if (mpfr_lessequal_p(height.get(), curve.get()) != 0) return true;
        set_curve(curve, x, x_bits, MPFR_RNDU);
        set(height, y * HalfNormalSlots::height, y_bits, MPFR_RNDD);
        if (mpfr_greaterequal_p(height.get(), curve.get()) != 0) return false;
    }
}

/// The same, in doubles first. Below 6 the argument y^2/2 of the curve is within 2^-45 of that computed here
/// (three roundings of at most 18 by 2^-52 relative, and 6 * 2^-55 for the digits not drawn), and
/// monotone_exp within 2^-41 + 2^-51 relative of its own; the height within 2^-51 relative and 2^-63 of a
/// slot, which is below 2^-45 of the curve: there a slot is at most 2^12 times as high. A factor of 1 +-
/// 2^-38 covers all.
bool lies_under(HalfNormal& number, Ordinate& ordinate) {
    constexpr std::uint64_t six = 6 * 16;
    if (number.column < six) {
        constexpr double unit = 1.0 / (std::uint64_t{1} << HalfNormal::fraction_bits);
        const double x = unit * static_cast<double>(static_cast<std::uint64_t>(number.known()));
        const double curve = monotone_exp(-0.5 * x * x);
        const double vertical =
            static_cast<double>(ordinate.below) + 0x1p-64 * static_cast<double>(ordinate.vertical[0]);
        const double height = std::ldexp(vertical * HalfNormalSlots::height, -ordinate.exponent);
        if (height < curve * (1 - 0x1p-38)) return true;
        if (height > curve * (1 + 0x1p-38)) return false;
    }
    return lies_under_exactly(number, ordinate);
}

/// The number of zeros before the first one bit. 2^-65536 is the probability of the Error.
std::uint64_t leading_zeros(std::uint64_t first_word, int first_bits, Words& words) {
    constexpr std::uint64_t most = 65536;
    if (first_word != 0) return static_cast<std::uint64_t>(std::countl_zero(first_word) - (64 - first_bits));
    for (auto zeros = static_cast<std::uint64_t>(first_bits); zeros < most; zeros += 64) {
        const std::uint64_t word = words.next();
        if (word != 0) return zeros + static_cast<std::uint64_t>(std::countl_zero(word));
    }
    throw Error(ExitCode::internal, "the source of random bits gives zeros only",
                "nothing was released; check the machine");
}

}  // namespace

HalfNormalSlots::HalfNormalSlots() {
    places_.fill(tail);
    for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t first = first_[column], end = first + slots_under(column, true);
        ensure(end < slots, "the slots cover the area under the curve");
        const auto place = static_cast<std::uint8_t>(column);
        std::fill(places_.begin() + first, places_.begin() + end,
                  static_cast<std::uint8_t>(place + crossing));
        std::fill_n(places_.begin() + first, slots_under(column + 1, false), place);
        first_[column + 1] = static_cast<std::uint16_t>(end);
    }
    // Over the first columns beyond 4 the last slot is high enough; over the next four the curve falls by
    // exp(-1) or more, the slot by 1/2.
    ensure(first_[columns] + 1 == slots, "one slot is left for the tail");
    ensure(8 * exp_upper(-8) * power_of_two(height_bits) <= Rational(height), "the tail is covered");
}

std::size_t HalfNormalSlots::whole_slots_of(std::size_t column) const {
    return static_cast<std::size_t>(
        std::count(places_.begin(), places_.end(), static_cast<std::uint8_t>(column)));
}

std::optional<HalfNormal> HalfNormalSlots::decide_crossing(std::uint64_t slot, std::uint64_t column,
                                                           std::uint64_t position, Words& words) const {
    HalfNormal number{column, position, Digits(words)};
    Ordinate ordinate{slot - first_[column], height_bits, Digits(words)};
    if (!lies_under(number, ordinate)) return std::nullopt;
    return number;
}

std::optional<HalfNormal> HalfNormalSlots::decide_tail(std::uint64_t position, Words& words) const {
    const std::uint64_t word = words.next(), quarter = word & 3;
    const std::uint64_t m = leading_zeros(word >> 2, 62, words);
    HalfNormal number{columns + 4 * m + quarter, position, Digits(words)};
    Ordinate ordinate{0, height_bits + static_cast<int>(m) + 3, Digits(words)};
    if (!lies_under(number, ordinate)) return std::nullopt;
    return number;
}

}  // namespace holdfast
