#pragma once

#include <cstdint>
#include <vector>

#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

// A session: any number of answers without noise for one payment, until so many were refused
// (models/privacy/mathematics.md, session). A threshold W in {0, …, width} is drawn once; a query of distance
// h draws X, geometric, and is answered with its label if h - X >= W, else refused.

/// What a session is opened with; public.
struct SessionTerms {
    Rational epsilon_one;    ///< for the threshold
    Rational epsilon_two;    ///< for all the refusals together
    Rational delta;          ///< P(W = 0) is no more
    std::int64_t width = 0;  ///< the greatest W
    std::int64_t refusals = 0;

    Rational epsilon() const { return epsilon_one + epsilon_two; }  ///< what it costs, beside delta
    bool operator==(const SessionTerms&) const = default;
};

inline constexpr std::int64_t usual_session_answers = 10000;

/// Of every claim on a session.
inline constexpr const char* unseen_threshold =
    "the threshold of the session stays in the ledger, unseen by whoever sees its answers";

/// Splits epsilon, in 64ths, so that the distance at which `answers` queries in a row are all answered with
/// probability .95 is least. Errors (ExitCode::usage), naming the option: epsilon not in (0, 1000], delta not
/// in [1e-30, 1), refusals not in [1, 1000000], answers not in [1, 10^15]; so small an epsilon that W would
/// have 65536 values or more.
SessionTerms session_terms(const Rational& epsilon, const Rational& delta, std::int64_t refusals,
                           std::int64_t answers = usual_session_answers);

/// The law as it is drawn: tables of integers over 2^128, built once from public terms.
class SessionLaw {
  public:
    explicit SessionLaw(const SessionTerms& terms);

    const SessionTerms& terms() const { return terms_; }
    /// The threshold. The same bits and work whatever comes of it.
    std::int64_t draw_threshold(RandomBits& bits) const;
    /// Is a query of distance h refused under a threshold? The same bits and work whatever both are.
    bool draw_refusal(std::int64_t distance, std::int64_t threshold, RandomBits& bits) const;

    std::vector<Rational> threshold_law() const;  ///< [width + 1]
    Rational refusal_law(std::int64_t distance, std::int64_t threshold) const;

  private:
    SessionTerms terms_;
    std::vector<Word128> thresholds_;  ///< [width]: 2^128 P(W <= j)
    std::vector<Word128> refusals_;    ///< 2^128 P(refused) at h - W = 0, 1, …; the last for all beyond
};

// The same in double precision, by their formulas, for what is expected of a session.

/// P(a query of distance h is refused | W = threshold) = min(1, e^(-(h - threshold + 1) epsilon_two/(2 c))).
double refusal_probability(const SessionTerms& terms, std::int64_t distance, std::int64_t threshold);
/// P(W = j). [width + 1]
std::vector<double> width_law(const SessionTerms& terms);

}  // namespace holdfast
