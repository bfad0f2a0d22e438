#include "models/privacy/pate/data_dependent.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/renyi.hpp"

namespace holdfast {
namespace {

/// For what doubles, and ties of noisy counts, leave open.
constexpr double margin = 1e-6;

/// log(1 - e^x), x < 0.
double log_of_rest(double x) {
    return x > -0.7 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

double log_of_sum(double a, double b) {
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

// The theorem's orders mu_1 > mu_2 are those its authors choose for normal noise. Its bound holds at, and
// rises with, any q no less than the probability, up to a limit; beyond that limit, or for other orders than
// it speaks of, what holds for all votes is left.
double data_dependent_divergence(double order, double mu, double otherwise) {
    const double halved = mu * mu / 2, always = order * halved;
    const double log_q = std::log(std::clamp(otherwise * (1 + margin), 1e-300, 1.0));
    const double second = std::sqrt(-log_q / halved), first = second + 1;
    if (!(second > 1) || order > first) return always;
    const double first_cost = first * halved, second_cost = second * halved;
    const double log_limit =
        (second - 1) * second_cost - second * (std::log1p(1 / (first - 1)) + std::log1p(1 / (second - 1)));
    if (!(log_q <= log_limit && -log_q > second_cost)) return always;
    const double log_stays = log_of_rest(log_q);
    const double log_likely =
        log_stays + (order - 1) * (log_stays - log_of_rest((log_q + second_cost) * (1 - 1 / second)));
    const double log_rest = log_q + (order - 1) * (first_cost - log_q / (first - 1));
    const double bound = log_of_sum(log_likely, log_rest) / (order - 1);
    return std::min(always, std::max(0.0, bound) * (1 + margin));
}

DataDependentCost::DataDependentCost(double mu) : mu_(mu), curve_(renyi_orders().size(), 0.0) {}

void DataDependentCost::add(const std::vector<double>& law, std::int64_t answers) {
    const auto likeliest = std::max_element(law.begin(), law.end());
    // Not 1 less the greatest: what is left of that has no digits.
    const double otherwise =
        std::accumulate(law.begin(), likeliest, 0.0) + std::accumulate(likeliest + 1, law.end(), 0.0);
    const std::vector<std::int64_t>& orders = renyi_orders();
    for (std::size_t i = 0; i < orders.size(); ++i)
        curve_[i] += static_cast<double>(answers) *
                     data_dependent_divergence(static_cast<double>(orders[i]), mu_, otherwise);
    answers_ += answers;
}

double DataDependentCost::epsilon(const Rational& delta) const {
    std::vector<Rational> curve;
    for (const double divergence : curve_) curve.emplace_back(divergence * (1 + margin));
    return round_up(epsilon_of_renyi_curve(curve, delta));
}

Guarantee DataDependentCost::guarantee() {
    return Guarantee::as_published(
        "so much the answers cost where the votes were as they were: Renyi privacy of this dataset against "
        "its "
        "neighbours, by the bound of Papernot et al. 2018",
        "the figure itself depends on the records, and nothing hides what it tells of them; it bounds what "
        "this "
        "dataset's answers lose against a neighbour's, not a neighbour's against these");
}

}  // namespace holdfast
