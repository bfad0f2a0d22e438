// What a whole session tells, exactly: every transcript of small sessions under every pair of neighbours.

#include "models/privacy/session/session_law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "kernels/base/error.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/session/batch_law.hpp"

namespace holdfast {
namespace session_law_test {

/// What a query looks like under one dataset.
struct Query {
    int label;
    std::int64_t distance;
};
using Queries = std::vector<Query>;

/// A law of sessions that may be wrong: thresholds, and the refusal of a distance under each.
struct Law {
    std::vector<Rational> thresholds;
    std::function<Rational(std::int64_t distance, std::int64_t threshold)> refusal;
    std::int64_t refusals;
};

Law law_of(const SessionTerms& terms) {
    const auto law = std::make_shared<SessionLaw>(terms);
    return {law->threshold_law(), [law](std::int64_t h, std::int64_t j) { return law->refusal_law(h, j); },
            terms.refusals};
}

/// The probability of every transcript: "0", "1", a label, or "r" for each query, until the session ends.
std::map<std::string, Rational> transcripts(const Law& law, const Queries& queries) {
    std::map<std::string, Rational> all;
    for (std::size_t j = 0; j < law.thresholds.size(); ++j) {
        std::map<std::string, Rational> now{{"", law.thresholds[j]}};
        for (const Query& query : queries) {
            const Rational refused = law.refusal(query.distance, static_cast<std::int64_t>(j));
            std::map<std::string, Rational> next;
            for (const auto& [text, p] : now) {
                if (std::count(text.begin(), text.end(), 'r') == law.refusals) {
                    next[text] += p;
                    continue;
                }
                next[text + "r"] += p * refused;
                next[text + std::to_string(query.label)] += p * (1 - refused);
            }
            now = std::move(next);
        }
        for (const auto& [text, p] : now) all[text] += p;
    }
    return all;
}

/// The least delta at epsilon, from above.
Rational delta_between(const std::map<std::string, Rational>& p, const std::map<std::string, Rational>& q,
                       const Rational& epsilon) {
    const Rational factor = exp_lower(epsilon);
    Rational delta = 0;
    for (const auto& [text, mass] : p) {
        const auto other = q.find(text);
        delta += std::max(Rational(0), other == q.end() ? mass : Rational(mass - factor * other->second));
    }
    return delta;
}

/// All that one query may be under two neighbours, with distances up to `most`.
std::vector<std::pair<Query, Query>> neighbouring(std::int64_t most) {
    std::vector<std::pair<Query, Query>> pairs{{{0, 0}, {1, 0}}};
    for (std::int64_t h = 0; h <= most; ++h) {
        pairs.push_back({{0, h}, {0, h}});
        pairs.push_back({{0, h}, {0, h + 1}});
        pairs.push_back({{0, h + 1}, {0, h}});
    }
    return pairs;
}

/// The worst delta at epsilon of `length` queries, of all neighbours.
Rational worst_delta(const Law& law, std::size_t length, std::int64_t most, const Rational& epsilon) {
    const auto pairs = neighbouring(most);
    std::vector<std::size_t> choice(length, 0);
    Rational worst = 0;
    for (;;) {
        Queries here, there;
        for (const std::size_t i : choice) {
            here.push_back(pairs[i].first);
            there.push_back(pairs[i].second);
        }
        worst = std::max(worst, delta_between(transcripts(law, here), transcripts(law, there), epsilon));
        std::size_t place = 0;
        while (place < length && ++choice[place] == pairs.size()) choice[place++] = 0;
        if (place == length) return worst;
    }
}

Rational number(const char* text) {
    return parse_rational(text, "test");
}

TEST(Session, NoTranscriptTellsNeighboursApartBeyondItsPrice) {
    for (const char* epsilon : {"1", "3"}) {
        for (const char* delta : {"0.01", "0.2"}) {
            for (const std::int64_t refusals : {1, 2, 3}) {
                const SessionTerms terms = session_terms(number(epsilon), number(delta), refusals, 2);
                ASSERT_EQ(terms.epsilon(), number(epsilon));
                const Law law = law_of(terms);
                // As deep as the threshold reaches, and a little beyond.
                for (const auto& [length, most] :
                     {std::pair{1, std::int64_t{40}}, std::pair{2, std::int64_t{6}},
                      std::pair{3, std::int64_t{2}}})
                    ASSERT_LE(worst_delta(law, static_cast<std::size_t>(length), most, terms.epsilon()),
                              terms.delta)
                        << epsilon << " " << delta << " c " << refusals << " length " << length;
            }
        }
    }
}

TEST(Session, FourQueriesNearTheBoundaryStayWithinThePrice) {
    const SessionTerms terms = session_terms(2, number("0.3"), 2, 1);
    ASSERT_LE(worst_delta(law_of(terms), 4, 0, terms.epsilon()), terms.delta);
}

TEST(Session, DeltaIsSpentWhole) {
    // A label that differs at distance 0 is answered only under the threshold 0.
    const SessionTerms terms = session_terms(1, number("0.2"), 1, 2);
    const Law law = law_of(terms);
    EXPECT_GE(law.thresholds[0], number("0.2") - Rational(1, power_of_two(127)));
    const Queries here(40, {0, 0}), there(40, {1, 0});
    EXPECT_GT(delta_between(transcripts(law, here), transcripts(law, there), 0), 0);
}

/// Answers that pin the threshold from above where a neighbour's distance is less by one, then refusals where
/// it is more by one: both steps of the proof at their worst. Over all places of the two up to `most`.
Rational worst_of_pinning(const Law& law, std::size_t answers, std::int64_t most, const Rational& epsilon) {
    Rational worst = 0;
    for (std::int64_t a = 1; a <= most; ++a) {
        for (std::int64_t b = 0; b <= most; ++b) {
            Queries here(answers, {0, a}), there(answers, {0, a - 1});
            here.insert(here.end(), static_cast<std::size_t>(law.refusals), {0, b});
            there.insert(there.end(), static_cast<std::size_t>(law.refusals), {0, b + 1});
            worst = std::max(worst, delta_between(transcripts(law, here), transcripts(law, there), epsilon));
        }
    }
    return worst;
}

TEST(Session, AThresholdThatIsTooNarrowIsFound) {
    const SessionTerms terms = session_terms(3, number("0.01"), 1, 2);
    Law law = law_of(terms);
    ASSERT_LE(worst_delta(law, 1, 3, terms.epsilon()), terms.delta);
    law.thresholds.erase(law.thresholds.begin());  // the next is P(W = 0)
    Rational sum = 0;
    for (const Rational& p : law.thresholds) sum += p;
    for (Rational& p : law.thresholds) p /= sum;
    EXPECT_GT(worst_delta(law, 1, 3, terms.epsilon()), terms.delta);
}

TEST(Session, NoiseOfHalfTheScaleIsFound) {
    for (const std::int64_t refusals : {1, 2}) {
        const SessionTerms terms = session_terms(8, number("1e-4"), refusals, 2);
        Law law = law_of(terms);
        ASSERT_LE(worst_of_pinning(law, 3, terms.width + 3, terms.epsilon()), terms.delta) << refusals;
        const auto right = law.refusal;
        law.refusal = [right](std::int64_t h, std::int64_t j) { return Rational(right(h, j) * right(h, j)); };
        EXPECT_GT(worst_of_pinning(law, 3, terms.width + 3, terms.epsilon()), terms.delta) << refusals;
    }
}

TEST(Session, OneRefusalMoreThanWasPaidForIsFound) {
    const SessionTerms terms = session_terms(3, number("0.01"), 1, 2);
    Law law = law_of(terms);
    law.refusals = 3;
    EXPECT_GT(worst_delta(law, 3, 4, terms.epsilon()), terms.delta);
}

TEST(Session, TablesKeepEveryRatioToTheLastBit) {
    const SessionTerms terms = session_terms(number("0.7"), number("1e-9"), 3);
    const SessionLaw law(terms);
    const std::vector<Rational> thresholds = law.threshold_law();
    ASSERT_EQ(thresholds.size(), static_cast<std::size_t>(terms.width) + 1);
    EXPECT_LE(thresholds[0], terms.delta);
    Rational sum = thresholds[0];
    for (std::size_t j = 1; j < thresholds.size(); ++j) {
        EXPECT_LE(thresholds[j], exp_lower(terms.epsilon_one) * thresholds[j - 1]) << j;
        sum += thresholds[j];
    }
    EXPECT_EQ(sum, 1);
    const Rational factor = exp_lower(terms.epsilon_two / (2 * as_rational(terms.refusals)));
    for (std::int64_t h = 0; h < 1200; ++h) {
        EXPECT_LE(law.refusal_law(h, 5), factor * law.refusal_law(h + 1, 5)) << h;
        EXPECT_GE(law.refusal_law(h, 5), law.refusal_law(h + 1, 5)) << h;
    }
    EXPECT_EQ(law.refusal_law(4, 5), 1);
    EXPECT_GT(law.refusal_law(1200, 0), 0);
}

TEST(Session, FormulasAreThoseOfTheTables) {
    const SessionTerms terms = session_terms(1, number("1e-6"), 2);
    const SessionLaw law(terms);
    for (const std::int64_t h : {0, 3, 20, 60})
        for (const std::int64_t j : {0, 2, 20, 36})
            EXPECT_NEAR(refusal_probability(terms, h, j), law.refusal_law(h, j).get_d(), 1e-12);
    double sum = 0;
    for (const double p : width_law(terms)) sum += p;
    EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Session, AMillionAnswersNeedTheDistanceThatWasPublished) {
    // Section 12: h = 86 suffices at epsilon 1, delta 1e-6, one refusal.
    const SessionTerms terms = session_terms(1, number("1e-6"), 1, 1000000);
    const auto all_answered = [&](std::int64_t h) {
        const std::vector<double> widths = width_law(terms);
        double p = 0;
        for (std::size_t j = 0; j < widths.size(); ++j)
            p += widths[j] *
                 std::exp(1e6 * std::log1p(-refusal_probability(terms, h, static_cast<std::int64_t>(j))));
        return p;
    };
    EXPECT_GE(all_answered(86), 0.95);
    EXPECT_LT(all_answered(80), 0.95);
}

/// Bits that are given: words of 64, the least significant first.
class GivenBits final : public RandomBits {
  public:
    explicit GivenBits(Word128 word) : word_(word) {}
    void fill(std::span<std::byte> bytes) override {
        ASSERT_EQ(bytes.size(), 16U);
        for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(word_ >> 8 * i);
        drawn += 16;
    }
    int drawn = 0;

  private:
    Word128 word_;
};

TEST(Session, DrawsExactlyItsTables) {
    const SessionTerms terms = session_terms(1, number("0.01"), 1, 2);
    const SessionLaw law(terms);
    Rational below = 0;
    for (std::size_t j = 0; j < law.threshold_law().size(); ++j) {
        const Rational scaled = below * Rational(power_of_two(128));
        GivenBits first(to_word(Integer(scaled.get_num())));
        EXPECT_EQ(law.draw_threshold(first), static_cast<std::int64_t>(j));
        if (j > 0) {
            GivenBits last(to_word(Integer(scaled.get_num() - 1)));
            EXPECT_EQ(law.draw_threshold(last), static_cast<std::int64_t>(j) - 1);
        }
        below += law.threshold_law()[j];
    }
    for (const std::int64_t h : {3, 4, 9}) {
        const Rational edge = law.refusal_law(h, 3) * Rational(power_of_two(128));
        GivenBits inside(to_word(Integer(edge.get_num() - 1))), outside(to_word(Integer(edge.get_num())));
        EXPECT_TRUE(law.draw_refusal(h, 3, inside));
        EXPECT_FALSE(law.draw_refusal(h, 3, outside));
    }
    GivenBits largest(~Word128{0});
    EXPECT_TRUE(law.draw_refusal(2, 3, largest));  // the same bits are taken where nothing is left to chance
    EXPECT_EQ(largest.drawn, 16);
}

TEST(Session, WhatNoSessionCanHaveIsRefusedByName) {
    const auto where = [](const char* epsilon, const char* delta, std::int64_t refusals,
                          std::int64_t answers) {
        try {
            session_terms(number(epsilon), number(delta), refusals, answers);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            return error.where();
        }
        return std::string("nothing");
    };
    EXPECT_EQ(where("0", "1e-6", 1, 1), "epsilon");
    EXPECT_EQ(where("1001", "1e-6", 1, 1), "epsilon");
    EXPECT_EQ(where("1", "0", 1, 1), "delta");
    EXPECT_EQ(where("1", "1", 1, 1), "delta");
    EXPECT_EQ(where("1", "1e-31", 1, 1), "delta");
    EXPECT_EQ(where("1", "1e-6", 0, 1), "refusals");
    EXPECT_EQ(where("1", "1e-6", 1, 0), "answers");
    EXPECT_EQ(where("1e-5", "1e-6", 1, 1), "epsilon");
    EXPECT_EQ(where("1000", "1e-30", 1000000, 1), "nothing");
}

TEST(Batch, PassesAsProposeTestReleaseDoes) {
    for (const double epsilon : {0.1, 1.0}) {
        for (const double delta : {1e-6, 0.2}) {
            const Mechanism mechanism("ptr", {epsilon, delta, 2, 300, 0});
            for (const std::int64_t h : {0, 1, 5, 40, 150, 300}) {
                Evidence evidence;
                evidence.distance = h;
                EXPECT_NEAR(mechanism.exact_law(evidence)[0].get_d(),
                            batch_passes(mechanism.epsilon(), mechanism.delta(), h), 1e-9);
            }
        }
    }
}

// The least distance of a file: all labels or none, under every pair of neighbouring files of two queries.
TEST(Batch, AFileAtOnceCostsOneAnswer) {
    const Mechanism mechanism("ptr", {1, 0.05, 2, 20, 0});
    const auto law = [&](const Queries& queries) {
        Evidence evidence;
        std::string labels;
        evidence.distance = 20;
        for (const Query& query : queries) {
            evidence.distance = std::min(evidence.distance, query.distance);
            labels += std::to_string(query.label);
        }
        const std::vector<Rational> exact = mechanism.exact_law(evidence);
        return std::map<std::string, Rational>{{labels, exact[0]}, {"r", exact[2]}};
    };
    Rational worst = 0;
    for (const auto& a : neighbouring(12))
        for (const auto& b : neighbouring(12))
            worst = std::max(worst, delta_between(law({a.first, b.first}), law({a.second, b.second}), 1));
    EXPECT_LE(worst, mechanism.delta());
    EXPECT_GE(worst, mechanism.delta() / 2);
}

}  // namespace session_law_test
}  // namespace holdfast
