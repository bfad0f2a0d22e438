#include "models/privacy/composition.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

void check(const Rational& epsilon, std::int64_t answers, const Rational& delta) {
    if (epsilon <= 0)
        throw Error(ExitCode::usage, "not above 0", "give the privacy loss of one answer, such as 0.1",
                    "epsilon");
    if (answers < 0) throw Error(ExitCode::usage, "negative", "count answers from 0", "answers");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give a value such as 1e-6", "delta");
}

/// The terms of k-fold randomised response, one after the other, all rounded the same way: with l answers
/// against the truth the outcome has probability C(k, l) p^(k-l) q^l under one dataset, q = 1/(1 + e^eps),
/// and C(k, l) q^(k-l) p^l under the other. Floating point, since p^k may lie far below 2^-1000000.
class Terms {
  public:
    /// The first term is first^answers; the l-th is the one before times ratio (answers - l + 1)/l. As if the
    /// first `skipped` terms had been added, which must not fall: upward rounding takes each of them for as
    /// large as the next, downward none of them is counted.
    Terms(const Rational& first, const Rational& ratio, std::int64_t answers, std::int64_t skipped,
          mpfr_rnd_t rounding)
        : ratio_(ratio, rounding), term_(first, rounding), answers_(answers), rounding_(rounding) {
        mpfr_pow_ui(term_.get(), term_.get(), static_cast<unsigned long>(answers), rounding);
        if (skipped > 0) skip(skipped);
    }
    const BigFloat& sum() const { return sum_; }
    void add_next() {
        if (taken_ > term_is_) {
            mpfr_mul(term_.get(), term_.get(), ratio_.get(), rounding_);
            mpfr_mul_ui(term_.get(), term_.get(), static_cast<unsigned long>(answers_ - taken_ + 1),
                        rounding_);
            mpfr_div_ui(term_.get(), term_.get(), static_cast<unsigned long>(taken_), rounding_);
        }
        mpfr_add(sum_.get(), sum_.get(), term_.get(), rounding_);
        term_is_ = taken_++;
    }

  private:
    void skip(std::int64_t count) {
        const mpfr_rnd_t against = rounding_ == MPFR_RNDU ? MPFR_RNDD : MPFR_RNDU;
        const auto all = static_cast<unsigned long>(answers_), some = static_cast<unsigned long>(count);
        BigFloat power, part;  // ln of the term, but for first^answers, which term_ is
        mpfr_log(power.get(), ratio_.get(), rounding_);
        mpfr_mul_ui(power.get(), power.get(), some, rounding_);
        const auto log_factorial = [&](unsigned long n, mpfr_rnd_t rounding) {
            mpfr_set_ui(part.get(), n + 1, MPFR_RNDN);  // exact
            mpfr_lngamma(part.get(), part.get(), rounding);
            return part.get();
        };
        mpfr_add(power.get(), power.get(), log_factorial(all, rounding_), rounding_);
        mpfr_sub(power.get(), power.get(), log_factorial(some, against), rounding_);
        mpfr_sub(power.get(), power.get(), log_factorial(all - some, against), rounding_);
        mpfr_exp(power.get(), power.get(), rounding_);
        mpfr_mul(term_.get(), term_.get(), power.get(), rounding_);
        if (rounding_ == MPFR_RNDU) mpfr_mul_ui(sum_.get(), term_.get(), some, rounding_);
        taken_ = term_is_ = count;
    }

    BigFloat ratio_, term_, sum_;
    std::int64_t answers_;
    mpfr_rnd_t rounding_;
    std::int64_t taken_ = 0, term_is_ = 0;
};

/// ln((sum - delta)/other) from above; sum > delta.
Rational log_of_excess(const BigFloat& sum, const BigFloat& delta, const BigFloat& other) {
    BigFloat value;
    mpfr_sub(value.get(), sum.get(), delta.get(), MPFR_RNDU);
    mpfr_div(value.get(), value.get(), other.get(), MPFR_RNDU);
    mpfr_log(value.get(), value.get(), MPFR_RNDU);
    return value.rational();
}

}  // namespace

Rational basic_composition(const Rational& epsilon, std::int64_t answers) {
    check(epsilon, answers, 0);
    return epsilon * as_rational(answers);
}

Rational advanced_composition(const Rational& epsilon, std::int64_t answers, const Rational& delta) {
    check(epsilon, answers, delta);
    if (delta == 0) return basic_composition(epsilon, answers);
    const Rational k = as_rational(answers);
    const Rational tanh = 1 - 2 / (exp_upper(epsilon) + 1);  // increasing in e^eps
    return k * epsilon * tanh + epsilon * sqrt_upper(2 * k * log_upper(1 / delta));
}

Rational optimal_composition(const Rational& epsilon, std::int64_t answers, const Rational& delta) {
    check(epsilon, answers, delta);
    if (answers == 0 || delta == 0) return basic_composition(epsilon, answers);
    // delta(g) = max over i of A_i - e^g B_i, A_i and B_i the sums of the i terms of greatest loss under the
    // two datasets; so the least g with delta(g) <= delta is the greatest ln((A_i - delta)/B_i), or 0.
    const Rational grown = exp_upper(epsilon), shrunk = exp_upper(Rational(-epsilon));
    const BigFloat allowance(delta, MPFR_RNDD);
    // Terms 40 deviations short of the mean, of half the root of `answers` at most each, weigh nothing beside
    // any delta but the smallest; before they sum to delta none of them decides.
    const auto all = static_cast<double>(answers);
    auto first = static_cast<std::int64_t>(std::max(0.0, all / (1 + grown.get_d()) - 20 * std::sqrt(all)));
    const auto weigh_nothing = [&] {
        const Terms trial(grown / (1 + grown), shrunk, answers, first, MPFR_RNDU);
        return mpfr_lessequal_p(trial.sum().get(), allowance.get()) != 0;
    };
    if (first > 0 && !weigh_nothing()) first = 0;
    Terms under(grown / (1 + grown), shrunk, answers, first, MPFR_RNDU);
    Terms other(1 / (1 + grown), exp_lower(epsilon), answers, first, MPFR_RNDD);
    Rational least = 0;
    for (std::int64_t i = first + 1; 2 * (i - 1) <= answers; ++i) {
        under.add_next();
        other.add_next();
        if (mpfr_greater_p(under.sum().get(), allowance.get()) != 0) {
            least = std::max(least, log_of_excess(under.sum(), allowance, other.sum()));
        }
        if (epsilon * as_rational(answers - 2 * i) <= least) break;  // later terms lose less than that
    }
    return least;
}

Rational least_composition(const Rational& epsilon, std::int64_t answers, const Rational& delta) {
    const Rational basic = basic_composition(epsilon, answers);
    return std::min(
        {basic, advanced_composition(epsilon, answers, delta), optimal_composition(epsilon, answers, delta)});
}

double epsilon_for_answers(const Rational& total, const Rational& delta, std::int64_t answers) {
    check(total, answers, delta);
    if (answers < 1) throw Error(ExitCode::usage, "below 1", "count answers from 1", "answers");
    const auto fits = [&](double epsilon) {
        return least_composition(decimal_value(epsilon, "epsilon"), answers, delta) <= total;
    };
    // The basic sum always fits, rounded down; about the share of a Gaussian is what can be had at best.
    double low = Rational(total / as_rational(answers)).get_d();
    while (!fits(low)) low = std::nextafter(low, 0.0);
    if (delta == 0) return low;
    const double gaussian = gaussian_mu(total, delta).get_d() / std::sqrt(static_cast<double>(answers));
    double high = std::max(low, gaussian);
    while (fits(high)) {
        low = high;
        high *= 1.25;
    }
    while (high > low * 1.0001) {
        const double middle = std::sqrt(low * high);
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

}  // namespace holdfast
