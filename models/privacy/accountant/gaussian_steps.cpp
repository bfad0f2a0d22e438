#include "models/privacy/accountant/gaussian_steps.hpp"

#include <algorithm>
#include <cmath>

#include "models/privacy/accountant/checks.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/accountant/sampled_gaussian.hpp"
#include "models/privacy/accountant/sampled_loss.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 40;
/// Beyond, losses so coarse that they can be counted prove less than Renyi's curve.
constexpr std::int64_t most_steps_of_losses = std::int64_t{1} << 24;

/// Of all steps with every record in each: sampling only hides more.
Rational unsampled_mu(const GaussianSteps& steps) {
    const Rational sigma(steps.noise_multiplier), reach = reach_of(steps.relation);
    return sqrt_upper(as_rational(steps.steps) * reach * reach / (sigma * sigma));
}

Rational renyi_epsilon(const GaussianSteps& steps, const Rational& delta) {
    return epsilon_of_renyi_curve(renyi_curve(steps), delta);
}

/// How finely losses are counted, for steps that cost about `epsilon`; no bound rests on it. Of a Gaussian of
/// that cost a 32nd of the deviation of one step's loss: chords add at most a quarter of a unit's square to
/// the variance of a step, a fraction of 2^-12. Never so fine that one step's losses, or those of all, have
/// many more than 2^17 units: then as many masses rounded up weigh less than the tails that are cut. Losses
/// reach far beyond an epsilon that is small only because delta covers most of them.
LossGrid grid_for(const GaussianSteps& steps, const Rational& delta, const Rational& epsilon) {
    const double sigma = steps.noise_multiplier, reach = reach_of(steps.relation);
    const double log_odds = log_upper(as_rational(steps.steps) / delta).get_d();
    const double quantile = std::sqrt(2 * log_odds);
    const double mu = gaussian_mu(epsilon, delta).get_d(), of_all = mu * (mu / 2 + quantile);
    const double greatest = reach * (reach / 2 + sigma * quantile) / (sigma * sigma);
    const double unit = std::max(
        {0x1p-5 * mu / std::sqrt(static_cast<double>(steps.steps)), 0x1p-16 * of_all, 0x1p-17 * greatest});
    const double least_bits = log_odds / std::log(2.0) + 36;
    return {static_cast<unsigned>(std::max(0.0, std::ceil(-std::log2(unit)))),
            32 * static_cast<unsigned>(std::ceil(least_bits / 32)) - 1};  // a product is whole words
}

Rational loss_epsilon(const GaussianSteps& steps, const Rational& delta, const LossGrid& grid) {
    const Rational cut = delta / power_of_two(15) / as_rational(steps.steps);
    Rational greatest = 0;
    for (const LossDistribution& loss :
         sampled_losses(steps.sampling_rate, steps.noise_multiplier, steps.relation, grid, cut)) {
        const auto epsilon = epsilon_of_loss(composed(loss, steps.steps, grid, delta), grid, delta);
        ensure(epsilon.has_value(), "cutting tails costs less than delta");
        greatest = std::max(greatest, *epsilon);
    }
    return greatest;
}

/// Replaces `cost` where the distribution of the loss proves less; again with a finer grid where it was laid
/// out for far more. Not where losses would be counted in whole numbers: that is no privacy.
void improve_by_loss(StepsCost& cost, const GaussianSteps& steps, const Rational& delta) {
    unsigned tried = 0;
    while (cost.epsilon > 0) {
        const LossGrid grid = grid_for(steps, delta, cost.epsilon);
        if (grid.loss_bits <= tried) return;
        tried = grid.loss_bits;
        const Rational epsilon = loss_epsilon(steps, delta, grid);
        if (epsilon >= cost.epsilon) return;
        const bool much = 2 * epsilon < cost.epsilon;
        cost = {epsilon, "pld"};
        if (!much) return;
    }
}

}  // namespace

void check(const GaussianSteps& steps) {
    const auto refuse = [](const char* message, const char* hint, const char* where) {
        throw Error(ExitCode::usage, message, hint, where);
    };
    if (steps.sampling_rate <= 0 || steps.sampling_rate > 1)
        refuse("not in (0, 1]", "give the probability of a record to be in a step, such as 1/64",
               "sampling_rate");
    if (!(steps.noise_multiplier >= least_multiplier && steps.noise_multiplier <= largest_multiplier))
        refuse("not in [2^-6, 2^40]", "give a number such as 1.1", "noise_multiplier");
    if (steps.steps < 1 || steps.steps > most_steps)
        refuse("not in 1 to 2^40", "count the steps of the whole training", "steps");
    if (steps.relation != Relation::add_remove && steps.relation != Relation::substitute)
        refuse("no relation of privacy", "choose add_remove or substitute", "relation");
}

int reach_of(Relation relation) {
    return relation == Relation::substitute ? 2 : 1;
}

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
    StepsCost cost{gaussian_epsilon(unsampled_mu(steps), delta), "gdp"};
    if (steps.sampling_rate == 1) return cost;  // which is exact
    const Rational renyi = renyi_epsilon(steps, delta);
    if (renyi < cost.epsilon) cost = {renyi, "rdp"};
    if (steps.steps <= most_steps_of_losses) improve_by_loss(cost, steps, delta);
    return cost;
}

}  // namespace holdfast
