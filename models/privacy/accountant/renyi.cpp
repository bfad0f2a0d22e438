#include "models/privacy/accountant/renyi.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/checks.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t last_single_order = 64, last_order = 2048;

std::vector<std::int64_t> make_orders() {
    std::vector<std::int64_t> orders;
    for (std::int64_t order = 2; order < last_single_order; ++order) orders.push_back(order);
    for (std::int64_t doubled = last_single_order; doubled < last_order; doubled *= 2) {
        for (const std::int64_t hundredths : {100, 119, 141, 168}) {
            orders.push_back(doubled * hundredths / 100);
        }
    }
    orders.push_back(last_order);
    return orders;
}

/// log((a - 1)/a) - (log delta + log a)/(a - 1) from above, a > 1: what the conversion adds to rho. The
/// budget subtracts the same number, so the two are inverse to each other exactly.
Rational conversion_term(std::int64_t integer_order, const Rational& delta) {
    check_delta(delta);
    if (integer_order < 2) throw Error(ExitCode::usage, "below 2", "give an integer such as 32", "order");
    const Rational order = as_rational(integer_order);
    return log_upper((order - 1) / order) - log_lower(delta * order) / (order - 1);
}

}  // namespace

const std::vector<std::int64_t>& renyi_orders() {
    static const std::vector<std::int64_t> orders = make_orders();
    return orders;
}

std::vector<Rational> renyi_curve_of_pure(const Rational& epsilon) {
    check_not_negative(epsilon, "epsilon");
    std::vector<Rational> curve;
    BigFloat grown, shrunk, both;
    for (const std::int64_t order : renyi_orders()) {
        // Above that the curve is epsilon for all that 64 bits tell, and exp may overflow.
        if (epsilon * as_rational(order) > power_of_two(28)) {
            curve.push_back(epsilon);
            continue;
        }
        // (e^(a eps) + e^((1 - a) eps))/(1 + e^eps) - 1, factored: nothing cancels.
        mpfr_set_q(grown.get(), Rational(epsilon * as_rational(order)).get_mpq_t(), MPFR_RNDU);
        mpfr_expm1(grown.get(), grown.get(), MPFR_RNDU);
        mpfr_set_q(shrunk.get(), Rational(epsilon * as_rational(1 - order)).get_mpq_t(), MPFR_RNDD);
        mpfr_expm1(shrunk.get(), shrunk.get(), MPFR_RNDD);
        mpfr_neg(shrunk.get(), shrunk.get(), MPFR_RNDU);
        mpfr_set_q(both.get(), epsilon.get_mpq_t(), MPFR_RNDD);
        mpfr_exp(both.get(), both.get(), MPFR_RNDD);
        mpfr_add_ui(both.get(), both.get(), 1, MPFR_RNDD);
        mpfr_mul(grown.get(), grown.get(), shrunk.get(), MPFR_RNDU);
        mpfr_div(grown.get(), grown.get(), both.get(), MPFR_RNDU);
        mpfr_log1p(grown.get(), grown.get(), MPFR_RNDU);
        mpfr_div_ui(grown.get(), grown.get(), static_cast<unsigned long>(order - 1), MPFR_RNDU);
        curve.push_back(std::min(epsilon, grown.short_upper()));
    }
    return curve;
}

std::vector<Rational> renyi_curve_of_concentrated(const Rational& rho) {
    check_not_negative(rho, "rho");
    std::vector<Rational> curve;
    for (const std::int64_t order : renyi_orders()) curve.emplace_back(rho * as_rational(order));
    return curve;
}

Rational epsilon_of_renyi(std::int64_t order, const Rational& rho, const Rational& delta) {
    check_not_negative(rho, "rho");
    return std::max(Rational(0), Rational(rho + conversion_term(order, delta)));
}

Rational epsilon_of_renyi_curve(const std::vector<Rational>& curve, const Rational& delta) {
    const auto& orders = renyi_orders();
    ensure(curve.size() == orders.size(), "a curve has an entry for every order");
    Rational least = epsilon_of_renyi(orders[0], curve[0], delta);
    for (std::size_t i = 1; i < orders.size(); ++i) {
        least = std::min(least, epsilon_of_renyi(orders[i], curve[i], delta));
    }
    return least;
}

Rational renyi_budget(std::int64_t order, const Rational& epsilon, const Rational& delta) {
    check_not_negative(epsilon, "epsilon");
    return epsilon - conversion_term(order, delta);
}

std::int64_t order_for_budget(const Rational& epsilon, const Rational& delta) {
    const auto& orders = renyi_orders();
    const auto gaussian = [&](std::int64_t order) {  // the rho of zCDP that fits
        return Rational(renyi_budget(order, epsilon, delta) / as_rational(order));
    };
    return *std::max_element(orders.begin(), orders.end(), [&](std::int64_t one, std::int64_t other) {
        return gaussian(one) < gaussian(other);
    });
}

}  // namespace holdfast
