#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/arithmetic.hpp"

namespace holdfast {

/// A binary floating-point format of 1 + exponent_bits + stored_bits bits with subnormals and both zeros,
/// whose operations are correctly rounded, to nearest even, and stop at the greatest value: every value and
/// every box of such a format can be walked through. The least value is 2^least_exponent.
template <int exponent_bits, int stored_bits, int least_exponent>
class TinyFloat {
  public:
    static constexpr int magnitudes = 1 << (exponent_bits + stored_bits);  ///< values without a sign
    static constexpr int patterns = 2 * magnitudes;

    TinyFloat() = default;
    constexpr explicit TinyFloat(double value) : bits_(rounded(value)) {}
    static constexpr TinyFloat from_bits(int bits) {
        TinyFloat result;
        result.bits_ = bits;
        return result;
    }
    constexpr int bits() const { return bits_; }
    /// In the order of the values, one zero.
    constexpr int rank() const { return bits_ >= magnitudes ? magnitudes - bits_ : bits_; }
    constexpr explicit operator double() const {
        const double size = magnitude(bits_ % magnitudes);
        return bits_ >= magnitudes ? -size : size;
    }

    constexpr TinyFloat operator-() const { return from_bits(bits_ ^ magnitudes); }
    friend TinyFloat operator+(TinyFloat a, TinyFloat b) { return fma(a, one, b); }
    friend TinyFloat operator-(TinyFloat a, TinyFloat b) { return fma(b, -one, a); }
    friend TinyFloat operator*(TinyFloat a, TinyFloat b) { return fma(a, b, -zero); }
    friend constexpr bool operator==(TinyFloat a, TinyFloat b) { return a.rank() == b.rank(); }
    friend constexpr auto operator<=>(TinyFloat a, TinyFloat b) { return a.rank() <=> b.rank(); }
    /// a * b + c, rounded once.
    friend TinyFloat fma(TinyFloat a, TinyFloat b, TinyFloat c) {
        static const std::vector<std::uint8_t> table = fma_table();
        const int index = (a.bits_ * patterns + b.bits_) * patterns + c.bits_;
        return from_bits(table[static_cast<std::size_t>(index)]);
    }
    friend TinyFloat ldexp(TinyFloat value, int exponent) {
        return TinyFloat(std::ldexp(double(value), exponent));
    }
    friend TinyFloat nextafter(TinyFloat from, TinyFloat to) {
        if (from == to) return to;
        const int rank = from.rank() + (from < to ? 1 : -1);
        return from_bits(rank < 0 ? magnitudes - rank : rank);
    }

  private:
    static const TinyFloat zero, one;  // every format has 1

    static constexpr double power_of_two(int exponent) {
        double result = 1;
        for (; exponent > 0; --exponent) result *= 2;
        for (; exponent < 0; ++exponent) result /= 2;
        return result;
    }
    static constexpr double magnitude(int bits) {
        const int exponent = bits >> stored_bits, fraction = bits % (1 << stored_bits);
        if (exponent == 0) return fraction * power_of_two(least_exponent);
        return (fraction + (1 << stored_bits)) * power_of_two(least_exponent + exponent - 1);
    }
    /// Of two equally near magnitudes the even one: neighbours have consecutive bits.
    static constexpr int rounded(double value) {
        const bool negative = std::bit_cast<std::uint64_t>(value) >> 63 != 0;
        const double size = negative ? -value : value;
        int bits = 0;
        while (bits + 1 < magnitudes && magnitude(bits + 1) <= size) ++bits;
        if (bits + 1 < magnitudes) {
            const double below = size - magnitude(bits), above = magnitude(bits + 1) - size;
            if (above < below || (above == below && bits % 2 == 1)) ++bits;
        }
        return negative ? bits + magnitudes : bits;
    }
    // Products and sums of these few bits are exact in double.
    static std::vector<std::uint8_t> fma_table() {
        static_assert(patterns <= 256);
        std::vector<std::uint8_t> table;
        for (int a = 0; a < patterns; ++a) {
            for (int b = 0; b < patterns; ++b) {
                for (int c = 0; c < patterns; ++c) {
                    const double exact =
                        std::fma(double(from_bits(a)), double(from_bits(b)), double(from_bits(c)));
                    table.push_back(static_cast<std::uint8_t>(TinyFloat(exact).bits_));
                }
            }
        }
        return table;
    }
    std::int32_t bits_;
};

template <int exponent_bits, int stored_bits, int least_exponent>
constexpr TinyFloat<exponent_bits, stored_bits, least_exponent>
    TinyFloat<exponent_bits, stored_bits, least_exponent>::zero{0.0};
template <int exponent_bits, int stored_bits, int least_exponent>
constexpr TinyFloat<exponent_bits, stored_bits, least_exponent>
    TinyFloat<exponent_bits, stored_bits, least_exponent>::one{1.0};

/// Saturation short of the greatest value, so that both limits are met; the entries of a clip within the bits
/// that a biased value keeps for one record.
template <int exponent_bits, int stored_bits, int least_exponent>
struct RealFormat<TinyFloat<exponent_bits, stored_bits, least_exponent>> {
    using Real = TinyFloat<exponent_bits, stored_bits, least_exponent>;
    using Integer = std::int32_t;
    static constexpr int gradient_bits = stored_bits - 2;
    static constexpr Real saturation = Real::from_bits(Real::magnitudes - 3);
};

}  // namespace holdfast

template <int exponent_bits, int stored_bits, int least_exponent>
class std::numeric_limits<holdfast::TinyFloat<exponent_bits, stored_bits, least_exponent>> {
    using Real = holdfast::TinyFloat<exponent_bits, stored_bits, least_exponent>;

  public:
    static constexpr int digits = stored_bits + 1;
    static constexpr Real epsilon() { return Real(1.0 / (1 << stored_bits)); }
};
