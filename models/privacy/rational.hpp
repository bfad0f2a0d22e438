#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <string>

namespace holdfast {

/// Exact arithmetic for everything a privacy statement rests on.
using Rational = mpq_class;
using Integer = mpz_class;

/// Of a whole number, which mpq_class takes as a long alone.
inline Rational as_rational(std::int64_t value) {
    return Rational(static_cast<long>(value));
}

/// What a person means by a double: the shortest decimal that reads back as it, as an exact fraction (0.1 is
/// 1/10, so that ten answers at 0.1 cost exactly 1). `name` is used in the Error (ExitCode::usage) for NaN
/// and infinities.
Rational decimal_value(double value, const std::string& name);

/// "0.1", "1e-5", "3", "1/3" -> fraction; Error (ExitCode::usage) naming `name` otherwise.
Rational parse_rational(const std::string& text, const std::string& name);

/// For the screen and JSON: the double whose shortest decimal is the value (0.1, 3.9), where there is one;
/// else the least double above it. And that decimal.
double shown(const Rational& value);
std::string decimal_text(const Rational& value);

double round_up(const Rational& value);        ///< the least double >= value
Integer ceil(const Rational& value);           ///< the least integer >= value
Integer floor(const Rational& value);          ///< the greatest integer <= value
Integer power_of_two(unsigned long exponent);  ///< 2^exponent

/// Enclosures to 320 bits, by MPFR's directed rounding: lower <= f(x) <= upper, each monotone in x.
/// Arguments of exp are clamped to [-4096, 4096] on the side that keeps the bound true: exp_upper(-1e9) is
/// about 2^-5909 rather than a fraction with a billion digits.
Rational exp_lower(const Rational& x);
Rational exp_upper(const Rational& x);
Rational log_lower(const Rational& x);           ///< x > 0
Rational log_upper(const Rational& x);           ///< x > 0
Rational sqrt_upper(const Rational& x);          ///< x >= 0
Rational atan_over_pi_upper(const Rational& x);  ///< x >= 0

}  // namespace holdfast
