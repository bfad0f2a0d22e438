#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/base/arithmetic.hpp"

namespace holdfast {

/// The integer arithmetic of an update and of the radius that bounds what a changed record moves it by, and
/// the lemmas under it (models/mathematics.md, core and radius), every rounding and limit in them.
///
/// For factors d, v >= 0, d <= 1, write f(theta) = theta - floor(d theta + 1/2), h(r) = r - floor(d r),
/// g(S) = floor(v S + 1/2), and L for the limit of parameters. All else are integers, r, s, b >= 0.
///   1. f, g and h are non-decreasing: d r <= r, so a floor grows by r at most.
///   2. g(S + b) - g(S) <= ceil(v b), since floor(x + y) <= floor(x) + ceil(y).
///   3. 0 <= f(theta + r) - f(theta) <= h(r), since floor(x + y) >= floor(x) + floor(y).
///   4. h(r + s) <= h(r) + h(s), by the same; and ceil(v (b + c)) <= ceil(v b) + ceil(v c).
///   5. Saturation at +-L is non-decreasing and moves no two values apart.
///   6. f maps [-L, L] into itself, so of g only what lies within +-2 L decides the saturated f(theta) - g:
///      capping the results of factors beyond that changes no update. (Lemma 2 is false of capped results.)
///   7. If |e| <= r + s and |e| <= 2 L, then |e| <= min(r, 2 L) + min(s, 2 L).
///   8. The soft threshold theta - clamp(theta; s) is non-decreasing and moves no two values apart.
///
/// Theorem (core and radius). A run and one whose sums differ by what k records did, each acting at most once
/// an epoch by at most Gamma, or by less (wide_sums.hpp), differ by at most k R_t, R_t =
/// EpochResponses::radius(). Proof: their difference e is within the sum over records and epochs of a
/// response that is ceil(v Gamma) after the step in which the record acts (2, 4) and h of itself after any
/// other (3, 4), saturation taking nothing back (5). Capping a response at 2 L before it decays on keeps
/// that: saturated parameters are no further apart (7, 6). By 1 the greatest response of an epoch stays the
/// greatest, so its step need not be known. Hence the parameters on a neighbouring dataset lie within k R_t
/// of a companion run, which takes this dataset's gradients at theirs, and which the core encloses; as the
/// theorem is as true of a bound of the core as of a run, the box k - 1 of a neighbour lies in the box k.
///
/// `bits` is the width of the integers, 64 in the program. tests/property/update_rule_test.cpp walks through
/// every case of smaller widths, whose limits are in proportion; tests/proofs/update_rule.smt2 proves 1 to 8
/// and a step of the theorem for all integers.
template <int bits>
struct UpdateLimits {
    static constexpr std::int64_t parameter = std::int64_t{1} << (bits - 4);
    /// Beyond it every parameter is inside.
    static constexpr std::int64_t radius = 2 * parameter;
    /// Of a factor's result: past 2 L (lemma 6), and short of what would overflow.
    static constexpr std::int64_t result = 4 * parameter - 1;
    static constexpr int significand_bits = bits - 2;
    static constexpr int greatest_shift = 2 * bits - 3;  ///< a product and its rounding have 2 bits - 1
};
static_assert(UpdateLimits<64>::parameter == parameter_limit_units);

using WideInteger = __int128;
static_assert((WideInteger{-1} >> 1) == -1, "the shift of a negative number rounds down");

/// value, within +-limit.
constexpr std::int64_t capped(WideInteger value, std::int64_t limit) {
    return static_cast<std::int64_t>(std::clamp<WideInteger>(value, -limit, limit));
}
template <int bits = 64>
constexpr std::int64_t within_limit(WideInteger parameter) {
    return capped(parameter, UpdateLimits<bits>::parameter);
}

/// A non-negative real as significand / 2^shift. Products are exact and rounded once, then capped (lemma 6).
template <int bits>
class BasicFactor {
  public:
    /// 0 <= significand < 2^significand_bits, 0 <= shift <= greatest_shift.
    constexpr BasicFactor(std::int64_t significand, int shift) : significand_(significand), shift_(shift) {}

    std::int64_t significand() const { return significand_; }
    int shift() const { return shift_; }

    std::int64_t apply(std::int64_t units) const {  ///< floor(value * units + 1/2)
        return rounded(units, shift_ == 0 ? 0 : WideInteger{1} << (shift_ - 1));
    }
    std::int64_t apply_up(std::int64_t units) const {  ///< ceil(value * units)
        return rounded(units, (WideInteger{1} << shift_) - 1);
    }
    std::int64_t apply_down(std::int64_t units) const {  ///< floor(value * units)
        return rounded(units, 0);
    }

  private:
    std::int64_t rounded(std::int64_t units, WideInteger rounding) const {
        const WideInteger product = WideInteger{significand_} * units + rounding;
        if constexpr (bits == 64) {
            // Where no cap can be met a shift of one half, or of both, is all there is to do.
            const auto high = static_cast<std::int64_t>(product >> 64);
            if (shift_ >= 64) return high >> (shift_ - 64);  // -2^61 <= high < 2^62
            const std::int64_t beyond = shift_ < 3 ? 1 : high >> (shift_ - 3);
            if (beyond == 0 || beyond == -1)  // within 2^(shift + 61)
                return static_cast<std::int64_t>(product >> shift_);
        }
        return capped(product >> shift_, UpdateLimits<bits>::result);
    }

    std::int64_t significand_;
    int shift_;
};

/// f(theta); decay <= 1.
template <int bits>
std::int64_t decayed(const BasicFactor<bits>& decay, std::int64_t parameter) {
    return parameter - decay.apply(parameter);
}

/// The parameter after a step: non-decreasing in it, non-increasing in the sum. What decay leaves is within L
/// (lemma 6), what is taken from it below 4 L: an integer holds the difference.
template <int bits>
std::int64_t updated(const BasicFactor<bits>& decay, const BasicFactor<bits>& gradient,
                     std::int64_t parameter, std::int64_t sum) {
    constexpr std::int64_t limit = UpdateLimits<bits>::parameter;
    return std::clamp(decayed(decay, parameter) - gradient.apply(sum), -limit, limit);
}

/// Lemma 8: what an l1 penalty leaves.
constexpr std::int64_t thresholded(std::int64_t parameter, std::int64_t threshold) {
    return parameter - std::clamp(parameter, -threshold, threshold);
}

struct ParameterRange {
    std::int64_t lower, upper;
};

/// -1, 0, 1
constexpr std::int64_t sign_of(std::int64_t parameter) {
    return (parameter > 0) - (parameter < 0);
}

/// A range of theta - threshold sign(theta), theta in `range`: that of a smaller range lies in it, and a
/// point's is a point. The least is at an end, or just above 0; the greatest at an end, or just below.
constexpr ParameterRange against_sign(ParameterRange range, std::int64_t threshold) {
    const auto stepped = [&](std::int64_t parameter) { return parameter - threshold * sign_of(parameter); };
    const std::int64_t first = stepped(range.lower), last = stepped(range.upper);
    ParameterRange after{std::min(first, last), std::max(first, last)};
    if (range.lower <= 0 && range.upper > 0) after.lower = std::min(after.lower, -threshold);
    if (range.lower < 0 && range.upper >= 0) after.upper = std::max(after.upper, threshold);
    return after;
}

/// How far one record that acts at most once an epoch moves a parameter: R_t of the theorem.
template <int bits>
class EpochResponses {
  public:
    /// Takes a step; `first_of_epoch`: the record may act again from here.
    void advance(const BasicFactor<bits>& decay, const BasicFactor<bits>& gradient, std::int64_t gamma_units,
                 bool first_of_epoch) {
        if (first_of_epoch) greatest_.push_back(0);
        for (std::int64_t& response : greatest_) response -= decay.apply_down(response);
        const std::int64_t impulse = std::min(gradient.apply_up(gamma_units), UpdateLimits<bits>::radius);
        greatest_.back() = std::max(greatest_.back(), impulse);
    }
    std::int64_t radius() const {
        WideInteger sum = 0;
        for (const std::int64_t response : greatest_) sum += response;
        return capped(sum, UpdateLimits<bits>::radius);
    }

  private:
    std::vector<std::int64_t> greatest_;  // [epochs so far], of each its greatest response
};

/// The same where the step acts on a velocity w and that on the parameter: w <- w - friction w - g(S), then
/// theta <- theta + floor(rate w + 1/2) (models/mathematics.md, momentum). Rates must not increase.
///
/// Lemma. A record that acts moves w by at most ceil(v Gamma); from then on its part of the difference of two
/// runs' w is taken through h in every step, and theirs of theta grows by ceil(rate |w|) (rules 2 to 5). Of
/// the steps of an epoch the first leaves the most: a later one has as much at every age, at rates no
/// greater, and fewer ages. Where a later step's impulse is greater, the rest of it acts besides (rule 4),
/// as a response of its own: h of a sum may be less than the sum of h.
template <int bits>
class MomentumResponses {
  public:
    /// Takes a step; `first_of_epoch`: the record may act again from here.
    void advance(const BasicFactor<bits>& friction, const BasicFactor<bits>& gradient,
                 const BasicFactor<bits>& rate, std::int64_t gamma_units, bool first_of_epoch) {
        if (first_of_epoch) greatest_impulse_ = 0;
        for (Response& response : responses_) response.velocity -= friction.apply_down(response.velocity);
        const std::int64_t impulse = std::min(gradient.apply_up(gamma_units), most);
        if (impulse > greatest_impulse_) {
            responses_.push_back({impulse - greatest_impulse_, 0});
            greatest_impulse_ = impulse;
        }
        for (Response& response : responses_)
            response.parameter =
                capped(WideInteger{response.parameter} + rate.apply_up(response.velocity), most);
    }
    std::int64_t radius() const {
        WideInteger sum = 0;
        for (const Response& response : responses_) sum += response.parameter;
        return capped(sum, most);
    }

  private:
    static constexpr std::int64_t most = UpdateLimits<bits>::radius;
    /// What is left in w and has gone into theta, of one impulse.
    struct Response {
        std::int64_t velocity, parameter;
    };
    std::vector<Response> responses_;    ///< one an epoch where impulses do not grow
    std::int64_t greatest_impulse_ = 0;  ///< of the epoch
};

/// A step of averaged momentum (models/mathematics.md, averaged momentum): z descends, and theta goes from
/// where a step of its own brings it a part of the way to z.
template <int bits>
struct AveragedFactors {
    BasicFactor<bits> decay, gradient;          ///< of z
    BasicFactor<bits> own_decay, own_gradient;  ///< of theta: 0 but for a step that looks ahead
    BasicFactor<bits> average;                  ///< m <= 1, the part of the way
};

/// (1 - m) theta + m z: non-decreasing in both, and of two pairs no further apart than h(|theta - theta'|) +
/// ceil(m |z - z'|), h that of m (rules 2, 3 and 5).
template <int bits>
std::int64_t averaged(const BasicFactor<bits>& average, std::int64_t theta, std::int64_t z) {
    return within_limit<bits>(WideInteger{decayed(average, theta)} + average.apply(z));
}

/// The response of averaged momentum, of z and theta each the greatest of an epoch.
///
/// Lemma. What a record moves (theta, z) by is, after the step in which it acts, what the average makes of an
/// impulse in each, and after any other step what it makes of what decay leaves. That map does not fall with
/// either component and is sub-additive (rules 1 to 4), so the componentwise greatest over the steps of an
/// epoch bounds the response of whichever step it acts in.
template <int bits>
class AveragedResponses {
  public:
    /// Takes a step; `first_of_epoch`: the record may act again from here.
    void advance(const AveragedFactors<bits>& factors, std::int64_t gamma_units, bool first_of_epoch) {
        if (first_of_epoch) greatest_.push_back({0, 0});
        for (Response& response : greatest_)
            response = averaged_response(factors.average,
                                         {response.theta - factors.own_decay.apply_down(response.theta),
                                          response.z - factors.decay.apply_down(response.z)});
        const Response impulse =
            averaged_response(factors.average, {std::min(factors.own_gradient.apply_up(gamma_units), most),
                                                std::min(factors.gradient.apply_up(gamma_units), most)});
        Response& last = greatest_.back();
        last = {std::max(last.theta, impulse.theta), std::max(last.z, impulse.z)};
    }
    std::int64_t radius() const {
        WideInteger sum = 0;
        for (const Response& response : greatest_) sum += response.theta;
        return capped(sum, most);
    }

  private:
    static constexpr std::int64_t most = UpdateLimits<bits>::radius;
    struct Response {
        std::int64_t theta, z;
    };
    static Response averaged_response(const BasicFactor<bits>& average, Response response) {
        const std::int64_t left = response.theta - average.apply_down(response.theta);
        return {capped(WideInteger{left} + average.apply_up(response.z), most), response.z};
    }

    std::vector<Response> greatest_;  // [epochs so far]
};

/// The ends of the box around [lower, upper]: `changed` records, each moving a parameter by at most `radius`.
template <int bits = 64>
std::int64_t widened_lower(std::int64_t lower, std::int64_t radius, std::int64_t changed) {
    return within_limit<bits>(lower - WideInteger{radius} * changed);
}
template <int bits = 64>
std::int64_t widened_upper(std::int64_t upper, std::int64_t radius, std::int64_t changed) {
    return within_limit<bits>(upper + WideInteger{radius} * changed);
}

}  // namespace holdfast
