#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/gaussian_steps.hpp"
#include "models/privacy/accountant/renyi.hpp"

namespace holdfast {
namespace {

/// Among the decimals of 5 digits the one `units` beyond the least that is no less than `value` (> 0).
double decimal_from(double value, int units = 0) {
    const int exponent = static_cast<int>(std::floor(std::log10(value))) - 4;
    const Rational unit = parse_rational("1e" + std::to_string(exponent), "noise_multiplier");
    return shown((ceil(decimal_value(value, "noise_multiplier") / unit) + units) * unit);
}

class Search {
  public:
    Search(Rational epsilon, Rational delta, GaussianSteps steps)
        : epsilon_(std::move(epsilon)), delta_(std::move(delta)), steps_(std::move(steps)) {}

    /// A multiplier that holds without sampling; less, as far as Renyi's curve allows.
    double start() const {
        const Rational root = sqrt_upper(as_rational(steps_.steps));
        double multiplier = round_up(reach_of(steps_.relation) * root / gaussian_mu(epsilon_, delta_));
        if (multiplier > largest_multiplier)
            throw Error(ExitCode::usage, "no noise multiplier up to 2^40 keeps this budget",
                        "allow a larger epsilon or delta, or fewer steps", "epsilon");
        multiplier = std::max(multiplier, least_multiplier);
        for (const double factor : {0.5, 0.75, 0.875, 0.9375}) {
            while (multiplier * factor >= least_multiplier && holds_by_renyi(multiplier * factor))
                multiplier *= factor;
        }
        return std::min(decimal_from(multiplier), largest_multiplier);
    }

    /// From there to the least decimal that holds, or one that leaves less than 2^-13 of the budget: epsilon
    /// falls faster than the multiplier rises.
    double least(double near) const {
        End high = end_at(near), low = high;
        while (high.fraction > 1) {
            low = high;
            high = end_at(decimal_from(high.multiplier, 1));
        }
        // Epsilon falls as a power of the multiplier between 1 and 2, or steeper: this is near the root, and
        // mostly below.
        while (low.fraction <= 1 && low.multiplier > least_multiplier) {
            high = low;
            const double factor = std::max(std::pow(high.fraction, 0.75), 0x1p-4);
            low = end_at(std::max(least_multiplier, std::min(decimal_from(high.multiplier * factor),
                                                             decimal_from(high.multiplier, -1))));
        }
        if (low.fraction <= 1) return low.multiplier;
        for (int round = 1; high.fraction < 1 - 0x1p-13; ++round) {
            const double last = decimal_from(high.multiplier, -1);
            if (last <= low.multiplier) break;
            // Every fourth time by halves, which needs no smoothness.
            const double root =
                round % 4 == 0 ? (low.multiplier + high.multiplier) / 2 : where_all_is_spent(low, high);
            const End middle = end_at(std::clamp(decimal_from(root), decimal_from(low.multiplier, 1), last));
            (middle.fraction > 1 ? low : high) = middle;
        }
        return high.multiplier;
    }

  private:
    struct End {
        double multiplier, fraction;  ///< of the budget that is spent; above 1: too little noise
    };
    End end_at(double multiplier) const {
        const Rational fraction = cost_of(with(multiplier), delta_).epsilon / epsilon_;
        return {multiplier, round_up(fraction)};
    }
    /// By a power of the multiplier through both ends.
    static double where_all_is_spent(const End& low, const End& high) {
        if (high.fraction <= 0) return (low.multiplier + high.multiplier) / 2;
        const double share = std::log(low.fraction) / std::log(low.fraction / high.fraction);
        return low.multiplier * std::pow(high.multiplier / low.multiplier, share);
    }
    bool holds_by_renyi(double multiplier) const {
        return epsilon_of_renyi_curve(renyi_curve(with(multiplier)), delta_) <= epsilon_;
    }
    GaussianSteps with(double multiplier) const {
        GaussianSteps steps = steps_;
        steps.noise_multiplier = multiplier;
        return steps;
    }

    Rational epsilon_, delta_;
    GaussianSteps steps_;
};

}  // namespace

double noise_multiplier_for(const Rational& epsilon, const Rational& delta, const Rational& sampling_rate,
                            std::int64_t steps, Relation relation) {
    if (epsilon <= 0) throw Error(ExitCode::usage, "not above 0", "give a budget such as 1", "epsilon");
    const GaussianSteps any{sampling_rate, 1, steps, relation};
    check(any);
    const Search search(epsilon, delta, any);
    return search.least(search.start());
}

}  // namespace holdfast
