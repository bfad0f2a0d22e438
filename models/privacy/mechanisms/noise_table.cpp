#include "models/privacy/mechanisms/noise_table.hpp"

namespace holdfast {

NoiseTable noise_table(const Rational& rate, std::int64_t members) {
    // Beyond 60/rate the tail weighs e^-60: how far counts reach past their range matters to accuracy only.
    const Rational reach = 60 / rate;
    const std::int64_t range = reach < longest_table ? ceil(reach).get_si() : longest_table;
    const std::int64_t largest = members + range;
    const Rational step = exp_upper(Rational(-rate)) * (1 + Rational(1, power_of_two(100)));
    std::vector<Integer> weights{power_of_two(96)};
    for (std::int64_t k = 1; k < largest; ++k) weights.push_back(ceil(step * Rational(weights.back())));
    std::vector<Integer> tails(static_cast<std::size_t>(largest) + 1);
    // tail(k+1) >= step tail(k) for every k: the last entry is the sum of a geometric series of its
    // predecessor.
    tails.back() = ceil(step * Rational(weights.back()) / (1 - step));
    for (std::size_t k = tails.size() - 1; k-- > 0;) tails[k] = tails[k + 1] + weights[k];
    const Integer total = weights.front() + 2 * tails[1];
    return {range, to_words(tails), to_word(total)};
}

}  // namespace holdfast
