#include <algorithm>
#include <cmath>
#include <limits>
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

    /// On a coarse grid epsilon is a little more than it is, but falls with the multiplier as it does: what a
    /// first look on the fine one gives then tells how far to go.
    double least() const {
        const auto [low, high] = around_root(start(), 1, coarse);
        if (!(low.fraction < largest && high.fraction > 0))
            return around_root(high.multiplier, 1.5, fine).second.multiplier;
        const double power =
            std::log(low.fraction / high.fraction) / std::log(high.multiplier / low.multiplier);
        return around_root(high.multiplier, std::max(0.5, power), fine).second.multiplier;
    }

  private:
    /// A grid that is so much coarser, and the part of the budget that is good enough to spend.
    struct Look {
        unsigned coarser;
        double enough;
    };
    static constexpr Look coarse{3, 1 - 0x1p-7}, fine{0, 1 - 0x1p-13};
    static constexpr double largest = std::numeric_limits<double>::max();
    struct End {
        double multiplier, fraction;  ///< of the budget that is spent; above 1: too little noise
    };

    /// A multiplier that is too little, and one that holds: the least decimal, or one that spends enough.
    /// Epsilon falls about as multiplier^-power.
    std::pair<End, End> around_root(double near, double power, const Look& look) const {
        End low{0, largest}, high{0, 0};
        for (int round = 1;; ++round) {
            const End here = end_at(near, look);
            (here.fraction > 1 ? low : high) = here;
            const bool held = high.multiplier > 0, both = held && low.multiplier > 0;
            const bool least = held && (high.multiplier <= least_multiplier ||
                                        decimal_from(high.multiplier, -1) <= low.multiplier);
            // On the coarse grid both ends are wanted, near each other.
            if (least || (high.fraction >= look.enough && (both || look.coarser == 0))) return {low, high};
            double guess = here.multiplier * std::pow(std::clamp(here.fraction, 0x1p-4, 16.0), 1 / power);
            // Every fourth time by halves, which needs no smoothness.
            if (both)
                guess =
                    round % 4 == 0 ? (low.multiplier + high.multiplier) / 2 : where_all_is_spent(low, high);
            if (held) guess = std::min(guess, decimal_from(high.multiplier, -1));
            if (low.multiplier > 0) guess = std::max(guess, decimal_from(low.multiplier, 1));
            near = std::clamp(decimal_from(guess), least_multiplier, largest_multiplier);
        }
    }

    End end_at(double multiplier, const Look& look) const {
        const Rational fraction = cost_of(with(multiplier), delta_, look.coarser).epsilon / epsilon_;
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
    return search.least();
}

}  // namespace holdfast
