#include "models/privacy/session/total_route.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/composition.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

namespace holdfast {
namespace {

constexpr double least_amount = 1e-6;  // of a mechanism

/// The label is kept with this probability, on average over the distances 0, …, most.
double kept(const Mechanism& mechanism, std::int64_t most) {
    Evidence evidence;
    evidence.classes = mechanism.parameters().classes;
    double sum = 0;
    for (evidence.distance = 0; evidence.distance <= most; ++evidence.distance)
        sum += mechanism.law(evidence)[0];
    return sum / static_cast<double>(most + 1);
}

void require_something_left(double amount, std::int64_t answers) {
    if (amount >= least_amount) return;
    throw Error(ExitCode::usage, std::to_string(answers) + " answers leave next to nothing for each of them",
                "raise --total-epsilon, ask for fewer, or publish a model", "--total-epsilon");
}

TotalRoute by_response(const Rational& epsilon, const Rational& delta, std::int64_t answers) {
    const double each = std::min(1000.0, epsilon_for_answers(epsilon, delta, answers));
    require_something_left(each, answers);
    return {"stable_rr", answers, each, 0};
}

TotalRoute by_gauss(const Rational& epsilon, const Rational& delta, std::int64_t answers) {
    const double each = std::min(1000.0, mu_for_answers(epsilon, delta, answers));
    require_something_left(each, answers);
    return {"stable_gauss", answers, 0, each};
}

void check(const Rational& epsilon, const Rational& delta, const std::string& mechanism) {
    if (epsilon <= 0 || epsilon > 1000000)
        throw bad_option("--total-epsilon", "not in (0, 1000000]",
                         "give what all answers may cost together, such as 1");
    if (delta < 0 || delta >= 1)
        throw bad_option("--total-delta", "not in [0, 1)", "give 0, or a value such as 1e-6");
    if (mechanism != "auto" && mechanism != "stable_rr" && mechanism != "stable_gauss")
        throw bad_option("--by", "\"" + mechanism + "\" is no way to answer a file for one budget",
                         "choose auto, stable_rr, stable_gauss, session or batch");
    if (mechanism == "stable_gauss" && delta == 0)
        throw bad_option("--total-delta", "stable_gauss needs a delta", "give a value such as 1e-6");
}

}  // namespace

Rational TotalRoute::mu_squared() const {
    const Rational one =
        mu > 0 ? decimal_value(mu, "mu") : gaussian_mu_of_pure(decimal_value(epsilon, "epsilon"));
    return one * one * as_rational(answers);
}

std::vector<Rational> TotalRoute::curve() const {
    if (mu > 0) return renyi_curve_of_concentrated(mu_squared() / 2);
    std::vector<Rational> curve = renyi_curve_of_pure(decimal_value(epsilon, "epsilon"));
    for (Rational& rho : curve) rho *= as_rational(answers);
    return curve;
}

double mu_for_answers(const Rational& epsilon, const Rational& delta, std::int64_t answers) {
    if (answers < 1) throw Error(ExitCode::usage, "below 1", "count answers from 1", "answers");
    const Rational all = gaussian_mu(epsilon, delta), most = all * all / as_rational(answers);
    double each = all.get_d() / std::sqrt(static_cast<double>(answers));
    const auto fits = [&] {
        const Rational mu = decimal_value(each, "mu");
        return mu * mu <= most;
    };
    while (!fits()) each = std::nextafter(each, 0.0);
    return each;
}

TotalRoute route_for_total(const Rational& epsilon, const Rational& delta, std::int64_t answers, int classes,
                           std::int64_t cap, const std::string& mechanism) {
    check(epsilon, delta, mechanism);
    if (mechanism == "stable_rr" || delta == 0) return by_response(epsilon, delta, answers);
    const TotalRoute gauss = by_gauss(epsilon, delta, answers);
    if (mechanism == "stable_gauss") return gauss;
    const TotalRoute response = by_response(epsilon, delta, answers);
    const auto most =
        static_cast<std::int64_t>(std::min(static_cast<double>(cap), std::ceil(2 / response.epsilon)));
    const Mechanism one("stable_rr", {response.epsilon, 0, classes, most, 0}),
        other("stable_gauss", {0, 0, classes, most, 0, gauss.mu});
    return kept(other, most) > kept(one, most) ? gauss : response;
}

}  // namespace holdfast
