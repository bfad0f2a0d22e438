#include "models/privacy/accountant/gaussian_steps.hpp"

#include <algorithm>
#include <cmath>

#include "models/privacy/accountant/checks.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/accountant/sampled_gaussian.hpp"

namespace holdfast {
namespace {

constexpr double least_multiplier = 0x1p-10, largest_multiplier = 0x1p40;
constexpr std::int64_t most_steps = std::int64_t{1} << 40;

void check(const GaussianSteps& steps) {
    const auto refuse = [](const char* message, const char* hint, const char* where) {
        throw Error(ExitCode::usage, message, hint, where);
    };
    if (steps.sampling_rate <= 0 || steps.sampling_rate > 1)
        refuse("not in (0, 1]", "give the probability of a record to be in a step, such as 1/64",
               "sampling_rate");
    if (!(steps.noise_multiplier >= least_multiplier && steps.noise_multiplier <= largest_multiplier))
        refuse("not in [2^-10, 2^40]", "give a number such as 1.1", "noise_multiplier");
    if (steps.steps < 1 || steps.steps > most_steps)
        refuse("not in 1 to 2^40", "count the steps of the whole training", "steps");
    if (steps.relation == Relation::remove)
        refuse("remove is no relation of privacy", "choose add_remove or substitute", "relation");
}

Rational as_rational(std::int64_t value) {
    return Rational(static_cast<long>(value));
}

/// Of all steps with every record in each: sampling only hides more.
Rational gaussian_mu_of(const GaussianSteps& steps) {
    const Rational sigma(steps.noise_multiplier), reach = steps.relation == Relation::substitute ? 2 : 1;
    return sqrt_upper(as_rational(steps.steps) * reach * reach / (sigma * sigma));
}

}  // namespace

std::vector<Rational> renyi_curve(const GaussianSteps& steps) {
    check(steps);
    std::vector<Rational> curve =
        sampled_gaussian_curve(steps.sampling_rate, steps.noise_multiplier, steps.relation);
    for (Rational& entry : curve) entry *= as_rational(steps.steps);
    return curve;
}

StepsCost cost_of(const GaussianSteps& steps, const Rational& delta) {
    check(steps);
    check_delta(delta);
    const StepsCost gaussian{gaussian_epsilon(gaussian_mu_of(steps), delta), "gdp"};
    if (steps.sampling_rate == 1) return gaussian;  // exact
    const StepsCost renyi{epsilon_of_renyi_curve(renyi_curve(steps), delta), "rdp"};
    return std::min(gaussian, renyi,
                    [](const StepsCost& one, const StepsCost& other) { return one.epsilon < other.epsilon; });
}

double noise_multiplier_for(const Rational& epsilon, const Rational& delta, const Rational& sampling_rate,
                            std::int64_t steps, Relation relation) {
    if (epsilon <= 0) throw Error(ExitCode::usage, "not above 0", "give a budget such as 1", "epsilon");
    const auto fits = [&](double multiplier) {
        return cost_of({sampling_rate, multiplier, steps, relation}, delta).epsilon <= epsilon;
    };
    double high = 1;
    while (!fits(high)) {
        if (high >= largest_multiplier)
            throw Error(ExitCode::usage, "no noise multiplier up to 2^40 keeps this budget",
                        "allow a larger epsilon or delta, or fewer steps", "epsilon");
        high *= 2;
    }
    double low = high / 2;
    while (low >= least_multiplier && fits(low)) {
        high = low;
        low /= 2;
    }
    while (high - low > high * 0x1p-14) {
        const double middle = (low + high) / 2;
        (fits(middle) ? high : low) = middle;
    }
    return high;
}

}  // namespace holdfast
