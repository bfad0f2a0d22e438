#include "models/privacy/session/session_law.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/mechanisms/probability_table.hpp"

namespace holdfast {
namespace {

/// 2^128 P(W = j): P(W = 0) <= delta, each the greatest that is at most e^epsilon_one times the one before,
/// and the last what is left over. Ends early, with a sum below 2^128, where there would be too many.
std::vector<Integer> threshold_table(const Rational& epsilon_one, const Rational& delta) {
    const Rational growth = exp_lower(epsilon_one);
    Integer left = power_of_two(128);
    std::vector<Integer> table{floor(delta * Rational(left))};
    left -= table.back();
    while (left > 0 && static_cast<std::int64_t>(table.size()) < longest_table) {
        table.push_back(std::min(left, floor(growth * Rational(table.back()))));
        left -= table.back();
    }
    if (left > 0) table.clear();
    return table;
}

/// 2^128 P(X > j), each at least e^-rate times the one before, the first at least e^-rate of 2^128.
std::vector<Integer> refusal_table(const Rational& rate) {
    const Rational decay = exp_upper(Rational(-rate));
    std::vector<Integer> table{ceil(decay * Rational(power_of_two(128)))};
    while (static_cast<std::int64_t>(table.size()) < longest_table) {
        const Integer next = ceil(decay * Rational(table.back()));
        if (next == table.back()) break;
        table.push_back(next);
    }
    return table;
}

/// What a refusal loses half of: its X moves by at most 2.
Rational rate_of(const SessionTerms& terms) {
    return terms.epsilon_two / (2 * as_rational(terms.refusals));
}

void check(const Rational& epsilon, const Rational& delta, std::int64_t refusals, std::int64_t answers) {
    if (epsilon <= 0 || epsilon > 1000)
        throw Error(ExitCode::usage, "not in (0, 1000]", "give what the session costs, such as 1", "epsilon");
    if (delta < parse_rational("1e-30", "delta") || delta >= 1)
        throw Error(ExitCode::usage, "a session needs a delta in [1e-30, 1)",
                    "give a value far below one over the number of records, such as 1e-6", "delta");
    if (refusals < 1 || refusals > 1000000)
        throw Error(ExitCode::usage, "not in [1, 1000000]", "give how many refusals end the session",
                    "refusals");
    if (answers < 1 || answers > 1000000000000000)
        throw Error(ExitCode::usage, "not in [1, 10^15]",
                    "give about how many queries will be asked, a public number", "answers");
}

/// The distance from which `answers` queries are all answered with probability .95, about, where the
/// threshold has its greatest value.
double distance_needed(const SessionTerms& terms, std::int64_t answers) {
    const double one = terms.epsilon_one.get_d();
    return std::log1p(std::expm1(one) / terms.delta.get_d()) / one +
           std::log(20 * static_cast<double>(answers)) / rate_of(terms).get_d();
}

}  // namespace

SessionTerms session_terms(const Rational& epsilon, const Rational& delta, std::int64_t refusals,
                           std::int64_t answers) {
    check(epsilon, delta, refusals, answers);
    constexpr int parts = 64;
    SessionTerms best;
    double least = 0;
    for (int part = 1; part < parts; ++part) {
        const Rational one = epsilon * part / parts;
        const SessionTerms terms{one, epsilon - one, delta, 0, refusals};
        const double distance = distance_needed(terms, answers);
        if (part > 1 && distance >= least) continue;
        least = distance;
        best = terms;
    }
    const std::vector<Integer> thresholds = threshold_table(best.epsilon_one, delta);
    if (thresholds.empty())
        throw Error(ExitCode::usage, "too small for a session: its threshold would pass every distance",
                    "give a larger epsilon, or answer by stable_rr", "epsilon");
    best.width = static_cast<std::int64_t>(thresholds.size()) - 1;
    return best;
}

SessionLaw::SessionLaw(const SessionTerms& terms) : terms_(terms) {
    const std::vector<Integer> thresholds = threshold_table(terms.epsilon_one, terms.delta);
    ensure(static_cast<std::int64_t>(thresholds.size()) == terms.width + 1, "terms come from session_terms");
    Integer sum = 0;
    for (std::size_t j = 0; j + 1 < thresholds.size(); ++j) {
        sum += thresholds[j];
        thresholds_.push_back(to_word(sum));
    }
    refusals_ = to_words(refusal_table(rate_of(terms)));
}

std::int64_t SessionLaw::draw_threshold(RandomBits& bits) const {
    const Word128 uniform = draw_128_bits(bits);
    std::int64_t threshold = 0;
    for (const Word128 below : thresholds_) threshold += uniform >= below ? 1 : 0;
    return threshold;
}

bool SessionLaw::draw_refusal(std::int64_t distance, std::int64_t threshold, RandomBits& bits) const {
    const bool chance =
        draw_128_bits(bits) < entry_at(refusals_, std::max<std::int64_t>(0, distance - threshold));
    return chance | (distance < threshold);
}

std::vector<Rational> SessionLaw::threshold_law() const {
    std::vector<Rational> law;
    Rational before = 0;
    for (const Word128 below : thresholds_) {
        law.push_back(fraction(below, 128) - before);
        before += law.back();
    }
    law.push_back(1 - before);
    return law;
}

Rational SessionLaw::refusal_law(std::int64_t distance, std::int64_t threshold) const {
    if (distance < threshold) return 1;
    return fraction(entry_at(refusals_, distance - threshold), 128);
}

double refusal_probability(const SessionTerms& terms, std::int64_t distance, std::int64_t threshold) {
    const double steps = static_cast<double>(std::max<std::int64_t>(0, distance - threshold + 1));
    return std::exp(-steps * rate_of(terms).get_d());
}

std::vector<double> width_law(const SessionTerms& terms) {
    std::vector<double> law;
    for (const Integer& entry : threshold_table(terms.epsilon_one, terms.delta))
        law.push_back(fraction(to_word(entry), 128).get_d());
    return law;
}

}  // namespace holdfast
