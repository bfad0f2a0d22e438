#include "models/privacy/rational.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

constexpr int largest_exponent = 4096;

using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

/// f(x) rounded twice in the same direction: a bound for increasing f.
Rational increasing(Function function, const Rational& x, mpfr_rnd_t rounding) {
    BigFloat value(x, rounding);
    function(value.get(), value.get(), rounding);
    return value.rational();
}

}  // namespace

Rational parse_rational(const std::string& text, const std::string& name) {
    const auto refuse = [&]() -> Error {
        return Error(ExitCode::usage, "\"" + text + "\" is not a number", "write it like 0.1, 1e-5 or 1/3",
                     name);
    };
    if (text.empty() || text.find_first_not_of("0123456789.eE+-/") != std::string::npos) throw refuse();
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos) {
        const Rational divisor = parse_rational(text.substr(slash + 1), name);
        if (divisor == 0) throw refuse();
        return parse_rational(text.substr(0, slash), name) / divisor;
    }
    const std::size_t mark = text.find_first_of("eE");
    std::string digits = text.substr(0, mark);
    long exponent = 0;
    if (mark != std::string::npos) {
        const char* begin = text.data() + mark + 1;
        const char* end = text.data() + text.size();
        if (begin != end && *begin == '+') ++begin;
        const auto [rest, status] = std::from_chars(begin, end, exponent);
        if (status != std::errc() || rest != end || std::labs(exponent) > 400) throw refuse();
    }
    if (!digits.empty() && digits.front() == '+') digits.erase(0, 1);
    const std::size_t point = digits.find('.');
    if (point != std::string::npos) {
        exponent -= static_cast<long>(digits.size() - point - 1);
        digits.erase(point, 1);
    }
    const bool negative = !digits.empty() && digits.front() == '-';
    if (negative) digits.erase(0, 1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos) throw refuse();
    const Integer mantissa(negative ? "-" + digits : digits, 10);
    Integer scale;
    mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(std::labs(exponent)));
    Rational value = exponent < 0 ? Rational(mantissa, scale) : Rational(mantissa * scale);
    value.canonicalize();
    return value;
}

Rational decimal_value(double value, const std::string& name) {
    if (!std::isfinite(value)) {
        throw Error(ExitCode::usage, "not a finite number", "give a number such as 0.1", name);
    }
    char text[64];
    const auto [end, status] = std::to_chars(text, text + sizeof text, value);
    ensure(status == std::errc(), "a double prints in 64 characters");
    return parse_rational(std::string(text, end), name);
}

double shown(const Rational& value) {
    const double above = round_up(value);
    const double below = std::nextafter(above, -std::numeric_limits<double>::infinity());
    return decimal_value(below, "value") == value ? below : above;
}

std::string decimal_text(const Rational& value) {
    char text[64];
    const auto [end, status] = std::to_chars(text, text + sizeof text, shown(value));
    ensure(status == std::errc(), "a double prints in 64 characters");
    return std::string(text, end);
}

double round_up(const Rational& value) {
    const double truncated = value.get_d();
    if (Rational(truncated) >= value) return truncated;
    return std::nextafter(truncated, std::numeric_limits<double>::infinity());
}

Integer ceil(const Rational& value) {
    Integer result;
    mpz_cdiv_q(result.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
    return result;
}

Integer floor(const Rational& value) {
    Integer result;
    mpz_fdiv_q(result.get_mpz_t(), value.get_num_mpz_t(), value.get_den_mpz_t());
    return result;
}

Integer power_of_two(unsigned long exponent) {
    Integer result = 1;
    result <<= exponent;
    return result;
}

Rational exp_lower(const Rational& x) {
    if (x < -largest_exponent) return 0;
    return increasing(mpfr_exp, x > largest_exponent ? Rational(largest_exponent) : x, MPFR_RNDD);
}

Rational exp_upper(const Rational& x) {
    ensure(x <= largest_exponent, "exp_upper is asked for at most e^4096");
    return increasing(mpfr_exp, x < -largest_exponent ? Rational(-largest_exponent) : x, MPFR_RNDU);
}

Rational log_lower(const Rational& x) {
    return increasing(mpfr_log, x, MPFR_RNDD);
}
Rational log_upper(const Rational& x) {
    return increasing(mpfr_log, x, MPFR_RNDU);
}
Rational sqrt_upper(const Rational& x) {
    return increasing(mpfr_sqrt, x, MPFR_RNDU);
}

Rational atan_over_pi_upper(const Rational& x) {
    BigFloat pi;
    mpfr_const_pi(pi.get(), MPFR_RNDD);
    Rational result = increasing(mpfr_atan, x, MPFR_RNDU) / pi.rational();
    const Rational half(1, 2);
    return result < half ? result : half;  // atan < pi/2
}

}  // namespace holdfast
