#include "models/privacy/accountant/sampled_gaussian.hpp"

#include <algorithm>
#include <cstdint>

#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/big_float.hpp"

namespace holdfast {
namespace {

/// a <- (1 + a)(1 + b) - 1: nothing cancels.
void compound(BigFloat& a, const BigFloat& b, BigFloat& spare) {
    mpfr_mul(spare.get(), a.get(), b.get(), MPFR_RNDU);
    mpfr_add(a.get(), a.get(), b.get(), MPFR_RNDU);
    mpfr_add(a.get(), a.get(), spare.get(), MPFR_RNDU);
}

/// exp(j (j - 1)/(2 sigma^2)) - 1 for j = 0 … last, rounded up.
std::vector<BigFloat> moments_of_shifts(const Rational& variance, std::int64_t last) {
    std::vector<BigFloat> moments(static_cast<std::size_t>(last) + 1);
    BigFloat one(Rational(1 / variance), MPFR_RNDU), ratio, spare;
    mpfr_expm1(one.get(), one.get(), MPFR_RNDU);
    for (std::size_t j = 2; j < moments.size(); ++j) {
        compound(ratio, one, spare);  // exp((j - 1)/sigma^2) - 1
        mpfr_set(moments[j].get(), moments[j - 1].get(), MPFR_RNDU);
        compound(moments[j], ratio, spare);
    }
    return moments;
}

/// D_a of one step under add_remove, for 0 < q < 1: log(1 + sum over j of C(a, j) (1-q)^(a-j) q^j moment_j)
/// over a - 1. Sampling never loses, so a/(2 sigma^2) holds too, and stands where exp overflows.
class SampledMoments {
  public:
    SampledMoments(const Rational& rate, const Rational& variance, std::int64_t last)
        : variance_(variance),
          stay_(Rational(1 - rate), MPFR_RNDU),
          odds_(Rational(rate / (1 - rate)), MPFR_RNDU),
          moments_(moments_of_shifts(variance, last)) {}

    Rational divergence(std::int64_t order) const {
        BigFloat weight, product, sum;
        mpfr_pow_ui(weight.get(), stay_.get(), static_cast<unsigned long>(order), MPFR_RNDU);
        for (std::int64_t j = 1; j <= order; ++j) {
            mpfr_mul(weight.get(), weight.get(), odds_.get(), MPFR_RNDU);
            mpfr_mul_ui(weight.get(), weight.get(), static_cast<unsigned long>(order - j + 1), MPFR_RNDU);
            mpfr_div_ui(weight.get(), weight.get(), static_cast<unsigned long>(j), MPFR_RNDU);
            mpfr_mul(product.get(), weight.get(), moments_[static_cast<std::size_t>(j)].get(), MPFR_RNDU);
            mpfr_add(sum.get(), sum.get(), product.get(), MPFR_RNDU);
        }
        const Rational unsampled = as_rational(order) / (2 * variance_);
        if (mpfr_number_p(sum.get()) == 0) return unsampled;
        mpfr_log1p(sum.get(), sum.get(), MPFR_RNDU);
        mpfr_div_ui(sum.get(), sum.get(), static_cast<unsigned long>(order - 1), MPFR_RNDU);
        return std::min(unsampled, sum.short_upper());
    }

  private:
    Rational variance_;
    BigFloat stay_, odds_;
    std::vector<BigFloat> moments_;  ///< [last order + 1]
};

}  // namespace

std::vector<Rational> sampled_gaussian_curve(const Rational& sampling_rate, double noise_multiplier,
                                             Relation relation) {
    const Rational sigma(noise_multiplier), variance = sigma * sigma;
    const bool substitute = relation == Relation::substitute;
    if (sampling_rate == 1) return renyi_curve_of_concentrated((substitute ? 4 : 1) / (2 * variance));
    const auto& orders = renyi_orders();
    const SampledMoments moments(sampling_rate, variance, orders.back() * (substitute ? 2 : 1));
    std::vector<Rational> curve;
    for (const std::int64_t a : orders) {
        // A substitution is a removal and an addition: the weak triangle inequality at p = 2 (Mironov 2017,
        // proposition 11).
        curve.push_back(substitute ? (as_rational(a) - Rational(1, 2)) / as_rational(a - 1) *
                                             moments.divergence(2 * a) +
                                         moments.divergence(2 * a - 1)
                                   : moments.divergence(a));
    }
    return curve;
}

}  // namespace holdfast
