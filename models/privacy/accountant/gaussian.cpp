#include "models/privacy/accountant/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/privacy/accountant/checks.hpp"
#include "models/privacy/big_float.hpp"
#include "models/privacy/bisection.hpp"

namespace holdfast {
namespace {

/// Above it e^eps leaves the exponents of MPFR, and nobody's budget reaches there.
constexpr long largest_mu = 4096;

/// Far above what largest_mu costs at any delta that a double holds; beyond it delta is not computed.
const Rational& largest_epsilon() {
    static const Rational largest(power_of_two(28));
    return largest;
}

/// What is called delta at least: a fraction as small as MPFR reaches would have a billion digits.
const Rational& least_tail() {
    static const Rational least(1, power_of_two(65536));
    return least;
}

/// Phi(-x) rounded one way; `opposite` is the other way, for its argument.
void tail(BigFloat& result, const Rational& x, mpfr_rnd_t rounding, mpfr_rnd_t opposite) {
    BigFloat root(2, x > 0 ? rounding : opposite);
    mpfr_sqrt(root.get(), root.get(), x > 0 ? rounding : opposite);
    mpfr_set_q(result.get(), x.get_mpq_t(), opposite);
    mpfr_div(result.get(), result.get(), root.get(), opposite);
    mpfr_erfc(result.get(), result.get(), rounding);
    mpfr_div_2ui(result.get(), result.get(), 1, rounding);
}

/// eps = mu^2/2 + mu sqrt(2 log(1/delta)) holds for mu^2/2-zCDP (Bun and Steinke 2016, proposition 1.3).
Rational concentrated_epsilon(const Rational& mu, const Rational& delta) {
    return mu * mu / 2 + mu * sqrt_upper(2 * log_upper(1 / delta));
}

/// How fine bisection is: below 2^-40 of the upper end.
bool is_coarse(const Rational& low, const Rational& high) {
    static const Rational fine(1, power_of_two(40));
    return high - low > high * fine;
}

/// gaussian_delta(), nearly.
long double near_delta(long double mu, long double epsilon) {
    return near_normal_tail(epsilon / mu - mu / 2) -
           std::exp(epsilon) * near_normal_tail(epsilon / mu + mu / 2);
}

/// Above it mu is that of the tail's bound Phi(-x) <= e^(-x^2/2)/2, which is then tight enough.
constexpr long largest_exact_pure = 1024;

}  // namespace

long double near_normal_tail(long double x) {
    return std::erfc(x / std::numbers::sqrt2_v<long double>) / 2;
}

Rational normal_tail_lower(const Rational& x) {
    BigFloat result;
    tail(result, x, MPFR_RNDD, MPFR_RNDU);
    return result.rational();
}

Rational normal_tail_upper(const Rational& x) {
    BigFloat result;
    tail(result, x, MPFR_RNDU, MPFR_RNDD);
    return result.rational();
}

Rational gaussian_delta(const Rational& mu, const Rational& epsilon) {
    check_not_negative(mu, "mu");
    check_not_negative(epsilon, "epsilon");
    if (mu == 0) return 0;
    if (mu > largest_mu || epsilon > largest_epsilon()) return 1;
    BigFloat own, other, growth(epsilon, MPFR_RNDD);
    tail(own, epsilon / mu - mu / 2, MPFR_RNDU, MPFR_RNDD);
    tail(other, epsilon / mu + mu / 2, MPFR_RNDD, MPFR_RNDU);
    mpfr_exp(growth.get(), growth.get(), MPFR_RNDD);
    mpfr_mul(other.get(), other.get(), growth.get(), MPFR_RNDD);
    mpfr_sub(own.get(), own.get(), other.get(), MPFR_RNDU);
    mpfr_max(own.get(), own.get(), BigFloat(least_tail(), MPFR_RNDU).get(), MPFR_RNDU);
    return own.rational();
}

Rational gaussian_epsilon(const Rational& mu, const Rational& delta) {
    check_delta(delta);
    if (gaussian_delta(mu, 0) <= delta) return 0;
    Rational low = 0, high = BigFloat(concentrated_epsilon(mu, delta), MPFR_RNDU).short_upper();
    if (mu > largest_mu) return high;
    halve_by_guess(
        low, high, is_coarse, [&](const Rational& epsilon) { return gaussian_delta(mu, epsilon) > delta; },
        [&](long double epsilon) { return near_delta(mu.get_d(), epsilon) > delta.get_d(); });
    return high;
}

Rational gaussian_mu(const Rational& epsilon, const Rational& delta) {
    check_not_negative(epsilon, "epsilon");
    check_delta(delta);
    const Rational within = std::min(epsilon, largest_epsilon());
    const auto fits = [&](const Rational& mu) { return gaussian_delta(mu, within) <= delta; };
    Rational low = 0, high = 1;
    while (fits(high) && high < largest_mu) high *= 2;
    halve_by_guess(low, high, is_coarse, fits,
                   [&](long double mu) { return near_delta(mu, within.get_d()) <= delta.get_d(); });
    return low;
}

Rational gaussian_mu_of_pure(const Rational& epsilon) {
    check_not_negative(epsilon, "epsilon");
    if (epsilon == 0) return 0;
    // x = sqrt(2 epsilon) has Phi(-x) <= e^-epsilon/2 <= 1/(1 + e^epsilon).
    Rational high = BigFloat(2 * sqrt_upper(2 * epsilon), MPFR_RNDU).short_upper(), low = 0;
    if (epsilon > largest_exact_pure) return high;
    const Rational flip = 1 / (1 + exp_upper(epsilon));
    halve_by_guess(
        low, high, is_coarse, [&](const Rational& mu) { return normal_tail_upper(mu / 2) > flip; },
        [&](long double mu) { return near_normal_tail(mu / 2) > flip.get_d(); });
    return high;
}

}  // namespace holdfast
