#include "models/certify/loss_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "kernels/base/next.hpp"
#include "kernels/ops/correct_rule.hpp"

namespace holdfast {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What rounds to nearest lies between these two of its result.
double outwards(double nearest, bool up) {
    return up ? next_above(nearest) : next_below(nearest);
}

/// A value >= 0 that exp, log1p and `terms` sums of the C library made, each within 2 units in the last
/// place: moved by more than all of it.
double widened(double value, std::size_t terms, bool up) {
    const double part = static_cast<double>(terms + 16) * 0x1p-51;
    const double moved = up ? value * (1 + part) + std::numeric_limits<double>::min()
                            : value * (1 - part) - std::numeric_limits<double>::min();
    return up ? next_above(moved) : std::max(0.0, next_below(moved));
}

/// log(1 + sum of exp(x)) of exponents x that are bounds already, towards `up`.
double log_of_one_and(std::vector<double> exponents, bool up) {
    const auto greatest = std::max_element(exponents.begin(), exponents.end());
    const double shift = std::max(0.0, *greatest);
    double sum = 0;
    for (double& exponent : exponents) {
        if (shift > 0 && &exponent == &*greatest) continue;  // it is the 1
        sum += std::exp(outwards(exponent - shift, up));
    }
    if (shift > 0) sum += std::exp(outwards(-shift, up));
    return widened(shift + std::log1p(sum), exponents.size(), up);
}

/// The loss of one logit as a function of its margin s z, which it falls with.
double of_margin(Loss loss, double margin, bool up) {
    if (loss == Loss::hinge) return std::max(0.0, outwards(1 - margin, up));
    if (loss == Loss::huber) {
        if (margin <= 1 - huber_width) return outwards(1 - margin, up);
        const double rest = std::max(0.0, outwards(1 + huber_width - margin, up));
        return std::max(0.0, outwards(outwards(rest * rest, up) * (1 / (4 * huber_width)), up));
    }
    if (loss == Loss::binary_cross_entropy || loss == Loss::one_vs_rest) return log_of_one_and({-margin}, up);
    throw Error(ExitCode::internal, "a loss without bounds of its value");
}

double of_sign(Loss loss, bool positive, double lower, double upper, bool worst) {
    const double least = positive ? lower : -upper, greatest = positive ? upper : -lower;
    return of_margin(loss, worst ? least : greatest, worst);
}

/// The own logit at one end against the others at the other.
double of_softmax(std::span<const double> own, std::span<const double> others, std::size_t label, bool up) {
    std::vector<double> exponents;
    for (std::size_t c = 0; c < own.size(); ++c) {
        if (c != label) exponents.push_back(outwards(others[c] - own[label], up));
    }
    return log_of_one_and(exponents, up);
}

LossBounds of_squares(double lower, double upper, double target) {
    const double under = lower - target, over = upper - target;
    const double farthest = next_above(std::max(std::abs(under), std::abs(over)));
    const double nearest =
        under <= 0 && over >= 0 ? 0 : std::max(0.0, next_below(std::min(std::abs(under), std::abs(over))));
    return {std::max(0.0, next_below(nearest * nearest)), next_above(farthest * farthest), 0, 0};
}

}  // namespace

LossBounds loss_bounds(Loss loss, std::span<const double> lower, std::span<const double> upper,
                       double target) {
    if (loss == Loss::squared_error) return of_squares(lower[0], upper[0], target);
    const auto label = static_cast<std::size_t>(target);
    LossBounds bounds;
    if (loss == Loss::cross_entropy) {
        bounds.best = of_softmax(upper, lower, label, false);
        bounds.worst = of_softmax(lower, upper, label, true);
    } else {
        for (std::size_t c = 0; c < lower.size(); ++c) {
            const bool own = loss == Loss::one_vs_rest ? c == label : label == 1;
            const double best = of_sign(loss, own, lower[c], upper[c], false),
                         worst = of_sign(loss, own, lower[c], upper[c], true);
            bounds.best = c == 0 ? best : std::max(0.0, next_below(bounds.best + best));
            bounds.worst = c == 0 ? worst : next_above(bounds.worst + worst);
        }
    }
    const Correct correct = correct_of(lower.size(), label, lower.data(), upper.data(), 1);
    bounds.surely = correct.surely ? 1 : 0;
    bounds.possibly = correct.possibly ? 1 : 0;
    return bounds;
}

std::vector<LossBounds> loss_bounds(Loss loss, const OutputBounds& bounds,
                                    const std::vector<double>& targets) {
    std::vector<LossBounds> all;
    const std::size_t outputs = targets.empty() ? 0 : bounds.lower.size() / targets.size();
    for (std::size_t i = 0; i < targets.size(); ++i) {
        all.push_back(loss_bounds(loss, std::span(bounds.lower).subspan(i * outputs, outputs),
                                  std::span(bounds.upper).subspan(i * outputs, outputs), targets[i]));
    }
    return all;
}

LossBounds mean_of(std::span<const LossBounds> records) {
    LossBounds mean;
    if (records.empty()) return mean;
    for (const LossBounds& record : records) {
        mean.best = std::max(0.0, next_below(mean.best + record.best));
        mean.worst = next_above(mean.worst + record.worst);
        mean.surely += record.surely;
        mean.possibly += record.possibly;
    }
    const auto count = static_cast<double>(records.size());
    return {std::max(0.0, next_below(mean.best / count)), next_above(mean.worst / count), mean.surely / count,
            mean.possibly / count};
}

}  // namespace holdfast
