// Retrains convex models on neighbours, random and made to hurt: never beyond the public radius, and all of
// it reached (models/mathematics.md, convex radius; models/mathematics.md, convex distance).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/base/error.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/person_answers.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/convex/convex_distances.hpp"
#include "models/convex/mapped_length.hpp"
#include "models/convex/radius.hpp"
#include "tests/support/convex_runs.hpp"
#include "tests/support/effort.hpp"

namespace holdfast {
namespace {

using test::ConvexRuns;
using Parameters = std::vector<std::int64_t>;

/// A problem drawn from a seed: settings at or near the longest steps allowed, and records, some of them at
/// the ends of the range, of one direction, or on top of each other.
class Problem {
  public:
    explicit Problem(std::uint64_t seed) : engine_(seed), columns_(1 + draw(4)), settings_(settings()) {
        const std::size_t count = draw(4) == 0 ? draw(60) : draw(10);
        records_ = test::no_records(columns_);
        for (std::size_t i = 0; i < count; ++i) test::append(records_, id(), row(), label());
    }

    const Settings& settings_of() const { return settings_; }
    std::size_t columns() const { return columns_; }
    const Records& records() const { return records_; }

    /// The records with one more, one gone, or one replaced.
    Records neighbour() {
        const bool more = records_.size() == 0 || draw(2) == 0;
        if (settings_.certificate.relation != Relation::substitute)
            return more ? with_one_more() : without_one();
        Records changed = test::no_records(columns_);
        const std::size_t which = records_.size() == 0 ? 0 : draw(records_.size());
        for (std::size_t i = 0; i < records_.size(); ++i)
            test::append(changed, records_.ids[i], i == which ? row() : row_of(i),
                         i == which ? label() : records_.labels[i]);
        return changed;
    }
    Records queries(std::size_t count) {
        Records queries = test::no_records(columns_);
        for (std::size_t i = 0; i < count; ++i) test::append(queries, i, row(), 0);
        return queries;
    }

  private:
    std::size_t draw(std::size_t below) { return engine_() % below; }
    double real(double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(engine_);
    }
    std::uint64_t id() { return engine_(); }
    std::int32_t label() {
        return static_cast<std::int32_t>(draw(static_cast<std::size_t>(settings_.network.classes)));
    }
    std::vector<double> row() {
        std::vector<double> values;
        const std::size_t kind = draw(5);
        for (std::size_t j = 0; j < columns_; ++j) {
            const double end = draw(2) == 0 ? -1 : 1;
            values.push_back(kind == 0   ? 1
                             : kind == 1 ? end
                             : kind == 2 ? end * 1e300
                             : kind == 3 ? end * 1e-310
                                         : real(-1, 1));
        }
        return values;
    }
    std::vector<double> row_of(std::size_t record) const {
        std::vector<double> values;
        for (std::size_t j = 0; j < columns_; ++j) values.push_back(records_.features.at(record, j));
        return values;
    }
    Records with_one_more() {
        Records more = records_;
        test::append(more, id(), row(), label());
        return more;
    }
    Records without_one() {
        Records fewer = test::no_records(columns_);
        const std::size_t which = draw(records_.size());
        for (std::size_t i = 0; i < records_.size(); ++i) {
            if (i != which) test::append(fewer, records_.ids[i], row_of(i), records_.labels[i]);
        }
        return fewer;
    }
    Settings settings() {
        const char* losses[] = {"binary_cross_entropy", "huber", "cross_entropy", "one_vs_rest"};
        const std::size_t loss = draw(4);
        Settings chosen =
            test::convex_settings(loss < 2 ? 2 : static_cast<std::int64_t>(2 + draw(3)), losses[loss]);
        chosen.training.epochs = static_cast<std::int64_t>(1 + draw(4));
        chosen.training.batches = static_cast<std::int64_t>(1 + draw(3));
        chosen.training.expected_records = static_cast<std::int64_t>(1 + draw(20));
        chosen.training.seed = static_cast<std::int64_t>(draw(1000));
        if (draw(2) == 0) chosen.training.l2 = real(0, 0.5);
        if (draw(3) == 0) chosen.training.learning_rate_decay = real(0, 2);
        if (draw(3) == 0) chosen.convex.l1 = real(0, 0.1);
        if (draw(3) == 0) chosen.convex.box = real(0.01, 1);
        if (draw(3) == 0) chosen.convex.average = real(0, 1);
        if (draw(2) == 0) chosen.convex.most_records = static_cast<std::int64_t>(1 + draw(12));
        if (loss != 2 && draw(2) == 0) chosen.convex.derivative_limit = real(0.01, 1);
        const Relation relations[] = {Relation::add_remove, Relation::substitute, Relation::remove};
        chosen.certificate.relation = relations[draw(3)];
        const ConvexBounds bounds(chosen, ConvexRuns(chosen, columns_).plan.features);
        chosen.training.learning_rate = bounds.largest_learning_rate() * (draw(2) == 0 ? 1 : real(0.01, 1));
        return chosen;
    }

    std::mt19937_64 engine_;
    std::size_t columns_;
    Settings settings_;
    Records records_;
};

double root(const Rational& square) {
    return std::sqrt(square.get_d());
}

/// The largest share of the radius that a neighbour reached, over all parameters.
double farthest(const ConvexRuns& runs, const ConvexRadius& radius, const Parameters& one,
                const Parameters& other) {
    const std::size_t columns = runs.plan.network.inputs() + 1, rows = runs.plan.network.outputs();
    const Rational all = radius.all * radius.all, margin = radius.margin * radius.margin,
                   row = radius.row * radius.row;
    const Integer apart = test::squared_distance(one, other, 0, one.size());
    EXPECT_LE(apart, all);
    for (std::size_t a = 0; a < rows; ++a) {
        EXPECT_LE(test::squared_distance(one, Parameters(one.size()), a * columns, columns), row);
        for (std::size_t b = 0; b < a; ++b) {
            Parameters difference_of_one, difference_of_other;
            for (std::size_t j = 0; j < columns; ++j) {
                difference_of_one.push_back(one[a * columns + j] - one[b * columns + j]);
                difference_of_other.push_back(other[a * columns + j] - other[b * columns + j]);
            }
            EXPECT_LE(test::squared_distance(difference_of_one, difference_of_other, 0, columns), margin);
        }
    }
    return root(Rational(apart) / all);
}

TEST(ConvexAttack, NoNeighbourIsBeyondTheRadiusAndDistancesMoveByOne) {
    double reached = 0;
    std::int64_t decided = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        Problem problem(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        const ConvexRuns runs(problem.settings_of(), problem.columns());
        const ConvexRadius radius = convex_radius(problem.settings_of(), runs.plan.features,
                                                  problem.settings_of().certificate.relation);
        const ConvexDistances distances(runs.plan.network, radius);
        const Records queries = problem.queries(20);
        const Parameters nominal = runs.trained(problem.records());
        const Certificates here = distances.of(*runs.plan.backend, nominal, queries);
        for (int neighbour = 0; neighbour < 4; ++neighbour) {
            const Parameters other = runs.trained(problem.neighbour());
            reached = std::max(reached, farthest(runs, radius, nominal, other));
            const Certificates there = distances.of(*runs.plan.backend, other, queries);
            for (std::size_t q = 0; q < queries.size(); ++q) {
                EXPECT_LE(std::abs(here.distances[q] - there.distances[q]), 1);
                if (here.distances[q] + there.distances[q] >= 1) {
                    EXPECT_EQ(here.labels[q], there.labels[q]);
                    ++decided;
                }
            }
            for (std::size_t d = 0; d < here.class_distances.size(); ++d)
                EXPECT_LE(std::abs(here.class_distances[d] - there.class_distances[d]), 1);
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(reached, 0.5);
    EXPECT_GT(decided, 500);
}

Records without(const Records& records, const std::vector<std::size_t>& gone) {
    Records rest = test::no_records(records.features.columns());
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (std::find(gone.begin(), gone.end(), i) != gone.end()) continue;
        std::vector<double> row;
        for (std::size_t j = 0; j < records.features.columns(); ++j) row.push_back(records.features.at(i, j));
        test::append(rest, records.ids[i], row, records.labels[i]);
    }
    return rest;
}

Settings removing(Settings settings) {
    settings.certificate.relation = Relation::remove;
    return settings;
}

/// A problem trained, and how far up to `most` removals may move it.
struct Removals {
    Problem problem;
    ConvexRuns runs{removing(problem.settings_of()), problem.columns()};
    ConvexRadius radius = convex_radius(runs.plan.settings, runs.plan.features, Relation::remove);
    Parameters nominal;
    std::vector<std::int64_t> radii;
    ConvexDistances distances{runs.plan.network, radius};

    Removals(std::uint64_t seed, std::size_t most) : problem(seed) {
        ConvexTrainer trainer = runs.start(problem.records(), ConvexTrainer::fresh_state(runs.plan));
        ConvexRuns::finish(trainer);
        nominal = trainer.result();
        radii = trainer.removals()->radii(most, QuietCommunicator());
    }
};

TEST(ConvexAttack, NoRemovalGoesBeyondItsRadiusAndNoCertifiedLabelChanges) {
    double reached = 0, of_uniform = 0;
    std::int64_t certified = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Removals removals(seed, 6);
        auto& [problem, runs, radius, nominal, radii, distances] = removals;
        EXPECT_TRUE(std::is_sorted(radii.begin(), radii.end()));
        of_uniform = std::max(of_uniform, static_cast<double>(radii[1]) / radius.all.get_d());
        const Records queries = problem.queries(20);
        const Certificates here = distances.of_removals(*runs.plan.backend, nominal, radii, queries);
        for (std::size_t attack = 0; attack < 6 && problem.records().size() > 0; ++attack) {
            std::vector<std::size_t> gone;
            for (std::size_t k = 0; k <= attack; ++k)
                gone.push_back((7 * attack + 3 * k) % problem.records().size());
            std::sort(gone.begin(), gone.end());
            gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
            const Parameters other = runs.trained(without(problem.records(), gone));
            const Integer apart = test::squared_distance(nominal, other, 0, nominal.size()),
                          allowed(static_cast<long>(radii[gone.size()]));
            EXPECT_LE(apart, allowed * allowed);
            reached = std::max(reached, std::sqrt(apart.get_d()) / allowed.get_d());
            const Certificates there = distances.of(*runs.plan.backend, other, queries);
            for (std::size_t q = 0; q < queries.size(); ++q) {
                if (here.distances[q] < static_cast<std::int64_t>(gone.size())) continue;
                EXPECT_EQ(here.labels[q], there.labels[q]);
                ++certified;
            }
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(reached, 0.9);
    EXPECT_GT(certified, 500);
    EXPECT_LT(of_uniform, 2);  // own part, and what the others gain by it
}

// Records that change and a query that moves at once -------------------------------------------------------

/// The problem, of every second with features behind a limit of their norm.
ConvexRuns moving_runs(const Problem& problem, Settings settings, std::uint64_t seed) {
    if (seed % 2 == 0) settings.features.norm_limit = 0.7;
    return {settings, problem.columns()};
}

/// Each query moved as far as the radius lets it: towards where these parameters prefer each other class to
/// the label, and anywhere.
std::vector<Records> moved_queries(const ConvexRuns& runs, const Parameters& parameters,
                                   const Records& queries, const std::vector<std::int32_t>& labels,
                                   double radius, std::mt19937_64& engine) {
    const Network& network = runs.plan.network;
    const std::size_t columns = network.inputs(), classes = network.classes();
    std::vector<std::int64_t> rows = deciding_rows(network, parameters);
    rows.resize(classes * (columns + 1));
    std::vector<Records> moved;
    for (std::size_t towards = 0; towards <= classes; ++towards) {
        Records there = test::no_records(columns);
        for (std::size_t q = 0; q < queries.size(); ++q) {
            std::vector<double> direction;
            double squares = 0;
            for (std::size_t j = 0; j < columns; ++j) {
                const auto weight = [&](std::size_t c) {
                    return parameter_value(rows[c * (columns + 1) + j]);
                };
                direction.push_back(towards < classes
                                        ? weight(towards) - weight(static_cast<std::size_t>(labels[q]))
                                        : std::normal_distribution<double>()(engine));
                squares += direction.back() * direction.back();
            }
            std::vector<double> row;
            for (std::size_t j = 0; j < columns; ++j) {
                const double part = squares > 0 ? direction[j] / std::sqrt(squares) : 0;
                row.push_back(std::clamp(queries.features.at(q, j), -1., 1.) + radius * (1 - 1e-9) * part);
            }
            test::append(there, q, row, 0);
        }
        moved.push_back(std::move(there));
    }
    return moved;
}

/// What was certified of the queries and so many changed records, of a training on those, when queries move.
struct Asked {
    std::int64_t kept = 0, turned = 0, beaten = 0, beaten_answers = 0;

    void add(const ConvexRuns& runs, const Certificates& certified, std::int64_t changed,
             const Parameters& other, const std::vector<Records>& moved) {
        const std::size_t classes = runs.plan.network.classes();
        for (const Records& queries : moved) {
            const std::vector<std::int32_t> labels =
                answers_of(runs.plan.network, *runs.plan.backend, other, runs.plan.features(queries)).labels;
            for (std::size_t q = 0; q < labels.size(); ++q) {
                const auto answer = static_cast<std::size_t>(labels[q]);
                for (std::size_t j = 0; j < classes; ++j) {
                    if (certified.class_distances[q * classes + j] <= changed) continue;
                    ++beaten;
                    beaten_answers += j == answer ? 1 : 0;
                }
                if (certified.distances[q] < changed) continue;
                ++kept;
                turned += labels[q] != certified.labels[q] ? 1 : 0;
            }
        }
    }
};

/// Distances at queries that moved are no less than those of queries that may move there.
void expect_no_less(const Certificates& of_all, const Certificates& there) {
    for (std::size_t q = 0; q < of_all.labels.size(); ++q) EXPECT_GE(there.distances[q], of_all.distances[q]);
    for (std::size_t d = 0; d < of_all.class_distances.size(); ++d)
        EXPECT_GE(there.class_distances[d], of_all.class_distances[d]);
}

TEST(ConvexAttack, NoRecordAndNoMovedQueryTogetherChangeAStableLabel) {
    Asked within, beyond;
    std::int64_t certified = 0, less = 0;
    for (std::uint64_t seed = 1; seed <= cases_of(2000); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Problem problem(seed);
        std::mt19937_64 engine(seed);
        const ConvexRuns runs = moving_runs(problem, problem.settings_of(), seed);
        const auto trained = [&](const Records& records) {
            return runs.trained(runs.plan.features(records));
        };
        const ConvexRadius radius =
            convex_radius(runs.plan.settings, runs.plan.features, problem.settings_of().certificate.relation);
        const double far = std::ldexp(1.0, -static_cast<int>(1 + seed % 6));
        ConvexDistances still(runs.plan.network, radius), moving(runs.plan.network, radius);
        moving.move_queries(far, runs.plan.features);
        const Records queries = problem.queries(20), mapped = runs.plan.features(queries);
        const Parameters nominal = trained(problem.records());
        const Certificates here = moving.of(*runs.plan.backend, nominal, mapped),
                           unmoved = still.of(*runs.plan.backend, nominal, mapped);
        EXPECT_EQ(here.labels, unmoved.labels);
        for (std::size_t q = 0; q < queries.size(); ++q) {
            EXPECT_LE(here.distances[q], unmoved.distances[q]);
            certified += here.distances[q] >= 1 ? 1 : 0;
            less += here.distances[q] < unmoved.distances[q] ? 1 : 0;
        }
        for (int neighbour = 0; neighbour < 3; ++neighbour) {
            const Parameters other = trained(problem.neighbour());
            const Certificates there = moving.of(*runs.plan.backend, other, mapped);
            for (std::size_t q = 0; q < queries.size(); ++q)
                EXPECT_LE(std::abs(here.distances[q] - there.distances[q]), 1);
            for (std::size_t d = 0; d < here.class_distances.size(); ++d)
                EXPECT_LE(std::abs(here.class_distances[d] - there.class_distances[d]), 1);
            const std::vector<Records> moved = moved_queries(runs, other, queries, here.labels, far, engine);
            within.add(runs, here, 1, other, moved);
            for (const Records& elsewhere : moved)
                expect_no_less(there, still.of(*runs.plan.backend, other, runs.plan.features(elsewhere)));
            beyond.add(runs, here, 1, other,
                       moved_queries(runs, other, queries, here.labels, 8 * far, engine));
        }
        if (HasFailure()) return;
    }
    EXPECT_EQ(within.turned, 0) << "of " << within.kept;
    EXPECT_EQ(within.beaten_answers, 0) << "of " << within.beaten;
    EXPECT_GT(certified, 1000);
    EXPECT_GT(less, 1000);
    EXPECT_GT(beyond.turned, 50) << "eight times as far changes labels";
}

TEST(ConvexAttack, NoRemovalAndNoMovedQueryTogetherChangeAStableLabel) {
    Asked within, beyond;
    for (std::uint64_t seed = 1; seed <= cases_of(1500); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        constexpr std::size_t most = 4;
        Removals removals(seed, most);
        auto& [problem, runs, radius, nominal, radii, distances] = removals;
        std::mt19937_64 engine(seed);
        const double far = std::ldexp(1.0, -static_cast<int>(1 + seed % 6));
        distances.move_queries(far, runs.plan.features);
        const Records queries = problem.queries(20);
        const Certificates here = distances.of_removals(*runs.plan.backend, nominal, radii, queries);
        for (std::size_t gone = 1; gone <= most && gone <= problem.records().size(); ++gone) {
            std::vector<std::size_t> which;
            for (std::size_t k = 0; k < gone; ++k) which.push_back((seed + k) % problem.records().size());
            std::sort(which.begin(), which.end());
            const Parameters other = runs.trained(without(problem.records(), which));
            const auto changed = static_cast<std::int64_t>(gone);
            within.add(runs, here, changed, other,
                       moved_queries(runs, other, queries, here.labels, far, engine));
            beyond.add(runs, here, changed, other,
                       moved_queries(runs, other, queries, here.labels, 8 * far, engine));
        }
    }
    EXPECT_EQ(within.turned, 0) << "of " << within.kept;
    EXPECT_EQ(within.beaten_answers, 0) << "of " << within.beaten;
    EXPECT_GT(within.kept, 1000);
    EXPECT_GT(beyond.turned, 50) << "eight times as far changes labels";
}

/// One record at the end of the range, its derivative at its limit in every step.
Settings tight_settings(Relation relation) {
    Settings settings = test::convex_settings(2, "binary_cross_entropy");
    settings.convex.derivative_limit = 0.25;
    settings.certificate.relation = relation;
    settings.training.epochs = 4;
    settings.training.batches = 1;
    settings.training.expected_records = 2;
    settings.training.learning_rate = 0.1;
    return settings;
}

double tightness(const Settings& settings, const Records& one, const Records& other) {
    const ConvexRuns runs(settings, 1);
    const ConvexRadius radius = convex_radius(settings, runs.plan.features, settings.certificate.relation);
    return farthest(runs, radius, runs.trained(one), runs.trained(other));
}

TEST(ConvexAttack, OneRecordReachesTheWholeRadius) {
    Records none = test::no_records(1), one = none, flipped = none, several = none;
    test::append(one, 7, {1}, 1);
    test::append(flipped, 7, {1}, 0);
    for (std::uint64_t id = 1; id <= 5; ++id) test::append(several, id, {1}, 0);
    Records more = several;
    test::append(more, 7, {1}, 1);
    EXPECT_GT(tightness(tight_settings(Relation::add_remove), none, one), 0.99);
    EXPECT_GT(tightness(tight_settings(Relation::substitute), one, flipped), 0.99);
    // However many others pull the other way: what a record takes from their part makes up for the rest of
    // its own.
    EXPECT_GT(tightness(tight_settings(Relation::add_remove), several, more), 0.99);
    Settings averaged = tight_settings(Relation::add_remove);
    averaged.convex.average = 0.5;
    EXPECT_GT(tightness(averaged, none, one), 0.99);
}

TEST(ConvexAttack, ABatchBeyondItsLimitMovesNothing) {
    Settings settings = tight_settings(Relation::add_remove);
    settings.convex.most_records = 4;
    Records full = test::no_records(1);
    for (std::uint64_t id = 1; id <= 4; ++id) test::append(full, id, {1}, 1);
    Records beyond = full;
    test::append(beyond, 9, {1}, 1);
    EXPECT_EQ(ConvexRuns(settings, 1).trained(beyond), Parameters(2));
    EXPECT_GT(tightness(settings, full, beyond), 0.99);
}

TEST(ConvexAttack, FindsAStepThatIsTooLong) {
    Settings settings = tight_settings(Relation::add_remove);
    settings.convex.derivative_limit = 1;
    settings.convex.most_records = 1 << 20;
    settings.training.epochs = 12;
    settings.training.learning_rate = 0.04;
    const ConvexRuns runs(settings, 1);
    EXPECT_THROW(convex_radius(settings, runs.plan.features, Relation::add_remove), Error);
    Settings allowed = settings;
    allowed.training.learning_rate = 1e-6;
    const Rational would_be = convex_radius(allowed, runs.plan.features, Relation::add_remove).all * 40000;
    // As many records of either label stay at nothing; one more starts a swing that grows from step to step.
    Records balanced = test::no_records(1);
    for (std::uint64_t id = 1; id <= 400; ++id) test::append(balanced, id, {1}, id % 2 == 0);
    Records more = balanced;
    test::append(more, 999, {1}, 0);
    EXPECT_GT(test::squared_distance(runs.trained(balanced), runs.trained(more), 0, 2),
              25 * would_be * would_be);
}

// Means of persons' rows -----------------------------------------------------------------------------------

/// Rows of queries, dealt to persons of one to four of them; some turned round, so that they cancel.
struct Bags {
    Records rows;
    std::vector<std::size_t> starts{0};
};

Bags bags_of(Problem& problem, std::size_t persons, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    Bags bags{test::no_records(problem.columns())};
    while (bags.starts.size() <= persons) {
        const Records drawn = problem.queries(1 + engine() % 4);
        const bool opposite = engine() % 3 == 0;
        for (std::size_t i = 0; i < drawn.size(); ++i) {
            std::vector<double> row;
            for (std::size_t j = 0; j < problem.columns(); ++j)
                row.push_back(drawn.features.at(opposite ? 0 : i, j) * (opposite && i % 2 == 1 ? -1 : 1));
            test::append(bags.rows, bags.rows.size(), row, 0);
        }
        bags.starts.push_back(bags.rows.size());
    }
    return bags;
}

TEST(ConvexMeans, MoveByOneARecordAndHaveTheLabelsOfTheMean) {
    std::int64_t decided = 0, longer = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        Problem problem(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        const ConvexRuns runs(problem.settings_of(), problem.columns());
        const ConvexRadius radius = convex_radius(problem.settings_of(), runs.plan.features,
                                                  problem.settings_of().certificate.relation);
        const Network& network = runs.plan.network;
        const ConvexDistances distances(network, radius);
        const Bags bags = bags_of(problem, 20, seed);
        const Parameters nominal = runs.trained(problem.records());
        const Certificates here = distances.of_means(*runs.plan.backend, nominal, {}, bags.rows, bags.starts);
        EXPECT_EQ(here.labels,
                  answers_of_persons(AnswerUnit::mean, network,
                                     answers_of(network, *runs.plan.backend, nominal, bags.rows), bags.starts)
                      .labels);
        const Certificates of_rows = distances.of(*runs.plan.backend, nominal, bags.rows);
        for (int neighbour = 0; neighbour < 4; ++neighbour) {
            const Parameters other = runs.trained(problem.neighbour());
            const Certificates there =
                distances.of_means(*runs.plan.backend, other, {}, bags.rows, bags.starts);
            for (std::size_t q = 0; q + 1 < bags.starts.size(); ++q) {
                EXPECT_LE(std::abs(here.distances[q] - there.distances[q]), 1);
                if (here.distances[q] + there.distances[q] < 1) continue;
                EXPECT_EQ(here.labels[q], there.labels[q]);
                ++decided;
                const auto first = of_rows.distances.begin() + static_cast<std::ptrdiff_t>(bags.starts[q]),
                           last = of_rows.distances.begin() + static_cast<std::ptrdiff_t>(bags.starts[q + 1]);
                longer += here.distances[q] > *std::max_element(first, last) ? 1 : 0;
            }
            for (std::size_t d = 0; d < here.class_distances.size(); ++d)
                EXPECT_LE(std::abs(here.class_distances[d] - there.class_distances[d]), 1);
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(decided, 500);
    EXPECT_GT(longer, 0);  // than that of any row: their mean is shorter
}

TEST(ConvexMeans, NoRemovalChangesALabelThatIsCertified) {
    std::int64_t certified = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        constexpr std::size_t most = 4;
        Removals removals(seed, most);
        auto& [problem, runs, radius, nominal, radii, distances] = removals;
        const Bags bags = bags_of(problem, 20, seed);
        const Certificates here =
            distances.of_means(*runs.plan.backend, nominal, radii, bags.rows, bags.starts);
        for (std::size_t gone = 1; gone <= most && gone <= problem.records().size(); ++gone) {
            std::vector<std::size_t> which;
            for (std::size_t k = 0; k < gone; ++k) which.push_back((seed + k) % problem.records().size());
            std::sort(which.begin(), which.end());
            const Parameters other = runs.trained(without(problem.records(), which));
            const Certificates there =
                distances.of_means(*runs.plan.backend, other, radii, bags.rows, bags.starts);
            for (std::size_t q = 0; q + 1 < bags.starts.size(); ++q) {
                if (here.distances[q] < static_cast<std::int64_t>(gone)) continue;
                EXPECT_EQ(here.labels[q], there.labels[q]);
                ++certified;
            }
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(certified, 200);
}

/// In plain loops over fractions: the mean of rows is no longer than it is said to be, and hardly shorter.
TEST(ConvexMeans, HaveTheLengthOfTheMeanOfTheirRows) {
    std::mt19937_64 engine(4);
    std::uniform_real_distribution<double> uniform(-1, 1);
    const ConvexRuns runs(test::convex_settings(), 3);
    for (int trial = 0; trial < 300; ++trial) {
        Records rows = test::no_records(3);
        const std::size_t count = 1 + engine() % 30;
        for (std::size_t i = 0; i < count; ++i)
            test::append(rows, i, {uniform(engine), i % 2 == 0 ? 1e-9 : -1e-9, uniform(engine) * 0x1p-40}, 0);
        Rational squares = 1;
        for (std::size_t j = 0; j < 3; ++j) {
            Rational sum = 0;
            for (std::size_t i = 0; i < count; ++i)
                sum += Rational(runs.plan.network.transform().apply<double>(rows.features.at(i, j)));
            const Rational mean = sum / as_rational(static_cast<std::int64_t>(count));
            squares += mean * mean;
        }
        const Rational said = mean_length(runs.plan.network, rows.features, 0, count).rational();
        EXPECT_GE(said * said, squares);
        EXPECT_LE(said * said, squares * Rational(1.0 + 0x1p-40));
    }
}

}  // namespace
}  // namespace holdfast
