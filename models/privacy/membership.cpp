#include "models/privacy/membership.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/binomial.hpp"

namespace holdfast {
namespace {

constexpr double least_deviation = 1e-6;  // of shadows that all say the same

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of all persons' shadows about the means of each.
double deviation_of(std::span<const Observed> persons, std::vector<double> Observed::*shadows) {
    double sum = 0;
    std::size_t degrees = 0;
    for (const Observed& person : persons) {
        const std::vector<double>& values = person.*shadows;
        ensure(!values.empty(), "shadow networks of every person");
        const double mean = mean_of(values);
        for (const double value : values) sum += (value - mean) * (value - mean);
        degrees += values.size() - 1;
    }
    return std::max(least_deviation, std::sqrt(sum / static_cast<double>(std::max<std::size_t>(degrees, 1))));
}

double half_squared(double value) {
    return value * value / 2;
}

/// n times the relative entropy of coins: by how much a mean of n trials is too unlikely to be seen at this
/// rate.
double surprise(double seen, double rate) {
    const auto term = [](double p, double q) { return p > 0 ? p * std::log(p / q) : 0; };
    return term(seen, rate) + term(1 - seen, 1 - rate);
}

/// The rate farthest from `seen` on the way to `end` at which it is no too great surprise.
double farthest(double seen, double end, double most) {
    double near = seen, far = end;
    for (int halving = 0; halving < 60; ++halving) {
        const double middle = (near + far) / 2;
        (surprise(seen, middle) <= most ? near : far) = middle;
    }
    return far;
}

std::size_t above(const std::vector<double>& descending, double threshold) {
    return static_cast<std::size_t>(
        std::lower_bound(descending.begin(), descending.end(), threshold, std::greater<>()) -
        descending.begin());
}

double part(std::size_t count, std::size_t all) {
    return static_cast<double>(count) / static_cast<double>(all);
}

/// Both descending.
double area_of(const std::vector<double>& members, const std::vector<double>& others) {
    double pairs = 0;
    for (const double score : members) {
        const std::size_t greater = above(others, score);
        const auto end = std::upper_bound(others.begin(), others.end(), score, std::greater<>());
        const auto up_to_equal = static_cast<std::size_t>(end - others.begin());
        pairs +=
            static_cast<double>(others.size() - up_to_equal) + static_cast<double>(up_to_equal - greater) / 2;
    }
    return pairs / static_cast<double>(members.size()) / static_cast<double>(others.size());
}

}  // namespace

double logit_of_confidence(std::span<const double> logits, std::size_t label) {
    constexpr double most = 1e6;
    if (logits.size() == 1) return std::clamp(label == 1 ? logits[0] : -logits[0], -most, most);
    ensure(label < logits.size(), "a label is one of the classes");
    double greatest = -INFINITY, sum = 0;
    for (std::size_t c = 0; c < logits.size(); ++c)
        if (c != label) greatest = std::max(greatest, logits[c]);
    for (std::size_t c = 0; c < logits.size(); ++c)
        if (c != label) sum += std::exp(logits[c] - greatest);
    return std::clamp(logits[label] - greatest - std::log(sum), -most, most);
}

double log_probability(double logit) {
    return std::min(0.0, logit) - std::log1p(std::exp(-std::abs(logit)));
}

std::vector<double> offline_scores(std::span<const Observed> persons) {
    const double deviation = deviation_of(persons, &Observed::out);
    std::vector<double> scores;
    for (const Observed& person : persons)
        scores.push_back((person.target - mean_of(person.out)) / deviation);
    return scores;
}

std::vector<double> online_scores(std::span<const Observed> persons) {
    const double in = deviation_of(persons, &Observed::in), out = deviation_of(persons, &Observed::out);
    std::vector<double> scores;
    for (const Observed& person : persons)
        scores.push_back(half_squared((person.target - mean_of(person.out)) / out) -
                         half_squared((person.target - mean_of(person.in)) / in) + std::log(out / in));
    return scores;
}

Estimated estimated_rate(std::uint64_t hits, std::uint64_t trials, const Rational& error) {
    if (trials == 0) return {};
    const Rational side = error / 2;
    return {static_cast<double>(hits) / static_cast<double>(trials), rate_lower(trials, hits, side).get_d(),
            1 - rate_lower(trials, trials - hits, side).get_d()};
}

AttackResult judged_attack(std::vector<double> members, std::vector<double> others,
                           std::span<const double> rates, const Rational& error) {
    ensure(!members.empty() && !others.empty(), "scores of members and of others");
    std::sort(members.begin(), members.end(), std::greater<>());
    std::sort(others.begin(), others.end(), std::greater<>());
    AttackResult found{members.size(), others.size()};
    const double area = area_of(members, others),
                 most = std::log(2 / error.get_d()) /
                        static_cast<double>(std::min(members.size(), others.size()));
    found.auc = {area, farthest(area, 0, most), farthest(area, 1, most)};
    for (const double rate : rates) {
        const auto asked = static_cast<std::size_t>(rate * static_cast<double>(others.size())),
                   allowed = std::min(asked, others.size() - 1);
        const double threshold = others[allowed];
        Estimated false_positives = estimated_rate(allowed, others.size(), error);
        false_positives.value = part(above(others, threshold), others.size());  // fewer where some are equal
        false_positives.lowest = std::min(false_positives.lowest, false_positives.value);
        found.points.push_back(
            {rate, false_positives, estimated_rate(above(members, threshold), members.size(), error)});
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (i > 0 && others[i] == others[i - 1]) continue;
        found.roc.emplace_back(part(i, others.size()), part(above(members, others[i]), members.size()));
    }
    found.roc.emplace_back(1, 1);
    return found;
}

Rational true_positives_at_most(const Rational& epsilon, const Rational& delta,
                                const Rational& false_positives) {
    const Rational greatest = 1, missed = std::max(Rational(0), Rational(1 - delta - false_positives));
    return std::min({greatest, Rational(exp_upper(epsilon) * false_positives + delta),
                     Rational(1 - exp_lower(-epsilon) * missed)});
}

Rational true_positives_at_most(const Rational& mu, const Rational& false_positives) {
    if (false_positives <= 0) return 0;
    Rational low = -64, high = 64;  // of which the lower one has a tail of so much at least
    if (normal_tail_lower(low) < false_positives) return 1;
    while (high - low > Rational(1) / power_of_two(40)) {
        const Rational middle = (low + high) / 2;
        (normal_tail_lower(middle) >= false_positives ? low : high) = middle;
    }
    return std::min(Rational(1), normal_tail_upper(low - mu));
}

}  // namespace holdfast
