#include "models/privacy/noise/karney_normal.hpp"

#include <array>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// Uniform on [0, 1), one byte after the other: lies in [low(), high()), more closely after every refine().
class Uniform {
  public:
    explicit Uniform(RandomBits& bits) : bits_(bits) {}

    Rational low() const { return Rational(digits_) / power_of_two(bits_known_); }
    Rational high() const { return Rational(digits_ + 1) / power_of_two(bits_known_); }
    void refine() {
        std::array<std::byte, 1> byte;
        bits_.fill(byte);
        digits_ = (digits_ << 8) + std::to_integer<unsigned>(byte[0]);
        bits_known_ += 8;
    }

  private:
    RandomBits& bits_;
    Integer digits_ = 0;
    unsigned long bits_known_ = 0;
};

/// t(x) = x (2k + x)/(2k + 2), which grows with x from 0 to below 1.
Rational exponent(const Rational& x, const Integer& k) {
    return x * (2 * k + x) / (2 * k + 2);
}

/// True with probability t(x)/n: whether another uniform number lies below it, whatever digits that takes.
bool bernoulli_of(Uniform& x, const Integer& k, unsigned long n, RandomBits& bits) {
    for (Uniform other(bits);; x.refine(), other.refine()) {
        if (other.high() * n <= exponent(x.low(), k)) return true;
        if (other.low() * n >= exponent(x.high(), k)) return false;
    }
}

/// True with probability exp(-t(x)): the first n at which a trial of t(x)/n fails is odd (von Neumann).
bool bernoulli_exp_of(Uniform& x, const Integer& k, RandomBits& bits) {
    unsigned long n = 1;
    while (bernoulli_of(x, k, n, bits)) ++n;
    return n % 2 == 1;
}

/// k + 1 trials: true with probability exp(-x (2k + x)/2).
bool accept_fraction(Uniform& x, const Integer& k, RandomBits& bits) {
    for (Integer trial = 0; trial <= k; ++trial) {
        if (!bernoulli_exp_of(x, k, bits)) return false;
    }
    return true;
}

/// floor(sigma (k + x) + 1/2).
Integer rounded(const Rational& sigma, const Integer& k, Uniform& x) {
    const Rational half(1, 2);
    for (;; x.refine()) {
        const Integer least = floor(sigma * (k + x.low()) + half);
        if (sigma * (k + x.high()) + half <= least + 1) return least;
    }
}

}  // namespace

Integer karney_normal(const Rational& sigma, RandomBits& bits) {
    ensure(sigma > 0, "a normal law has a positive standard deviation");
    const Rational half(1, 2);
    for (;;) {
        Integer k = 0;  // with probability proportional to exp(-k/2)
        while (bernoulli_exp(half, bits)) ++k;
        if (!bernoulli_exp(Rational(k * (k - 1)) / 2, bits)) continue;
        Uniform x(bits);
        if (!accept_fraction(x, k, bits)) continue;  // in all exp(-(k + x)^2/2)
        const Integer size = rounded(sigma, k, x);
        return bernoulli(half, bits) ? Integer(-size) : size;
    }
}

}  // namespace holdfast
