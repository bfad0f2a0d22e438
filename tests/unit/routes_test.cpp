// What is expected of a route, held against the plain enumeration of what may happen.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/composition.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/routes/answers_route.hpp"
#include "models/privacy/routes/batch_route.hpp"
#include "models/privacy/routes/session_route.hpp"
#include "models/privacy/session/batch_law.hpp"

namespace holdfast {
namespace routes_test {

/// P(fewer than c successes in so many trials), success by success.
double fewer(double p, std::int64_t c, std::int64_t trials) {
    std::vector<double> counts(static_cast<std::size_t>(c), 0.0);
    counts[0] = 1;
    for (std::int64_t t = 0; t < trials; ++t) {
        for (std::size_t k = counts.size(); k-- > 0;)
            counts[k] = counts[k] * (1 - p) + (k > 0 ? counts[k - 1] * p : 0);
    }
    double sum = 0;
    for (const double each : counts) sum += each;
    return sum;
}

TEST(SessionRoute, ExpectedTrialsAreThoseOfEachTrialAlone) {
    for (const double p : {0.0, 1e-9, 0.01, 0.3, 0.5, 0.97, 1.0}) {
        for (const std::int64_t c : {1, 2, 3, 7, 20}) {
            double expected = 0;
            for (const std::int64_t most : {1, 2, 3, 7, 19, 20, 21, 200}) {
                expected = 0;
                for (std::int64_t before = 0; before < most; ++before) expected += fewer(p, c, before);
                EXPECT_NEAR(expected_trials(p, c, most), expected, 1e-11 * expected)
                    << p << " " << c << " " << most;
            }
        }
    }
}

TEST(SessionRoute, ExpectedTrialsOfAMillion) {
    // One refusal: a geometric law. Many: c/p, until the number of trials ends it.
    for (const double p : {1e-15, 1e-7, 1e-4, 0.5}) {
        const double geometric = -std::expm1(1e6 * std::log1p(-p)) / p;
        EXPECT_NEAR(expected_trials(p, 1, 1000000), geometric, 1e-9 * geometric) << p;
    }
    EXPECT_NEAR(expected_trials(0.01, 1000, 1000000), 100000, 1e-3);
    EXPECT_NEAR(expected_trials(1e-5, 1000, 1000000), 1000000, 1e-3);
}

/// Rows of a table of queries: a distance, and is the label right?
struct Row {
    std::int64_t distance;
    bool right;
};

std::vector<DistanceShare> shares_of(const std::vector<Row>& rows) {
    std::vector<std::int32_t> truth(rows.size(), 1);
    std::vector<Evidence> evidence;
    for (const Row& row : rows) {
        Evidence& query = evidence.emplace_back();
        query.label = row.right ? 1 : 0;
        query.distance = row.distance;
    }
    EvidenceTable table(2, truth);
    table.add_model(evidence);
    return distance_shares(table, 0);
}

/// Calls visit(queries) for every sequence of so many rows, all equally likely.
void each_sequence(const std::vector<Row>& rows, std::size_t answers,
                   const std::function<void(const std::vector<Row>&)>& visit) {
    std::vector<Row> queries;
    const std::function<void()> extend = [&] {
        if (queries.size() == answers) return visit(queries);
        for (const Row& row : rows) {
            queries.push_back(row);
            extend();
            queries.pop_back();
        }
    };
    extend();
}

const std::vector<std::vector<Row>> tables = {
    {{0, true}},
    {{0, false}, {2, true}, {9, true}},
    {{3, true}, {3, false}, {4, true}, {40, false}, {40, true}},
};

/// Expected right answers among the queries from `next` on, refusal by refusal.
double right_from(const std::vector<Row>& queries, std::size_t next, std::int64_t left,
                  const SessionTerms& terms, std::int64_t threshold) {
    if (next == queries.size() || left == 0) return 0;
    const double refused = refusal_probability(terms, queries[next].distance, threshold);
    return refused * right_from(queries, next + 1, left - 1, terms, threshold) +
           (1 - refused) * (queries[next].right + right_from(queries, next + 1, left, terms, threshold));
}

TEST(SessionRoute, AccuracyIsThatOfEverySequenceOfQueries) {
    for (const auto& rows : tables) {
        for (const std::int64_t refusals : {1, 2, 3}) {
            for (const std::int64_t answers : {1, 2, 4}) {
                const SessionTerms terms = session_terms(3, Rational(1, 50), refusals, answers);
                const std::vector<double> widths = width_law(terms);
                double expected = 0, sequences = 0;
                each_sequence(rows, static_cast<std::size_t>(answers), [&](const std::vector<Row>& queries) {
                    for (std::size_t w = 0; w < widths.size(); ++w)
                        expected +=
                            widths[w] * right_from(queries, 0, refusals, terms, static_cast<std::int64_t>(w));
                    sequences += 1;
                });
                EXPECT_NEAR(session_accuracy(shares_of(rows), terms, answers),
                            expected / sequences / static_cast<double>(answers), 1e-12)
                    << refusals << " " << answers;
            }
        }
    }
}

TEST(BatchRoute, AccuracyIsThatOfEverySequenceOfQueries) {
    const Rational epsilon(1, 2), delta(1, 20);
    for (const auto& rows : tables) {
        for (const std::size_t answers : {1U, 2U, 3U, 5U}) {
            double expected = 0, sequences = 0;
            each_sequence(rows, answers, [&](const std::vector<Row>& queries) {
                std::int64_t least = queries.front().distance, right = 0;
                for (const Row& query : queries) {
                    least = std::min(least, query.distance);
                    right += query.right;
                }
                expected += batch_passes(epsilon, delta, least) * static_cast<double>(right);
                sequences += 1;
            });
            EXPECT_NEAR(batch_accuracy(shares_of(rows), epsilon, delta, static_cast<std::int64_t>(answers)),
                        expected / sequences / static_cast<double>(answers), 1e-12)
                << answers;
        }
    }
}

TEST(AnswersRoute, SharesAddUpToNoMoreThanTheBudgetAndNearlyAllOfIt) {
    for (const Rational& epsilon : {Rational(1, 10), Rational(1), Rational(7, 3)}) {
        for (const Rational& delta : {Rational(1, 100000), Rational(1, 3)}) {
            for (const std::int64_t answers : {1, 2, 5, 6, 14, 15, 29, 1000}) {
                const AnswerShares shares(epsilon, delta, answers);
                const auto decimal = [](double value) { return decimal_value(value, "share"); };
                const Rational pure = least_composition(decimal(shares.pure_epsilon), answers, delta);
                EXPECT_LE(pure, epsilon);
                EXPECT_GT(pure * 1001 / 1000, epsilon);
                EXPECT_LE(decimal(shares.epsilon_each) * as_rational(answers), epsilon);
                EXPECT_LE(decimal(shares.delta_each) * as_rational(answers), delta);
                EXPECT_NEAR(shares.epsilon_each * static_cast<double>(answers), epsilon.get_d(), 1e-12);
                EXPECT_NEAR(shares.delta_each * static_cast<double>(answers), delta.get_d(), 1e-12);
                const Rational mu = gaussian_mu(epsilon, delta), each = decimal(shares.mu);
                EXPECT_LE(each * each * as_rational(answers), mu * mu);
                EXPECT_NEAR(shares.mu * std::sqrt(static_cast<double>(answers)), mu.get_d(), 1e-12);
            }
        }
    }
}

/// Two models of two classes, and three queries.
struct AnswersRoutes : testing::Test {
    AnswersRoutes() {
        for (const int sign : {0, 1}) {
            std::vector<Evidence> model(3);
            for (int q = 0; q < 3; ++q) {
                Evidence& query = model[static_cast<std::size_t>(q)];
                query.label = (q + sign) % 2;
                query.distance = 10 * q + sign;
                query.class_distances = {query.distance + 1, query.distance + 1};
                query.class_distances[static_cast<std::size_t>(query.label)] = 0;
                query.votes = {2 + q, 3 - q};
            }
            models.push_back(model);
            table.add_model(model);
        }
        sizes.cap = 40;
        sizes.members = 5;
    }
    std::vector<std::vector<Evidence>> models;
    std::vector<std::int32_t> truth{0, 1, 1};
    EvidenceTable table{2, truth};
    MechanismParameters sizes;
    MadeMechanisms made;
};

TEST_F(AnswersRoutes, AccuracyIsTheMeanOfWhatWouldBeDrawnAtTheShare) {
    const AnswerShares shares(2, Rational(1, 1000), 5);
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.releasable()) continue;
        const AnswersFigure figure = answers_accuracy(info, sizes, table, shares, made);
        MechanismParameters parameters = sizes;
        parameters.epsilon = figure.epsilon;
        parameters.delta = figure.delta;
        parameters.mu = figure.mu;
        const Mechanism mechanism(info.name, parameters);
        double expected = 0;
        for (const auto& model : models) {
            for (std::size_t q = 0; q < model.size(); ++q)
                expected += mechanism.law(model[q])[static_cast<std::size_t>(truth[q])] / 6;
        }
        EXPECT_NEAR(figure.accuracy, expected, 1e-14) << info.name;
        EXPECT_EQ(figure.mu > 0, info.gaussian) << info.name;
        EXPECT_EQ(figure.delta > 0 && !info.takes_delta, false) << info.name;
    }
}

TEST_F(AnswersRoutes, AnswerNothingWhereTheBudgetDoesNotReach) {
    const AnswerShares shares(Rational(1, 1000000), parse_rational("1e-30", "delta"), 1000);
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.releasable()) continue;
        EXPECT_EQ(answers_accuracy(info, sizes, table, shares, made).accuracy, 0) << info.name;
    }
}

}  // namespace routes_test
}  // namespace holdfast
