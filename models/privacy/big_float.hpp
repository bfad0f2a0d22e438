#pragma once

#include <mpfr.h>

#include "kernels/base/error.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// RAII for mpfr_t, of 320 bits unless told. Inside this folder only: every operation names its rounding
/// where it is used.
class BigFloat {
  public:
    explicit BigFloat(mpfr_prec_t bits = 320) {
        mpfr_init2(value_, bits);
        mpfr_set_zero(value_, 1);
    }
    BigFloat(const Rational& value, mpfr_rnd_t rounding) : BigFloat() {
        mpfr_set_q(value_, value.get_mpq_t(), rounding);
    }
    ~BigFloat() { mpfr_clear(value_); }
    BigFloat(const BigFloat&) = delete;
    BigFloat& operator=(const BigFloat&) = delete;

    mpfr_ptr get() { return value_; }
    mpfr_srcptr get() const { return value_; }
    Rational rational() const {
        ensure(mpfr_number_p(value_) != 0, "a bound is a finite number");
        Rational result;
        mpfr_get_q(result.get_mpq_t(), value_);
        return result;
    }
    /// The least number of 64 significant bits that is no less: for what is written down.
    Rational short_upper() const {
        BigFloat result;
        mpfr_set_prec(result.value_, 64);
        mpfr_set(result.value_, value_, MPFR_RNDU);
        return result.rational();
    }

  private:
    mpfr_t value_;
};

}  // namespace holdfast
