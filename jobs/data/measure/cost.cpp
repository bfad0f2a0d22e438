#include "jobs/data/measure/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "jobs/program/rounded.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {
namespace {

// Of the total's mu^2 (models/privacy/mathematics.md, measured constants): what each takes unless --share
// says.
constexpr double count_share = 0.01, ranges_share = 0.04, ranges_share_of_little = 0.15;
constexpr double little_epsilon = 0.3;
constexpr double hidden_deviations = 8, told_apart_deviations = 32;  // persons that noise hides, and leaves
// Fewer have ranges alone, by noise on one level, of which they are so many, for as much as this.
constexpr double few_deviations = 16, few_hidden_deviations = 5, few_told_apart_deviations = 12;
constexpr double most_share_of_few = 0.3;
constexpr double names_share_of_delta = 0.1;

double rounded_down(const Rational& value) {
    if (value <= 0) return 0;
    const double rounded = std::strtod(printed("%.5e", value.get_d()).c_str(), nullptr);
    return decimal_value(rounded, "") > value
               ? std::strtod(printed("%.5e", value.get_d() * (1 - 1e-5)).c_str(), nullptr)
               : rounded;
}

bool ranges_alone(const MeasureRequest& request) {
    return request.levels < TreeLaw::levels;
}

}  // namespace

Rational mu_squared_of(const Budget& budget, const Rational& epsilon, const Rational& delta) {
    if (budget.renyi_order)
        return 2 * renyi_budget(*budget.renyi_order, epsilon, delta) / as_rational(*budget.renyi_order);
    const Rational mu = gaussian_mu(epsilon, delta);
    return mu * mu;
}

Total total_of(const MeasureBudget& request, const Budget& budget, const std::string& ledger) {
    Total total{budget.epsilon, budget.gaussian ? Rational(budget.delta - budget.delta_apart) : budget.delta,
                0};
    if (request.epsilon) total.epsilon = decimal_value(*request.epsilon, "--epsilon");
    if (request.delta) total.delta = decimal_value(*request.delta, "--delta");
    if (budget.delta == 0)
        throw Error(ExitCode::budget,
                    "this account has no delta, and what is measured gets normal noise: nothing was charged",
                    "state public ranges and a public count, or open accounts with --budget-delta and "
                    "--composition gdp",
                    ledger);
    const Rational delta = budget.renyi_order ? Rational(total.delta - budget.delta_apart) : total.delta;
    total.mu_squared = std::max(Rational(0), mu_squared_of(budget, total.epsilon, delta));
    return total;
}

MeasureRequest priced(MeasureRequest wanted, const MeasureBudget& request, const Total& total) {
    const double of_count = wanted.count ? count_share : 0;
    double of_ranges = 0;
    if (wanted.names > 0)
        wanted.names_delta = request.names_delta
                                 ? decimal_value(*request.names_delta, "--names-delta")
                                 : Rational(decimal_value(names_share_of_delta, "") * total.delta);
    if (wanted.columns + wanted.categories + wanted.names > 0)
        of_ranges = total.epsilon < decimal_value(little_epsilon, "") ? ranges_share_of_little : ranges_share;
    const Rational all = decimal_value(of_count, "") + decimal_value(of_ranges, "");
    const Rational times =
        request.share && all > 0 ? Rational(decimal_value(*request.share, "--share") / all) : 1;
    wanted.count_mu_squared = decimal_value(of_count, "") * times * total.mu_squared;
    wanted.columns_mu_squared = decimal_value(of_ranges, "") * times * total.mu_squared;
    return wanted;
}

std::vector<MeasureRequest> parts_of(const MeasureRequest& wanted, const Budget& budget) {
    if (!wanted.count || wanted.columns == 0 || !(budget.gaussian || budget.renyi_order)) return {wanted};
    MeasureRequest count = wanted, columns = wanted;
    count.columns = count.categories = count.names = 0;
    columns.count = false;
    return {count, columns};
}

MeasureRequest fitted_to(double persons, MeasureRequest wanted, const MeasureBudget& request,
                         const Total& total) {
    if (persons == 0 || wanted.count || wanted.columns == 0 || wanted.bins > 0 ||
        persons >= few_deviations * MeasureLaw::of(wanted).sigma)
        return wanted;
    wanted.levels = 1;
    if (request.share) return wanted;
    const double levels = static_cast<double>(wanted.columns + wanted.categories + wanted.names),
                 sigma = persons / few_told_apart_deviations,
                 reach = wanted.relation == name_of(Relation::substitute) ? 2 : 1;
    const double share =
        std::min(levels * reach / (sigma * sigma * total.mu_squared.get_d()), most_share_of_few);
    wanted.columns_mu_squared =
        std::max(wanted.columns_mu_squared, Rational(decimal_value(share, "") * total.mu_squared));
    return wanted;
}

Rational stated_delta(const Budget& budget, const Total& total) {
    return budget.gaussian || budget.renyi_order ? total.delta : Rational(total.delta / 10);
}

Cost cost_of(const std::vector<Payment>& payments, const Rational& names_delta, const Total& total,
             const Budget& budget) {
    Cost cost;
    for (const Payment& payment : payments) {
        cost.epsilon += payment.epsilon;
        cost.delta += payment.delta;
        cost.mu_squared += *payment.mu_squared;
    }
    if (payments.size() > 1) {
        cost.delta = stated_delta(budget, total);
        cost.epsilon = gaussian_epsilon(sqrt_upper(cost.mu_squared), cost.delta);
    }
    cost.delta += names_delta;
    return cost;
}

Left left_of(const Total& total, const Budget& budget, const Cost& cost) {
    if (!budget.gaussian && !budget.renyi_order)
        return {rounded_down(total.epsilon - cost.epsilon), rounded_down(total.delta - cost.delta)};
    const Rational rest = total.mu_squared - cost.mu_squared;
    // Of the greatest mu whose square is within the rest; to six digits the rounding of the root is nothing.
    return {rounded_down(gaussian_epsilon(Rational(std::sqrt(rest.get_d())), total.delta) *
                         (1 - Rational(1, 1000000))),
            shown(total.delta)};
}

double deviations_wanted(const MeasureRequest& request) {
    return ranges_alone(request) ? few_told_apart_deviations : told_apart_deviations;
}

std::string share_that_would_do(const MeasureRequest& request, const MeasureLaw& law, const Total& total,
                                double persons) {
    const double times = std::pow(deviations_wanted(request) * law.sigma / persons, 2);
    const double share = Rational(request.columns_mu_squared / total.mu_squared).get_d() * times;
    if (share < 1) return printed("--share %.2g would do, or state public ranges (import --scale)", share);
    return "no share of this total would do: state public ranges (import --scale)";
}

void refuse_hidden(const MeasureRequest& request, const MeasureLaw& law, const Total& total, double persons,
                   const char* charged) {
    const double enough = ranges_alone(request) ? few_hidden_deviations : hidden_deviations;
    if (request.count || request.columns + request.categories + request.names == 0 || persons == 0 ||
        persons >= enough * law.sigma)
        return;
    throw Error(ExitCode::budget,
                "the noise of " + std::to_string(std::lround(law.sigma)) + " persons a cell would hide all " +
                    std::to_string(std::lround(persons)) + ": " + charged + " was charged",
                share_that_would_do(request, law, total, persons), "--share");
}

void refuse_beside(const Ledger& ledger, const std::string& population, const Budget& budget,
                   const Total& total, const Rational& before, const std::string& path) {
    const Spending spent = *ledger.spending(population);
    if (!budget.gaussian || spent.epsilon == 0) return;
    const Rational delta = budget.delta - budget.delta_apart;
    const Rational all = gaussian_mu(budget.epsilon, delta), gone = gaussian_mu(spent.epsilon, delta);
    const Rational left = all * all - gone * gone, rounding = total.mu_squared / 1000000;
    if (total.mu_squared - before <= left + (before > 0 ? rounding : Rational(0))) return;
    const double fits =
        left > 0 ? rounded_down(gaussian_epsilon(Rational(std::sqrt(left.get_d())), total.delta)) : 0;
    throw Error(ExitCode::budget,
                "epsilon " + decimal_text(total.epsilon) +
                    " for measuring and training does not fit beside the " + decimal_text(spent.epsilon) +
                    " that is spent: nothing was charged",
                fits > 0 ? "--epsilon " + round_down_text(fits) + " for both would fit"
                         : "nothing is left of this account",
                path);
}

}  // namespace holdfast
