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
    unsigned apart = 0;  ///< so many doublings coarser are the losses beyond TwoGridLoss::reach
};

/// log(1 + (e^loss - 1) rate/(1 - rate)), nearly: at most what a loss of the Gaussian is of the sampled one.
double sampled_loss(double loss, double rate) {
    constexpr double overflows = 600;
    const double odds = rate / (1 - rate);
    const double sampled = loss > overflows ? loss + std::log(odds) : std::log1p(odds * std::expm1(loss));
    return std::min(loss, sampled);
}

/// For steps that cost about `epsilon`; no bound rests on it. The unit is a 32nd of the deviation of the loss
/// of the steps that are together, for a Gaussian of that cost: chords add at most a quarter of a unit's
/// square to the variance, a fraction of 2^-12. Where the losses of one step reach beyond 2^17 units, they
/// take a second grid; those of all steps have no more than 2^17 units. As many masses rounded up weigh less
/// than the tails that are cut. Losses reach far beyond an epsilon that is small only because delta covers
/// most of them. Where hardly any step takes a record, losses are few and large, and no Gaussian: a 32nd of
/// epsilon is fine enough, and the result gives the next epsilon. coarser: so many doublings of the unit, for
/// a quick look.
Fineness fineness_for(const GaussianSteps& steps, const Rational& delta, const Rational& epsilon,
                      unsigned coarser) {
    const double sigma = steps.noise_multiplier, reach = reach_of(steps.relation);
    const double log_odds = log_upper(as_rational(steps.steps) / delta).get_d();
    const double quantile = std::sqrt(2 * log_odds);
    const double mu = gaussian_mu(epsilon, delta).get_d(), of_all = mu * (mu / 2 + quantile);
    const double greatest =
        sampled_loss(reach * (reach / 2 + sigma * quantile) / (sigma * sigma), steps.sampling_rate.get_d());
    const double deviation = 0x1p-5 * mu / std::sqrt(static_cast<double>(steps.steps));
    const bool few = takes_few(steps);
    double unit = few ? std::max({deviation, 0x1p-17 * greatest,
                                  std::min(0x1p-11 * greatest, 0x1p-5 * epsilon.get_d())})
                      : deviation;
    unit = std::ldexp(unit, static_cast<int>(coarser));
    const auto bits_of = [](double least) {
        return static_cast<unsigned>(std::max(0.0, std::ceil(-std::log2(least))));
    };
    const double least_bits = log_odds / std::log(2.0) + 36;
    const unsigned at_first = bits_of(unit),
                   in_the_end = bits_of(std::max(unit, std::ldexp(of_all, static_cast<int>(coarser) - 16))),
                   wide = std::min(at_first, bits_of(std::ldexp(greatest, static_cast<int>(coarser) - 17)));
    return {
        {at_first, 32 * static_cast<unsigned>(std::ceil(least_bits / 32)) - 1},  // a product is whole words
        at_first - in_the_end,
        at_first - wide};
}

/// The loss of all steps, or of so few more that four, sixteen, … can be taken together before losses are
/// counted more coarsely, and again; `grid` becomes that of the result. Its width stays as it is: so many
/// steps reach twice, four times, … as far.
LossDistribution of_all_steps(TwoGridLoss two, std::int64_t steps, Fineness fineness, const Rational& delta,
                              LossGrid& grid) {
    const std::int64_t all = steps;
    // As in composed: each cut is of 2^-15 of delta for as many steps as are together.
    const Rational share =
        delta * power_of_two(fineness.grid.mass_bits) / power_of_two(15) / as_rational(all);
    for (grid = fineness.grid; two.apart > 0; --grid.loss_bits) {
        for (int doubling = 0; doubling < 2 && fineness.coarsenings > 0; ++doubling) {
            steps = (steps + 1) / 2;
            two = squared(two, grid, floor(share * as_rational(all / steps)));
        }
        if (fineness.coarsenings > 0) --fineness.coarsenings;
        two = coarsen_near(two, grid);
    }
    LossDistribution loss = std::move(two.near);
    for (; fineness.coarsenings > 0; --fineness.coarsenings) {
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
    for (TwoGridLoss& loss : sampled_losses(steps.sampling_rate, steps.noise_multiplier, steps.relation,
                                            fineness.grid, cut, fineness.apart)) {
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
