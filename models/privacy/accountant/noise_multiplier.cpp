#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/gaussian_steps.hpp"
#include "models/privacy/accountant/renyi.hpp"

namespace holdfast {
namespace {

constexpr double tolerance = 0x1p-14;

class Search {
  public:
    Search(Rational epsilon, Rational delta, GaussianSteps steps)
        : epsilon_(std::move(epsilon)), delta_(std::move(delta)), steps_(std::move(steps)) {}

    bool holds(double multiplier) const { return left(multiplier) >= 0; }

    /// A multiplier that holds without sampling; less, as far as Renyi's curve allows.
    double start() const {
        const Rational root = sqrt_upper(Rational(static_cast<long>(steps_.steps)));
        double multiplier = round_up(reach_of(steps_.relation) * root / gaussian_mu(epsilon_, delta_));
        if (multiplier > largest_multiplier)
            throw Error(ExitCode::usage, "no noise multiplier up to 2^40 keeps this budget",
                        "allow a larger epsilon or delta, or fewer steps", "epsilon");
        multiplier = std::max(multiplier, least_multiplier);
        for (const double factor : {0.5, 0.75, 0.875, 0.9375}) {
            while (multiplier * factor >= least_multiplier && holds_by_renyi(multiplier * factor))
                multiplier *= factor;
        }
        return multiplier;
    }

    /// From there to one that is within the tolerance of the least.
    double narrowed(double near) const {
        End high = end_at(near), low = high;
        for (double step = tolerance; high.left < 0; step *= 2) {
            low = high;
            high = end_at(high.multiplier * (1 + step));
        }
        for (double step = 0x1p-5; low.left >= 0 && low.multiplier > least_multiplier;
             step = std::min(2 * step, 0.5)) {
            high = low;
            low = end_at(std::max(least_multiplier, low.multiplier * (1 - step)));
        }
        if (low.left >= 0) return low.multiplier;
        for (int round = 1; high.multiplier - low.multiplier > tolerance * high.multiplier; ++round) {
            const double width = high.multiplier - low.multiplier;
            const double root = low.multiplier + width * low.left / (low.left - high.left);
            // Just beyond the root, as seen from the farther end: that end comes near. Every third time by
            // halves, which needs no smoothness.
            const double beyond = tolerance / 4 * high.multiplier;
            const double next =
                root - low.multiplier > high.multiplier - root ? root - beyond : root + beyond;
            const End middle = end_at(
                round % 3 == 0 ? low.multiplier + width / 2
                               : std::clamp(next, low.multiplier + width / 16, high.multiplier - width / 16));
            (middle.left < 0 ? low : high) = middle;
        }
        return high.multiplier;
    }

  private:
    struct End {
        double multiplier, left;
    };
    End end_at(double multiplier) const { return {multiplier, left(multiplier).get_d()}; }
    /// Of epsilon; below 0: too little noise.
    Rational left(double multiplier) const { return epsilon_ - cost_of(with(multiplier), delta_).epsilon; }
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
    const double near = search.narrowed(search.start());
    // Up to 5 digits, and on until it holds: cost_of need not fall with every digit.
    const int exponent = static_cast<int>(std::floor(std::log10(near))) - 4;
    const Rational unit = parse_rational("1e" + std::to_string(exponent), "noise_multiplier");
    Integer units = ceil(Rational(near) / unit);
    while (!search.holds(shown(units * unit))) ++units;
    return shown(units * unit);
}

}  // namespace holdfast
