#include "models/privacy/accountant/gaussian_steps.hpp"

#include <algorithm>
#include <cmath>
#include <future>

#include "models/privacy/accountant/checks.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/accountant/sampled_gaussian.hpp"
#include "models/privacy/accountant/sampled_loss.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 40;
constexpr int largest_growth = 4096;  ///< of exp_upper

/// Of all steps with every record in each.
Rational unsampled_mu(const GaussianSteps& steps) {
    const Rational sigma(steps.noise_multiplier), reach = reach_of(steps.relation);
    return sqrt_upper(as_rational(steps.steps) * reach * reach / (sigma * sigma));
}

/// That a record is in any of the steps: 1 - (1 - rate)^steps, rounded up.
Rational part_taken(const GaussianSteps& steps) {
    if (steps.sampling_rate == 1) return 1;
    BigFloat part(steps.sampling_rate, MPFR_RNDU);
    mpfr_neg(part.get(), part.get(), MPFR_RNDD);
    mpfr_log1p(part.get(), part.get(), MPFR_RNDD);
    mpfr_mul_si(part.get(), part.get(), static_cast<long>(steps.steps), MPFR_RNDD);
    mpfr_expm1(part.get(), part.get(), MPFR_RNDD);
    mpfr_neg(part.get(), part.get(), MPFR_RNDU);
    return std::min(Rational(1), part.short_upper());
}

/// Of all steps as if those who are in any were in each (models/privacy/mathematics.md, all steps at once).
Rational gaussian_steps_epsilon(const GaussianSteps& steps, const Rational& delta) {
    const Rational part = part_taken(steps);
    if (part <= delta) return 0;
    const Rational of_taken = gaussian_epsilon(unsampled_mu(steps), delta / part);
    if (part == 1 || of_taken > largest_growth) return of_taken;
    return BigFloat(log_upper(1 + part * (exp_upper(of_taken) - 1)), MPFR_RNDU).short_upper();
}

Rational renyi_epsilon(const GaussianSteps& steps, const Rational& delta) {
    return epsilon_of_renyi_curve(renyi_curve(steps), delta);
}

/// Whether a record is in no step, surely all but 2^-8.
bool takes_few(const GaussianSteps& steps) {
    return 256 * steps.sampling_rate * as_rational(steps.steps) <= 1;
}

/// How finely losses are counted: at first, and when all steps are together, on a grid that is coarser by
/// `coarsenings` doublings of its unit.
struct Fineness {
    LossGrid grid;
    unsigned coarsenings = 0;
};

/// For steps that cost about `epsilon`; no bound rests on it. Of a Gaussian of that cost a 32nd of the
/// deviation of the loss of what is together: chords add at most a quarter of a unit's square to the
/// variance, a fraction of 2^-12. Never so fine that one step's losses, or those of all, have many more than
/// 2^17 units: then as many masses rounded up weigh less than the tails that are cut. Losses reach far beyond
/// an epsilon that is small only because delta covers most of them. Of a record that hardly any step takes
/// losses are few and large, and no Gaussian: fine enough is a 32nd of epsilon, which is looked at again with
/// what it gave. coarser: so many doublings of the unit, for a quick look.
Fineness fineness_for(const GaussianSteps& steps, const Rational& delta, const Rational& epsilon,
                      unsigned coarser) {
    const double sigma = steps.noise_multiplier, reach = reach_of(steps.relation);
    const double log_odds = log_upper(as_rational(steps.steps) / delta).get_d();
    const double quantile = std::sqrt(2 * log_odds);
    const double mu = gaussian_mu(epsilon, delta).get_d(), of_all = mu * (mu / 2 + quantile);
    const double greatest = reach * (reach / 2 + sigma * quantile) / (sigma * sigma);
    const double deviation = 0x1p-5 * mu / std::sqrt(static_cast<double>(steps.steps));
    double unit = std::max(deviation, 0x1p-17 * greatest);
    if (takes_few(steps)) unit = std::max(unit, std::min(0x1p-11 * greatest, 0x1p-5 * epsilon.get_d()));
    unit = std::ldexp(unit, static_cast<int>(coarser));
    const auto bits_of = [](double least) {
        return static_cast<unsigned>(std::max(0.0, std::ceil(-std::log2(least))));
    };
    const double least_bits = log_odds / std::log(2.0) + 36;
    const unsigned at_first = bits_of(unit),
                   in_the_end = bits_of(std::max(unit, std::ldexp(of_all, static_cast<int>(coarser) - 16)));
    return {
        {at_first, 32 * static_cast<unsigned>(std::ceil(least_bits / 32)) - 1},  // a product is whole words
        at_first - in_the_end};
}

/// The loss of all steps, or of so few more that four, sixteen, … can be taken together before losses are
/// counted more coarsely, and again; `grid` becomes that of the result. Its width stays as it is: so many
/// steps reach twice, four times, … as far.
LossDistribution of_all_steps(LossDistribution loss, std::int64_t steps, Fineness fineness,
                              const Rational& delta, LossGrid& grid) {
    for (grid = fineness.grid; fineness.coarsenings > 0; --fineness.coarsenings) {
        steps = (steps + 3) / 4;
        loss = coarsened(composed(loss, 4, grid, delta / as_rational(steps)), grid);
        --grid.loss_bits;
    }
    return composed(loss, steps, grid, delta);
}

Rational loss_epsilon(const GaussianSteps& steps, const Rational& delta, const Fineness& fineness) {
    const Rational cut = delta / power_of_two(15) / as_rational(steps.steps);
    // Either direction on a core of its own.
    std::vector<std::future<Rational>> directions;
    for (LossDistribution& loss :
         sampled_losses(steps.sampling_rate, steps.noise_multiplier, steps.relation, fineness.grid, cut)) {
        directions.push_back(std::async(std::launch::async, [&, loss = std::move(loss)]() mutable {
            LossGrid grid;
            const LossDistribution all = of_all_steps(std::move(loss), steps.steps, fineness, delta, grid);
            const auto epsilon = epsilon_of_loss(all, grid, delta);
            ensure(epsilon.has_value(), "cutting tails costs less than delta");
            return *epsilon;
        }));
    }
    Rational greatest = 0;
    for (std::future<Rational>& direction : directions) greatest = std::max(greatest, direction.get());
    return greatest;
}

/// Replaces `cost` where the distribution of the loss proves less; again with a finer grid where it was laid
/// out for far more, or is rough. Not where losses would be counted in whole numbers: that is no privacy.
void improve_by_loss(StepsCost& cost, const GaussianSteps& steps, const Rational& delta, unsigned coarser) {
    unsigned tried = 0;
    while (cost.epsilon > 0) {
        const Fineness fineness = fineness_for(steps, delta, cost.epsilon, coarser);
        const unsigned bits = fineness.grid.loss_bits - fineness.coarsenings;
        if (bits <= tried) return;
        tried = bits;
        const Rational epsilon = loss_epsilon(steps, delta, fineness);
        if (epsilon >= cost.epsilon) return;
        const bool much = 2 * epsilon < cost.epsilon;
        cost = {epsilon, "pld"};
        if (!much && !takes_few(steps)) return;
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

StepsCost cost_of(const GaussianSteps& steps, const Rational& delta, unsigned coarser) {
    check(steps);
    check_delta(delta);
    StepsCost cost{gaussian_steps_epsilon(steps, delta), "gdp"};
    if (steps.sampling_rate == 1) return cost;  // which is exact
    const Rational renyi = renyi_epsilon(steps, delta);
    if (renyi < cost.epsilon) cost = {renyi, "rdp"};
    improve_by_loss(cost, steps, delta, coarser);
    return cost;
}

}  // namespace holdfast
