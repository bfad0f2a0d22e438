// Columns chosen from private records: what a person more moves, the exact law of a draw on every pair of
// neighbouring scores, what is drawn against that law, and choices that would cost more
// (models/privacy/mathematics.md, chosen columns).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/measure/feature_selection.hpp"
#include "models/privacy/mechanisms/class_weights.hpp"
#include "models/privacy/mechanisms/products.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast::feature_selection_test {
namespace {

using test::SeededBits;
using Scores = std::vector<std::int64_t>;

/// Of one pick, exactly: theorem permute and flip, each column arriving at a uniform time.
std::vector<Rational> law_of(const Scores& scores, const ProbabilityTable& table) {
    const std::int64_t greatest = *std::max_element(scores.begin(), scores.end());
    std::vector<Rational> accepts, slopes;
    for (const std::int64_t score : scores) {
        accepts.push_back(fraction(entry_at(table, greatest - score), weight_bits));
        slopes.push_back(-accepts.back());
    }
    const std::vector<Rational> ones(scores.size(), 1);
    std::vector<Rational> law;
    for (std::size_t j = 0; j < scores.size(); ++j)
        law.push_back(accepts[j] * integral_of_product(ones, slopes, j));
    return law;
}

/// The greatest ratio of probabilities over all outcomes, either way.
Rational worst_ratio(const std::vector<Rational>& one, const std::vector<Rational>& other) {
    Rational worst = 1;
    for (std::size_t j = 0; j < one.size(); ++j)
        worst = std::max({worst, Rational(one[j] / other[j]), Rational(other[j] / one[j])});
    return worst;
}

/// Visits every vector of `size` numbers in [0, below).
template <typename Visit>
void for_each_vector(std::size_t size, std::int64_t below, Visit visit) {
    Scores values(size, 0);
    for (;;) {
        visit(values);
        std::size_t at = 0;
        while (at < size && ++values[at] == below) values[at++] = 0;
        if (at == size) return;
    }
}

Scores plus(Scores scores, const Scores& more, std::int64_t sign = 1) {
    for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += sign * more[i];
    return scores;
}

TEST(ChosenColumns, APickIsPrivateAtItsRateOnAllNeighbours) {
    for (const double rate : {0.05, 0.5, 2.0}) {
        const Rational epsilon = decimal_value(rate, "");
        const ProbabilityTable table = exponential_weights(epsilon, longest_table);
        const Rational bound = exp_lower(epsilon);
        for (const std::size_t columns : {2, 3, 4}) {
            for_each_vector(columns, 4, [&](const Scores& scores) {
                const std::vector<Rational> law = law_of(scores, table);
                EXPECT_EQ(std::accumulate(law.begin(), law.end(), Rational(0)), 1);
                for_each_vector(columns, 2, [&](const Scores& person) {
                    EXPECT_LE(worst_ratio(law, law_of(plus(scores, person), table)), bound);
                });
            });
        }
    }
}

TEST(ChosenColumns, FarBehindTheTableEndsAndPrivacyDoesNot) {
    const ProbabilityTable table = exponential_weights(Rational(3), longest_table);
    const Rational bound = exp_lower(Rational(3));
    const Scores scores{1000000, 40, 0, 999960};
    for_each_vector(4, 2, [&](const Scores& person) {
        EXPECT_LE(worst_ratio(law_of(scores, table), law_of(plus(scores, person), table)), bound);
    });
}

/// What others might do: scores that a person moves by 1 either way.
TEST(WrongChoices, ScoresThatAPersonMovesEitherWayCostTwice) {
    const Rational epsilon(1, 2);
    const ProbabilityTable table = exponential_weights(epsilon, longest_table);
    Rational worst = 1;
    for_each_vector(3, 12, [&](const Scores& scores) {
        worst = std::max(worst, worst_ratio(law_of(scores, table), law_of(plus(scores, {1, -1, -1}), table)));
    });
    EXPECT_GT(worst, exp_upper(Rational(9, 10)));
    EXPECT_LE(worst, exp_upper(Rational(1)));
}

TEST(ChosenColumns, WhatIsDrawnHasThatLaw) {
    const FeatureRequest request{.columns = 5, .chosen = 1};
    const FeatureLaw law = FeatureLaw::within_epsilon(request, 1);
    const Scores scores{3, 5, 0, 5, 4};
    const std::vector<Rational> expected =
        law_of(scores, exponential_weights(decimal_value(law.rate, ""), longest_table));
    SeededBits bits(7);
    constexpr int draws = 20000;
    std::vector<int> counts(scores.size());
    for (int i = 0; i < draws; ++i) ++counts[draw_features(scores, 1, law, bits).front()];
    double chi = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
        const double mean = draws * expected[j].get_d();
        chi += std::pow(counts[j] - mean, 2) / mean;
    }
    EXPECT_LT(chi, 24);  // four degrees of freedom: one in 12000 is beyond
}

TEST(ChosenColumns, SeveralAreDifferentAndTheBestWhereTheyStandApart) {
    const FeatureRequest request{.columns = 6, .chosen = 3};
    const FeatureLaw law = FeatureLaw::within_epsilon(request, 4);
    SeededBits bits(8);
    EXPECT_EQ(draw_features({10, 900, 20, 800, 30, 700}, 3, law, bits), (std::vector<std::size_t>{1, 3, 5}));
    for (int i = 0; i < 200; ++i) {
        const std::vector<std::size_t> found = draw_features({1, 1, 1, 1, 1, 1}, 3, law, bits);
        EXPECT_EQ(found.size(), 3U);
        EXPECT_TRUE(std::adjacent_find(found.begin(), found.end(), std::greater_equal<>()) == found.end());
    }
}

// Scores ---------------------------------------------------------------------------------------------------

struct Row {
    std::size_t bin, label;
};
using Person = std::vector<Row>;  ///< one row or more

/// The definition, in plain loops over fractions: of each bin the part of the most frequent label, persons
/// rounded up.
std::int64_t plain_score(const std::vector<Person>& persons, const std::vector<std::int64_t>& weights,
                         std::size_t bins) {
    Rational sum = 0;
    for (std::size_t bin = 0; bin < bins; ++bin) {
        Rational most = 0;
        for (std::size_t label = 0; label < weights.size(); ++label) {
            Rational of_label = 0;
            for (const Person& person : persons) {
                for (const Row& row : person) {
                    const Rational whole = as_rational(part_of(whole_person, row_weight(person.size())));
                    if (row.bin == bin && row.label == label)
                        of_label += as_rational(
                            floor(whole * as_rational(weights[label]) / as_rational(whole_person)).get_si());
                }
            }
            most = std::max(most, of_label);
        }
        sum += most;
    }
    return ceil(sum / as_rational(whole_person)).get_si();
}

std::int64_t score_of(const std::vector<Person>& persons, const std::vector<std::int64_t>& weights,
                      std::size_t bins) {
    LabelCounts counts(bins, weights.size());
    for (const Person& person : persons) {
        const std::int64_t share = part_of(whole_person, row_weight(person.size()));
        for (const Row& row : person)
            counts.add(row.bin, row.label, share * weights[row.label] / whole_person);
    }
    return counts.score();
}

TEST(ChosenColumns, APersonMoreRaisesAScoreByNothingOrOne) {
    std::mt19937_64 random(3);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    std::map<std::int64_t, int> moves;
    for (int trial = 0; trial < 3000; ++trial) {
        const std::size_t bins = 1 + below(4), classes = 2 + below(2);
        std::vector<std::int64_t> weights(classes, whole_person);
        for (std::int64_t& weight : weights)
            if (below(2) == 0) weight = static_cast<std::int64_t>(below(65537));
        const auto person = [&] {
            Person rows(1 + below(3));
            for (Row& row : rows) row = {below(bins), below(classes)};
            return rows;
        };
        std::vector<Person> persons(below(7));
        for (Person& one : persons) one = person();
        const std::int64_t before = score_of(persons, weights, bins);
        EXPECT_EQ(before, plain_score(persons, weights, bins));
        persons.push_back(person());
        const std::int64_t moved = score_of(persons, weights, bins) - before;
        ++moves[moved];
        EXPECT_TRUE(moved == 0 || moved == 1) << moved;
    }
    EXPECT_EQ(moves.size(), 2U);
}

// Costs ----------------------------------------------------------------------------------------------------

TEST(ChosenColumns, CostWhatTheyWereAllowedAndHardlyLess) {
    for (const char* relation : {"add_remove", "substitute"}) {
        for (const std::size_t chosen : {1, 20}) {
            const FeatureRequest request{relation, 40, chosen, 2};
            const Rational reach = std::string(relation) == "substitute" ? 2 : 1,
                           draws = as_rational(static_cast<std::int64_t>(chosen) + 1);
            const FeatureLaw pure = FeatureLaw::within_epsilon(request, Rational(1, 10));
            EXPECT_EQ(pure.epsilon, draws * reach * decimal_value(pure.rate, ""));
            EXPECT_LE(pure.epsilon, Rational(1, 10));
            EXPECT_GT(pure.epsilon, Rational(999999, 10000000));
            const FeatureLaw gaussian = FeatureLaw::within_mu_squared(request, Rational(7, 1000));
            const Rational mu = gaussian_mu_of_pure(reach * decimal_value(gaussian.rate, ""));
            EXPECT_EQ(gaussian.mu_squared, draws * mu * mu);
            EXPECT_LE(gaussian.mu_squared, Rational(7, 1000));
            EXPECT_GT(gaussian.mu_squared, Rational(69999, 10000000));
            // As the design has it: mu = 1.253 sqrt(k) e for small e.
            EXPECT_NEAR(std::sqrt(gaussian.mu_squared.get_d()) /
                            (reach.get_d() * gaussian.rate * std::sqrt(draws.get_d())),
                        1.2533, 1e-3);
            const Payment payment = payment_for(request, gaussian, "");
            EXPECT_EQ(payment.delta, 0);
            EXPECT_EQ(payment.epsilon, gaussian.epsilon);
            EXPECT_EQ(*payment.mu_squared, gaussian.mu_squared);
        }
    }
    EXPECT_THROW(FeatureLaw::within_epsilon({.columns = 3, .chosen = 1}, Rational(1, 10000000000)), Error);
}

TEST(ChosenColumns, LabelsCountAlikeWhateverTheirPersons) {
    const FeatureLaw law = FeatureLaw::within_epsilon({.columns = 3, .chosen = 1}, 2);
    SeededBits bits(9);
    const std::vector<std::int64_t> weights =
        draw_label_weights({90000 * whole_person, 10000 * whole_person, 0}, law, bits);
    EXPECT_NEAR(static_cast<double>(weights[0]) * 9, static_cast<double>(weights[1]), 100);
    EXPECT_EQ(weights[2], whole_person);  // none at all count as the few that noise would hide
    // The noise is discrete Laplace of 1/rate persons: what a weight is made of moves by it.
    double squares = 0;
    constexpr int draws = 4000;
    for (int i = 0; i < draws; ++i) {
        const std::vector<std::int64_t> two =
            draw_label_weights({100 * whole_person, 20000 * whole_person}, law, bits);
        const double count = static_cast<double>(two[1]) / whole_person * 20000;
        squares += std::pow(count - 100, 2);
    }
    EXPECT_NEAR(squares / draws, 2 / (law.rate * law.rate), 0.3 / (law.rate * law.rate));
}

}  // namespace
}  // namespace holdfast::feature_selection_test
