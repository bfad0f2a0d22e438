#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

// Integer probabilities whose ratios are bounded exactly. Entry h of a table belongs to distance h. Tables
// end at the cap, at `longest_table`, or where they stop changing; a larger h means the last entry (a
// 1-Lipschitz distance stays so when capped). Why rounding breaks no ratio: the law drawn is the table
// itself, over a power of two; each entry is rounded up to at least e^-epsilon times (its predecessor less
// delta), with e^-epsilon itself bounded above, so the inequality that privacy asks for holds between the
// integers, not only between the real numbers they stand for.

inline constexpr std::int64_t longest_table = 65536;

/// A class other than the label is released with probability entry/2^128 each, the label with the rest.
using FlipTable = std::vector<Word128>;

/// `stable_rr`, pure or with delta, two classes or more (models/mathematics.md, stable randomised response):
/// the recursion for s, written for what is left over to each other class: Q(0) = (1-delta)/(e^eps + C - 1),
/// Q(h+1) = max(0, e^-eps (Q - delta/(C-1)), (1 - e^eps s(h) - delta)/(C-1)), s = 1 - (C-1) Q.
FlipTable stable_rr_table(const Rational& epsilon, const Rational& delta, int classes, std::int64_t cap);

/// Two classes, any flip law p <= 1/2 that is (epsilon, delta)-private: P(h+1) = max(ceil(2^128 p(h+1)),
/// ceil(e^-eps (P(h) - 2^128 delta))). `upper(h)` bounds p(h) from above and does not increase.
FlipTable binary_table(const Rational& epsilon, const Rational& delta, std::int64_t cap,
                       const std::function<Rational(std::int64_t)>& upper);

FlipTable cauchy_table(const Rational& epsilon, std::int64_t cap);
FlipTable laplace_global_table(const Rational& epsilon);
FlipTable laplace_smooth_table(const Rational& epsilon, const Rational& delta, std::int64_t cap);

/// `ptr`: the label is released with probability entry/2^128, otherwise nothing. Entries are rounded down,
/// since at h = 0 neighbours may have different labels and all of that probability is delta's.
std::vector<Word128> ptr_table(const Rational& epsilon, const Rational& delta, std::int64_t cap);

/// Weights proportional to e^(-rate d): weights[d]/weights[d+1] <= e^rate/(1 + 2^-100) exactly, weights[0] =
/// 2^bits. The factor 1 + 2^-100 pays for the 2^-126 by which a 256-bit draw misses a weight's share of the
/// sum, and for the C^2 2^-127 by which a permutation drawn with 128 bits a step misses uniform (C <= 4096).
std::vector<Word128> exponential_weights(const Rational& rate, std::int64_t largest, unsigned bits);

/// Two-sided geometric noise on a count in [0, members] whose sum is clamped to [-range, members + range]:
/// the discrete Laplace of scale 1/rate. Noise of magnitude m = members + range stands for the whole tail
/// beyond.
struct NoiseTable {
    std::int64_t range;  ///< public
    std::vector<Word128>
        tails;      ///< [m + 1]: tails[k] = weight of one side's magnitudes >= k, tails[0] unused
    Word128 total;  ///< weight of 0, plus 2 tails[1]
};

/// For counts one apart, each clamped sum's weights differ by a factor of at most e^rate/(1 + 2^-100).
NoiseTable noise_table(const Rational& rate, std::int64_t members);

}  // namespace holdfast
