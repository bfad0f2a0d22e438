#include "models/privacy/binomial.hpp"

#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/big_float.hpp"
#include "models/privacy/bisection.hpp"

namespace holdfast {
namespace {

/// Of one number of draws and of hits.
class BinomialTail {
  public:
    BinomialTail(std::uint64_t draws, std::uint64_t hits) : draws_(draws), hits_(hits) {
        ensure(hits <= draws && draws <= 10'000'000,
               "no more hits than draws, of which there are not too many");
        mpz_bin_uiui(ways_.get_mpz_t(), draws, hits);
    }

    /// Terms from `hits` on, each rounded up, until the rest is below 2^-64 of them: term i + 1 is term i
    /// times odds (draws - i) / (i + 1), which falls, and is below 1 from the mean on, so that the rest is
    /// below a geometric series.
    Rational upper(const Rational& rate) const {
        if (Rational(hits_) <= rate * draws_) return 1;
        const BigFloat odds(rate / (1 - rate), MPFR_RNDU);
        BigFloat sum, term, ratio, rest;
        first(term, rate);
        for (unsigned long i = hits_; i < draws_; ++i) {
            mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDU);
            mpfr_mul_ui(ratio.get(), odds.get(), draws_ - i, MPFR_RNDU);
            mpfr_div_ui(ratio.get(), ratio.get(), i + 1, MPFR_RNDU);
            mpfr_mul(term.get(), term.get(), ratio.get(), MPFR_RNDU);
            mpfr_ui_sub(rest.get(), 1, ratio.get(), MPFR_RNDD);
            mpfr_div(rest.get(), term.get(), rest.get(), MPFR_RNDU);
            mpfr_mul_2ui(ratio.get(), rest.get(), 64, MPFR_RNDU);
            if (mpfr_less_p(ratio.get(), sum.get()) == 0) continue;
            mpfr_add(sum.get(), sum.get(), rest.get(), MPFR_RNDU);
            return sum.rational();
        }
        mpfr_add(sum.get(), sum.get(), term.get(), MPFR_RNDU);
        return sum.rational();
    }

    /// The same up to rounding: for guesses that are verified.
    long double nearly(long double rate) const {
        const auto draws = static_cast<long double>(draws_), hits = static_cast<long double>(hits_);
        if (hits <= rate * draws) return 1;
        long double term =
            std::exp(std::lgamma(draws + 1) - std::lgamma(hits + 1) - std::lgamma(draws - hits + 1) +
                     hits * std::log(rate) + (draws - hits) * std::log1p(-rate));
        long double sum = 0;
        for (unsigned long i = hits_; term > 0x1p-70L * sum; ++i) {
            sum += term;
            term *=
                static_cast<long double>(draws_ - i) / static_cast<long double>(i + 1) * (rate / (1 - rate));
        }
        return sum;
    }

  private:
    void first(BigFloat& term, const Rational& rate) const {
        BigFloat hit(rate, MPFR_RNDU), missed(1 - rate, MPFR_RNDU);
        mpfr_set_z(term.get(), ways_.get_mpz_t(), MPFR_RNDU);
        mpfr_pow_ui(hit.get(), hit.get(), hits_, MPFR_RNDU);
        mpfr_pow_ui(missed.get(), missed.get(), draws_ - hits_, MPFR_RNDU);
        mpfr_mul(term.get(), term.get(), hit.get(), MPFR_RNDU);
        mpfr_mul(term.get(), term.get(), missed.get(), MPFR_RNDU);
    }

    unsigned long draws_, hits_;
    Integer ways_;
};

}  // namespace

Rational binomial_tail_upper(std::uint64_t draws, std::uint64_t hits, const Rational& rate) {
    return BinomialTail(draws, hits).upper(rate);
}

Rational rate_lower(std::uint64_t draws, std::uint64_t hits, const Rational& alpha) {
    const BinomialTail tail(draws, hits);
    const Rational fine = Rational(1) / power_of_two(40);
    const auto most = static_cast<long double>(alpha.get_d());
    Rational low = 0, high = 1;
    halve_by_guess(
        low, high, [&](const Rational& from, const Rational& to) { return to - from > fine; },
        [&](const Rational& rate) { return tail.upper(rate) <= alpha; },
        [&](long double rate) { return tail.nearly(rate) <= most; });
    return low;
}

}  // namespace holdfast
