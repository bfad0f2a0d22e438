#include "models/privacy/mechanisms/class_weights.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"

namespace holdfast {

ProbabilityTable exponential_weights(const Rational& rate, std::int64_t largest) {
    const Rational slack = 1 + Rational(1, power_of_two(100));
    const Rational step = std::min(Rational(1), Rational(exp_upper(Rational(-rate)) * slack));
    ensure(step < 1, "epsilon is far above 2^-100");
    std::vector<Integer> entries{power_of_two(weight_bits)};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(largest)) {
        Integer next = ceil(step * Rational(entries.back()));
        if (next == entries.back()) break;
        entries.push_back(std::move(next));
    }
    return to_words(entries);
}

std::vector<Word128> weights_of(const ProbabilityTable& table, const Evidence& evidence) {
    std::vector<Word128> weights;
    weights.reserve(evidence.class_distances.size());
    for (const std::int64_t distance : evidence.class_distances) weights.push_back(entry_at(table, distance));
    return weights;
}

}  // namespace holdfast
