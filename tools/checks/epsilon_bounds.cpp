#include "tools/checks/epsilon_bounds.hpp"

#include <algorithm>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr unsigned long mass_bits = 256;       // terms are integers in units of 2^-mass_bits, rounded up
constexpr unsigned long proportion_bits = 24;  // proportions are multiples of 2^-proportion_bits

Integer up(const Integer& numerator, const Integer& denominator) {
    Integer result;
    mpz_cdiv_q(result.get_mpz_t(), numerator.get_mpz_t(), denominator.get_mpz_t());
    return result;
}

Rational fraction_of(const Integer& units, unsigned long bits) {
    return Rational(units) / power_of_two(bits);
}

/// P(Binomial(trials, p) = at) for the p = numerator 2^-proportion_bits, 0 < p < 1, from one `at` to the
/// next.
class BinomialTerms {
  public:
    BinomialTerms(std::int64_t trials, const Integer& numerator, std::int64_t at)
        : trials_(trials), hit_(numerator), miss_(power_of_two(proportion_bits) - numerator), at_(at) {
        Integer ways;
        mpz_bin_uiui(ways.get_mpz_t(), static_cast<unsigned long>(trials), static_cast<unsigned long>(at));
        const Rational log_mass = log_upper(Rational(ways)) +
                                  at * log_upper(fraction_of(hit_, proportion_bits)) +
                                  (trials - at) * log_upper(fraction_of(miss_, proportion_bits));
        mass_ = ceil(exp_upper(log_mass) * power_of_two(mass_bits));
    }

    const Integer& mass() const { return mass_; }  ///< rounded up
    std::int64_t at() const { return at_; }
    /// Of the next term to this one.
    Rational ratio() const { return Rational((trials_ - at_) * hit_) / ((at_ + 1) * miss_); }
    void rise() {
        mass_ = up(mass_ * (trials_ - at_) * hit_, (at_ + 1) * miss_);
        ++at_;
    }
    void fall() {
        mass_ = up(mass_ * at_ * miss_, (trials_ - at_ + 1) * hit_);
        --at_;
    }

  private:
    std::int64_t trials_;
    Integer hit_, miss_;
    std::int64_t at_;
    Integer mass_;
};

/// An upper bound of P(Binomial(trials, p) >= successes): 1 unless p lies below the frequency, where terms
/// fall ever faster, so that a geometric series bounds what is left of them.
Rational tail(std::int64_t successes, std::int64_t trials, const Integer& numerator) {
    if (fraction_of(numerator, proportion_bits) * trials >= successes) return 1;
    BinomialTerms terms(trials, numerator, successes);
    const Integer negligible = power_of_two(mass_bits / 2);
    Integer sum = 0;
    for (; terms.at() < trials && terms.mass() > negligible; terms.rise()) sum += terms.mass();
    const Rational rest = Rational(terms.mass()) / (1 - terms.ratio());
    return (sum + rest) / power_of_two(mass_bits);
}

/// By bisection from `known` on; whether or not `rejected` grows, it holds of what is returned unless that is
/// `known`.
template <typename Rejected>
Integer greatest_rejected(const Integer& end, Integer known, const Rejected& rejected) {
    Integer beyond = end;
    while (beyond - known > 1) {
        const Integer middle = (known + beyond) / 2;
        (rejected(middle) ? known : beyond) = middle;
    }
    return known;
}

/// P(Binomial(trials, p) = k) for every k < end, from the greatest on to both sides: what is rounded up stays
/// far below it.
std::vector<Integer> masses_below(std::int64_t end, std::int64_t trials, const Integer& numerator) {
    const Integer middle = floor(fraction_of(numerator, proportion_bits) * trials);
    const std::int64_t start = std::min(static_cast<std::int64_t>(middle.get_si()), end - 1);
    std::vector<Integer> masses(static_cast<std::size_t>(end));
    BinomialTerms terms(trials, numerator, start);
    for (; terms.at() < end; terms.rise()) masses[static_cast<std::size_t>(terms.at())] = terms.mass();
    for (terms = BinomialTerms(trials, numerator, start); terms.at() >= 0; terms.fall())
        masses[static_cast<std::size_t>(terms.at())] = terms.mass();
    return masses;
}

/// Of so many correct guesses or more under (epsilon, delta), e^epsilon/(1 + e^epsilon) the proportion;
/// rounded up.
Rational guesses_p_value(std::int64_t canaries, std::int64_t guesses, std::int64_t correct,
                         const Rational& delta, const Integer& numerator) {
    const Rational by_chance = tail(correct, guesses, numerator);
    if (delta == 0 || by_chance >= 1) return by_chance;
    const std::vector<Integer> masses = masses_below(correct, guesses, numerator);
    Rational most = 0;  // over i of P(correct > Binomial >= correct - i)/i
    Integer sum = 0;
    for (std::int64_t i = 1; i <= correct; ++i) {
        sum += masses[static_cast<std::size_t>(correct - i)];
        most = std::max(most, Rational(fraction_of(sum, mass_bits) / i));
    }
    return by_chance + most * delta * 2 * canaries;
}

}  // namespace

Rational proportion_lower(std::int64_t successes, std::int64_t trials, const Rational& error) {
    ensure(0 <= successes && successes <= trials && trials > 0, "successes are some of the trials");
    const Integer lower = greatest_rejected(power_of_two(proportion_bits), 0, [&](const Integer& numerator) {
        return tail(successes, trials, numerator) <= error;
    });
    return fraction_of(lower, proportion_bits);
}

Rational proportion_upper(std::int64_t successes, std::int64_t trials, const Rational& error) {
    return 1 - proportion_lower(trials - successes, trials, error);
}

Rational epsilon_of_event(const Rational& p, const Rational& q, const Rational& delta) {
    const Rational least = Rational(1) / power_of_two(4096);
    const Rational ratio = (p - delta) / std::max(q, least);
    return ratio <= 1 ? Rational(0) : log_lower(ratio);
}

Rational epsilon_of_guesses(std::int64_t canaries, std::int64_t guesses, std::int64_t correct,
                            const Rational& delta, const Rational& error) {
    ensure(0 <= correct && correct <= guesses && guesses <= canaries && guesses > 0,
           "guesses are of canaries");
    const Integer half = power_of_two(proportion_bits - 1);  // epsilon = 0
    const Integer numerator =
        greatest_rejected(power_of_two(proportion_bits), half, [&](const Integer& middle) {
            return guesses_p_value(canaries, guesses, correct, delta, middle) <= error;
        });
    if (numerator == half) return 0;
    return log_lower(Rational(numerator) / (power_of_two(proportion_bits) - numerator));
}

}  // namespace holdfast
