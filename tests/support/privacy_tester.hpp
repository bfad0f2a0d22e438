#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/privacy/rational.hpp"

namespace holdfast::test {

/// Does (epsilon, delta)-privacy hold between two exact laws, both ways? Exact: e^epsilon is bounded from
/// below, so a pass is a proof.
inline bool is_private(const std::vector<Rational>& p, const std::vector<Rational>& q,
                       const Rational& epsilon, const Rational& delta) {
    const Rational factor = exp_lower(epsilon);
    Rational there = 0, back = 0, more, less;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (i == 0 || p[i] != p[i - 1] || q[i] != q[i - 1]) {  // most other classes have the same share
            more = std::max(Rational(0), Rational(p[i] - factor * q[i]));
            less = std::max(Rational(0), Rational(q[i] - factor * p[i]));
        }
        if (more > 0) there += more;
        if (less > 0) back += less;
    }
    return there <= delta && back <= delta;
}

/// Largest |ln p_i/q_i|; infinite where only one is 0.
inline double privacy_loss(const std::vector<Rational>& p, const std::vector<Rational>& q) {
    double worst = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (p[i] == q[i]) continue;
        worst = p[i] == 0 || q[i] == 0 ? INFINITY
                                       : std::max(worst, std::abs(std::log(Rational(p[i] / q[i]).get_d())));
    }
    return worst;
}

/// Chernoff: P(a frequency over n draws of probability p is as far from p as `count`/n) <= 2 e^(-n KL).
inline double log_false_alarm(double count, double n, double p) {
    const double f = count / n;
    const double up = f > 0 ? f * std::log(f / p) : 0,
                 down = f < 1 ? (1 - f) * std::log((1 - f) / (1 - p)) : 0;
    return std::log(2.0) - n * (up + down);
}

/// The end of the interval of all p at which `count` of n is not rejected at `log_level`: least (up = false)
/// or greatest.
inline double confidence_bound(double count, double n, double log_level, bool up) {
    double inside = count / n, outside = up ? 1 : 0;
    for (int step = 0; step < 200; ++step) {
        const double middle = (inside + outside) / 2;
        const bool rejected = middle <= 0 || middle >= 1 || log_false_alarm(count, n, middle) < log_level;
        (rejected ? outside : inside) = middle;
    }
    return outside;
}

/// Stochastic tester: counts of each outcome over n draws on two neighbours. True if they show, with a false
/// alarm below 4 (outcomes) e^log_level, that no (epsilon, delta) mechanism drew them.
inline bool shows_violation(const std::vector<double>& p, const std::vector<double>& q, double n,
                            double epsilon, double delta, double log_level) {
    const auto exceeds = [&](double a, double b) {
        return confidence_bound(a, n, log_level, false) >
               std::exp(epsilon) * confidence_bound(b, n, log_level, true) + delta;
    };
    for (std::size_t i = 0; i < p.size(); ++i) {
        if (exceeds(p[i], q[i]) || exceeds(q[i], p[i])) return true;
    }
    return false;
}

}  // namespace holdfast::test
