#pragma once

#include <algorithm>
#include <cmath>

namespace holdfast::testing_support {

/// The law of one sampled step with a record and without it, or with another in its place, straight from the
/// definitions in long double: P = (1-q) N(0, sigma^2) + q N(1, sigma^2) against N(0, sigma^2), or against
/// (1-q) N(0, sigma^2) + q N(-1, sigma^2). Far from any rounding of the program's own.
struct SampledPair {
    long double rate, sigma;
    bool substitute = false;
    bool swapped = false;  ///< an addition: Q against P

    static long double normal_tail(long double x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }
    long double density(long double x, long double mean) const {
        const long double z = (x - mean) / sigma;
        return std::exp(-z * z / 2) / (sigma * std::sqrt(2 * std::acos(-1.0L)));
    }
    long double mixed_density(long double x, long double mean) const {
        return (1 - rate) * density(x, 0) + rate * density(x, mean);
    }
    long double mixed_tail(long double x, long double mean) const {
        return (1 - rate) * normal_tail(x / sigma) + rate * normal_tail((x - mean) / sigma);
    }
    /// Of P to Q at x; rises with x.
    long double ratio(long double x) const {
        const auto mixed = [&](long double side) {
            return 1 - rate + rate * std::exp((2 * side * x - 1) / (2 * sigma * sigma));
        };
        return mixed(1) / (substitute ? mixed(-1) : 1);
    }

    // Of the pair as it is asked about, swapped or not:
    long double loss(long double x) const { return (swapped ? -1 : 1) * std::log(ratio(x)); }
    long double own_density(long double x) const {
        return swapped && !substitute ? density(x, 0) : mixed_density(x, swapped ? -1 : 1);
    }
    /// The least delta of one step at epsilon of any sign, by the best threshold.
    long double delta(long double epsilon) const {
        const long double limit = std::exp(swapped ? -epsilon : epsilon);
        long double low = -60 * sigma - 1, high = 60 * sigma + 2;
        if (ratio(low) >= limit) return swapped ? 0 : 1 - std::exp(epsilon);
        for (int i = 0; i < 90; ++i) {
            const long double middle = (low + high) / 2;
            (ratio(middle) > limit ? high : low) = middle;
        }
        const long double with = mixed_tail(low, 1);
        const long double without = substitute ? mixed_tail(low, -1) : normal_tail(low / sigma);
        return swapped ? (1 - without) - std::exp(epsilon) * (1 - with) : with - std::exp(epsilon) * without;
    }
    /// Of two steps: the mean of the second's delta at what the first has left of epsilon. By the trapezoidal
    /// rule, which has all digits for such functions.
    long double delta_of_two(long double epsilon) const {
        constexpr int points = 4000;
        const long double low = -14 * sigma - 1, width = 28 * sigma + 2;
        long double sum = 0;
        for (int i = 0; i <= points; ++i) {
            const long double x = low + width * i / points;
            sum += own_density(x) * delta(epsilon - loss(x));
        }
        return sum * width / points;
    }
};

}  // namespace holdfast::testing_support
