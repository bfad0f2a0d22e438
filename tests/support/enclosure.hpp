#pragma once

#include <mpfr.h>

#include <algorithm>
#include <array>

namespace holdfast {

/// A real number between two bounds of 200 bits, each rounded outwards by every operation: what is true of
/// all numbers in an enclosure is proved, not measured.
class Enclosure {
  public:
    Enclosure(double value) : Enclosure(value, value) {}  // NOLINT(google-explicit-constructor)
    Enclosure(double low, double high) : Enclosure(Uninitialised{}) {
        mpfr_set_d(low_, low, MPFR_RNDD);
        mpfr_set_d(high_, high, MPFR_RNDU);
    }
    Enclosure(const Enclosure& other) : Enclosure(Uninitialised{}) { *this = other; }
    Enclosure& operator=(const Enclosure& other) {
        mpfr_set(low_, other.low_, MPFR_RNDD);
        mpfr_set(high_, other.high_, MPFR_RNDU);
        return *this;
    }
    ~Enclosure() { mpfr_clears(low_, high_, nullptr); }

    static Enclosure ln2() {
        Enclosure result{Uninitialised{}};
        mpfr_const_log2(result.low_, MPFR_RNDD);
        mpfr_const_log2(result.high_, MPFR_RNDU);
        return result;
    }
    friend Enclosure operator+(const Enclosure& a, const Enclosure& b) {
        Enclosure result{Uninitialised{}};
        mpfr_add(result.low_, a.low_, b.low_, MPFR_RNDD);
        mpfr_add(result.high_, a.high_, b.high_, MPFR_RNDU);
        return result;
    }
    friend Enclosure operator-(const Enclosure& a, const Enclosure& b) {
        Enclosure result{Uninitialised{}};
        mpfr_sub(result.low_, a.low_, b.high_, MPFR_RNDD);
        mpfr_sub(result.high_, a.high_, b.low_, MPFR_RNDU);
        return result;
    }
    friend Enclosure operator*(const Enclosure& a, const Enclosure& b) { return of_corners(a, b, mpfr_mul); }
    /// b does not contain 0.
    friend Enclosure operator/(const Enclosure& a, const Enclosure& b) { return of_corners(a, b, mpfr_div); }
    friend Enclosure exp(const Enclosure& a) {
        Enclosure result{Uninitialised{}};
        mpfr_exp(result.low_, a.low_, MPFR_RNDD);
        mpfr_exp(result.high_, a.high_, MPFR_RNDU);
        return result;
    }
    friend Enclosure hull(const Enclosure& a, const Enclosure& b) {
        Enclosure result{Uninitialised{}};
        mpfr_min(result.low_, a.low_, b.low_, MPFR_RNDD);
        mpfr_max(result.high_, a.high_, b.high_, MPFR_RNDU);
        return result;
    }

    /// Bounds as doubles, rounded outwards.
    double low() const { return mpfr_get_d(low_, MPFR_RNDD); }
    double high() const { return mpfr_get_d(high_, MPFR_RNDU); }
    double magnitude() const { return std::max(-low(), high()); }

  private:
    struct Uninitialised {};
    explicit Enclosure(Uninitialised) { mpfr_inits2(200, low_, high_, nullptr); }

    using Operation = int(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
    /// Of an operation that is monotone in each argument: its extremes are at corners.
    static Enclosure of_corners(const Enclosure& a, const Enclosure& b, Operation operation) {
        Enclosure result{Uninitialised{}}, corner{Uninitialised{}};
        bool first = true;
        for (const mpfr_srcptr x : {mpfr_srcptr{a.low_}, mpfr_srcptr{a.high_}}) {
            for (const mpfr_srcptr y : {mpfr_srcptr{b.low_}, mpfr_srcptr{b.high_}}) {
                operation(corner.low_, x, y, MPFR_RNDD);
                operation(corner.high_, x, y, MPFR_RNDU);
                result = first ? corner : hull(result, corner);
                first = false;
            }
        }
        return result;
    }

    mpfr_t low_, high_;
};

}  // namespace holdfast
