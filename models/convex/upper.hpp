#pragma once

#include <cmath>

#include "kernels/base/next.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// An upper bound of a number >= 0, as a double: every operation rounds to nearest and then goes one double
/// up, so that the result bounds what the exact operation makes of the bounded numbers. An overflow is
/// +infinity.
class Upper {
  public:
    constexpr Upper() = default;
    explicit constexpr Upper(double value) : value_(value) {}  ///< the number itself
    static Upper of_count(std::size_t count) { return raised(static_cast<double>(count)); }

    double value() const { return value_; }
    Rational rational() const { return Rational(value_); }  ///< of a finite one

    friend Upper operator+(Upper a, Upper b) { return raised(a.value_ + b.value_); }
    friend Upper operator*(Upper a, Upper b) { return raised(a.value_ * b.value_); }
    friend Upper operator/(Upper a, double exact) { return raised(a.value_ / exact); }
    friend Upper sqrt(Upper a) { return raised(std::sqrt(a.value_)); }
    friend Upper max(Upper a, Upper b) { return a.value_ < b.value_ ? b : a; }
    friend Upper min(Upper a, Upper b) { return b.value_ < a.value_ ? b : a; }

  private:
    static Upper raised(double nearest) { return Upper(next_above(nearest)); }
    double value_ = 0;
};

}  // namespace holdfast
