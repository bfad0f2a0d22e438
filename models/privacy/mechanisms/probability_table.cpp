#include "models/privacy/mechanisms/probability_table.hpp"

#include <algorithm>

namespace holdfast {

std::int64_t last_entry(std::int64_t cap) {
    return std::min(cap, longest_table);
}

ProbabilityTable to_words(const std::vector<Integer>& entries) {
    ProbabilityTable words;
    words.reserve(entries.size());
    for (const Integer& entry : entries) words.push_back(to_word(entry));
    return words;
}

Word128 entry_at(const ProbabilityTable& table, std::int64_t distance) {
    return table[std::min(static_cast<std::size_t>(distance), table.size() - 1)];
}

Rational fraction(Word128 numerator, unsigned long bits) {
    Rational result(to_integer(numerator), power_of_two(bits));
    result.canonicalize();
    return result;
}

std::vector<double> to_doubles(const std::vector<Rational>& exact) {
    std::vector<double> result;
    for (const Rational& p : exact) result.push_back(p.get_d());
    return result;
}

}  // namespace holdfast
