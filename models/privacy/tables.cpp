#include "models/privacy/tables.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

Rational scale_128() {
    return Rational(power_of_two(128));
}

std::int64_t last_entry(std::int64_t cap) {
    return std::min(cap, longest_table);
}

FlipTable to_words(const std::vector<Integer>& entries) {
    FlipTable words;
    words.reserve(entries.size());
    for (const Integer& entry : entries) words.push_back(to_word(entry));
    return words;
}

}  // namespace

FlipTable stable_rr_table(const Rational& epsilon, const Rational& delta, int classes, std::int64_t cap) {
    const Rational scale = scale_128(), allowance = scale * delta;
    const Rational growth = exp_lower(epsilon), decay = exp_upper(Rational(-epsilon));
    const int others = classes - 1;
    std::vector<Integer> entries{ceil(scale * (1 - delta) / (growth + others))};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Integer& entry = entries.back();
        const Rational stay = scale - Rational(entry) * others;
        const Integer by_others = ceil(decay * (Rational(entry) - allowance / others));
        const Integer by_label = ceil((scale - growth * stay - allowance) / others);
        const Integer next = std::max({Integer(0), by_others, by_label});
        if (next == entry) break;  // the recursion has reached its fixed point
        entries.push_back(next);
    }
    return to_words(entries);
}

FlipTable binary_table(const Rational& epsilon, const Rational& delta, std::int64_t cap,
                       const std::function<Rational(std::int64_t)>& upper) {
    const Rational scale = scale_128(), allowance = scale * delta, decay = exp_upper(Rational(-epsilon));
    const Integer half = power_of_two(127);
    // At h = 0 the label may be either: 1 - P <= e^eps P + delta.
    const Integer least = ceil(scale * (1 - delta) / (1 + exp_lower(epsilon)));
    std::vector<Integer> entries{std::min(half, std::max(least, ceil(scale * upper(0))))};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Integer& entry = entries.back();
        const Integer floor_of_next = std::max(Integer(0), ceil(decay * (Rational(entry) - allowance)));
        if (floor_of_next >= entry) break;
        const Rational ideal = scale * upper(static_cast<std::int64_t>(entries.size()));
        entries.push_back(std::min(entry, std::max(floor_of_next, ceil(ideal))));
    }
    return to_words(entries);
}

FlipTable cauchy_table(const Rational& epsilon, std::int64_t cap) {
    return binary_table(epsilon, 0, cap, [&](std::int64_t h) {
        return atan_over_pi_upper(12 * exp_upper(-epsilon * Rational(h) / 6) / epsilon);  // atan(2 s)/pi
    });
}

FlipTable laplace_global_table(const Rational& epsilon) {
    return binary_table(epsilon, 0, 0, [&](std::int64_t) { return Rational(exp_upper(-epsilon / 2) / 2); });
}

FlipTable laplace_smooth_table(const Rational& epsilon, const Rational& delta, std::int64_t cap) {
    // beta = epsilon/(2 ln(2/delta)) bounded below, so that the scale 2 e^(-beta h)/epsilon is bounded above.
    const Rational beta = epsilon / (2 * log_upper(2 / delta));
    return binary_table(epsilon, delta, cap, [&](std::int64_t h) {
        return Rational(exp_upper(-epsilon * exp_lower(beta * Rational(h)) / 4) / 2);  // exp(-1/(2 scale))/2
    });
}

std::vector<Word128> ptr_table(const Rational& epsilon, const Rational& delta, std::int64_t cap) {
    const Rational scale = scale_128(), half(1, 2);
    const Rational growth = exp_lower(epsilon), decay = exp_upper(Rational(-epsilon));
    const auto lower = [&](std::int64_t h) {  // P(h + Lap(1/eps) > ln(1/(2 delta))/eps)
        const Rational rising = delta * exp_lower(epsilon * Rational(h));
        return rising <= half ? rising : Rational(1 - exp_upper(-epsilon * Rational(h)) / (4 * delta));
    };
    std::vector<Integer> entries{floor(scale * std::min(delta, lower(0)))};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Integer& entry = entries.back();
        const Integer ideal = floor(scale * lower(static_cast<std::int64_t>(entries.size())));
        const Integer by_release = floor(growth * Rational(entry));
        const Integer by_refusal = floor(scale - decay * (scale - Rational(entry)));
        entries.push_back(std::max(entry, std::min({ideal, by_release, by_refusal})));
    }
    return to_words(entries);
}

std::vector<Word128> exponential_weights(const Rational& rate, std::int64_t largest, unsigned bits) {
    const Rational slack = 1 + Rational(1, power_of_two(100));
    const Rational step = std::min(Rational(1), Rational(exp_upper(Rational(-rate)) * slack));
    ensure(step < 1, "epsilon is far above 2^-100");
    std::vector<Integer> entries{power_of_two(bits)};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(largest)) {
        Integer next = ceil(step * Rational(entries.back()));
        if (next == entries.back()) break;
        entries.push_back(std::move(next));
    }
    return to_words(entries);
}

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
