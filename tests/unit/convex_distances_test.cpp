#include "models/convex/convex_distances.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "models/certify/answers.hpp"
#include "models/convex/mapped_length.hpp"
#include "tests/support/convex_runs.hpp"

namespace holdfast {
namespace convex_distances_test {

using test::convex_settings;
using test::ConvexRuns;

TEST(StepsBelow, CountsExactly) {
    std::mt19937_64 engine(1);
    std::uniform_real_distribution<double> uniform(0, 1);
    const auto expect_exact = [](double gap, double step) {
        const Integer exact = ceil(Rational(gap) / Rational(step));
        const std::int64_t most = 1000000;
        EXPECT_EQ(steps_below(gap, step, most), exact < most ? exact.get_si() : most)
            << gap << " by " << step;
    };
    for (int i = 0; i < 20000; ++i) {
        const double step = std::ldexp(uniform(engine) + 0.5, static_cast<int>(engine() % 40) - 20);
        const auto whole = static_cast<double>(engine() % 5000);
        const double gap = whole * step;
        expect_exact(gap, step);
        expect_exact(std::nextafter(gap, 1e300), step);
        if (gap > 0) expect_exact(std::nextafter(gap, 0), step);
        expect_exact(uniform(engine) * step * 100, step);
    }
    expect_exact(0, 1);
    expect_exact(0x1p-1074, 1);
    expect_exact(1e300, 1e-300);
}

TEST(StepsBelow, MovesByOneWhereTheGapMovesByAStep) {
    const double step = 0.1;
    for (double gap = 0; gap < 2; gap += 0.0037) {
        for (double moved = 0; moved <= step; moved += 0.0123) {
            if (Rational(gap + moved) - Rational(gap) > Rational(step)) continue;
            EXPECT_LE(steps_below(gap + moved, step, 100) - steps_below(gap, step, 100), 1);
        }
    }
}

struct Model {
    explicit Model(std::int64_t classes, const char* loss, std::uint64_t seed = 3)
        : settings(convex_settings(classes, loss)),
          runs(settings, 6),
          radius{Integer(1) << 44, Integer(1) << 44, Integer(1) << 44, Integer(1) << 53} {
        std::mt19937_64 engine(seed);
        for (std::size_t p = 0; p < runs.plan.network.parameters(); ++p)
            parameters.push_back(static_cast<std::int64_t>(engine() % (std::uint64_t{1} << 51)) -
                                 (std::int64_t{1} << 50));
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (std::uint64_t i = 0; i < 300; ++i) {
            std::vector<double> row;
            for (int j = 0; j < 6; ++j) row.push_back(uniform(engine));
            test::append(queries, i, row, 0);
        }
        test::append(queries, 300, {0, 0, 0, 0, 0, 0}, 0);
        test::append(queries, 301, {1e300, -1e300, NAN, INFINITY, 0, 1}, 0);
    }
    Settings settings;
    ConvexRuns runs;
    ConvexRadius radius;
    std::vector<std::int64_t> parameters;
    Records queries = test::no_records(6);
};

TEST(ConvexDistances, HaveTheLabelsOfTheModelAndTheGapsOfItsLogits) {
    const Model models[] = {Model(2, "binary_cross_entropy"), Model(2, "cross_entropy"),
                            Model(2, "one_vs_rest"), Model(4, "cross_entropy"), Model(7, "one_vs_rest")};
    for (const Model& model : models) {
        const Network& network = model.runs.plan.network;
        const ConvexDistances distances(network, model.radius);
        const Certificates found = distances.of(*model.runs.plan.backend, model.parameters, model.queries);
        const Answers answers =
            answers_of(network, *model.runs.plan.backend, model.parameters, model.queries);
        EXPECT_EQ(found.labels, answers.labels);
        const std::size_t classes = network.classes(), outputs = network.outputs();
        std::int64_t largest = 0;
        for (std::size_t q = 0; q < model.queries.size(); ++q) {
            std::vector<double> logits(
                answers.logits.begin() + static_cast<std::ptrdiff_t>(q * outputs),
                answers.logits.begin() + static_cast<std::ptrdiff_t>((q + 1) * outputs));
            if (outputs == 1) logits.insert(logits.begin(), 0);
            const auto label = static_cast<std::size_t>(found.labels[q]);
            double least = INFINITY;
            for (std::size_t j = 0; j < classes; ++j) {
                const double steps =
                    (logits[label] - logits[j]) /
                    distances.step_of(mapped_length(model.runs.plan.network, model.queries.features, q));
                const auto beaten = static_cast<double>(found.class_distances[q * classes + j]);
                EXPECT_NEAR(beaten, std::ceil(steps), std::abs(steps - std::round(steps)) < 1e-6 ? 1 : 0);
                if (j != label) least = std::min(least, beaten);
            }
            EXPECT_EQ(found.class_distances[q * classes + label], 0);
            EXPECT_EQ(static_cast<double>(found.distances[q]), std::max(0.0, least - 1));
            EXPECT_LE(found.distances[q], distances.cap());
            largest = std::max(largest, found.distances[q]);
        }
        EXPECT_GT(largest, 20);
    }
}

/// In plain loops, but for rounding: what is left of a lead where the query moves, in steps that are as much
/// longer.
TEST(ConvexDistances, OfMovedQueriesAreTheGapsThatAreLeft) {
    for (const Model& model : {Model(2, "binary_cross_entropy"), Model(4, "cross_entropy")}) {
        const Network& network = model.runs.plan.network;
        const std::size_t classes = network.classes(), columns = network.inputs() + 1;
        const double unit = std::abs(network.transform().scale), margin = 0x1p-6;
        std::vector<std::int64_t> rows = deciding_rows(network, model.parameters);
        rows.resize(classes * columns);
        const std::vector<double> values =
            deciding_values(network, *model.runs.plan.backend, model.parameters, model.queries);
        for (const double radius : {0.01, 0.3}) {
            ConvexDistances distances(network, model.radius);
            distances.move_queries(radius, model.runs.plan.features);
            const Certificates found =
                distances.of(*model.runs.plan.backend, model.parameters, model.queries);
            std::int64_t largest = 0;
            for (std::size_t q = 0; q < model.queries.size(); ++q) {
                const auto left = [&](std::size_t c, std::size_t j) {
                    double squares = 0;
                    for (std::size_t i = 0; i + 1 < columns; ++i)
                        squares +=
                            std::pow(parameter_value(rows[c * columns + i] - rows[j * columns + i]), 2);
                    return values[q * classes + c] - values[q * classes + j] -
                           radius * unit * std::sqrt(squares);
                };
                const double length = mapped_length(network, model.queries.features, q).value(),
                             step = margin * (length + radius * unit);
                const auto label = static_cast<std::size_t>(found.labels[q]);
                double least = INFINITY;
                for (std::size_t j = 0; j < classes; ++j) {
                    double most = 0;
                    for (std::size_t c = 0; c < classes; ++c) most = std::max(most, left(c, j));
                    const auto beaten = static_cast<double>(found.class_distances[q * classes + j]);
                    EXPECT_NEAR(beaten, std::ceil(most / step), 1) << most / step;
                    EXPECT_LE(beaten, std::ceil(most / step));
                    if (j != label) least = std::min(least, std::ceil(std::max(0., left(label, j)) / step));
                }
                EXPECT_NEAR(static_cast<double>(found.distances[q]), std::max(0.0, least - 1), 1);
                EXPECT_LE(static_cast<double>(found.distances[q]), std::max(0.0, least - 1));
                largest = std::max(largest, found.distances[q]);
            }
            EXPECT_GT(largest, 20);
        }
    }
}

/// Parameters as far apart as a record may bring them, some of which give other labels: neighbours near ties.
TEST(ConvexDistances, OfMovedQueriesMoveByOneWhereverLabelsChange) {
    std::mt19937_64 engine(5);
    std::normal_distribution<double> normal;
    std::int64_t changed = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const Model model = seed % 2 == 0 ? Model(4, "cross_entropy", seed) : Model(7, "one_vs_rest", seed);
        const std::size_t classes = model.runs.plan.network.classes(), columns = 7;
        std::vector<std::int64_t> other = model.parameters;
        for (std::size_t c = 0; c < classes; ++c) {
            std::vector<double> move;
            double squares = 0;
            for (std::size_t j = 0; j < columns; ++j) {
                move.push_back(normal(engine));
                squares += move.back() * move.back();
            }
            for (std::size_t j = 0; j < columns; ++j)
                other[c * columns + j] +=
                    static_cast<std::int64_t>(0.4999 * 0x1p44 * move[j] / std::sqrt(squares));
        }
        ConvexDistances distances(model.runs.plan.network, model.radius);
        distances.move_queries(std::ldexp(1.0, static_cast<int>(seed % 8) - 5), model.runs.plan.features);
        const auto at = [&](const std::vector<std::int64_t>& parameters) {
            return distances.of(*model.runs.plan.backend, parameters, model.queries);
        };
        const Certificates here = at(model.parameters), there = at(other);
        for (std::size_t q = 0; q < model.queries.size(); ++q) {
            EXPECT_LE(std::abs(here.distances[q] - there.distances[q]), 1);
            if (here.labels[q] != there.labels[q]) {
                ++changed;
                EXPECT_EQ(here.distances[q] + there.distances[q], 0);
            }
            for (std::size_t j = 0; j < classes; ++j)
                EXPECT_LE(
                    std::abs(here.class_distances[q * classes + j] - there.class_distances[q * classes + j]),
                    1);
        }
    }
    EXPECT_GT(changed, 30);
}

TEST(ConvexDistances, OfATieAreNothing) {
    Model model(2, "binary_cross_entropy");
    model.parameters.assign(model.parameters.size(), 0);
    const ConvexDistances distances(model.runs.plan.network, model.radius);
    const Certificates found = distances.of(*model.runs.plan.backend, model.parameters, model.queries);
    for (std::size_t q = 0; q < model.queries.size(); ++q) {
        EXPECT_EQ(found.labels[q], 0);
        EXPECT_EQ(found.distances[q], 0);
        EXPECT_EQ(found.class_distances[2 * q] + found.class_distances[2 * q + 1], 0);
    }
}

TEST(ConvexDistances, HaveACapThatFollowsFromThePublicBounds) {
    const Model model(2, "binary_cross_entropy");
    EXPECT_NEAR(static_cast<double>(ConvexDistances(model.runs.plan.network, model.radius).cap()), 512, 1);
    const ConvexRadius tiny{1, 1, 1, Integer(1) << 60};
    EXPECT_LE(ConvexDistances(model.runs.plan.network, tiny).cap(), 1 << 20);
    const ConvexRadius wide{Integer(1) << 55, Integer(1) << 55, Integer(1) << 55, Integer(1) << 50};
    EXPECT_EQ(ConvexDistances(model.runs.plan.network, wide).cap(), 0);
}

TEST(ConvexDistances, TheStepCoversTheRadiusAndTheRoundingOfAMargin) {
    const Model model(2, "binary_cross_entropy");
    const ConvexDistances distances(model.runs.plan.network, model.radius);
    for (std::size_t q = 0; q < 300; ++q) {
        Rational squares(1);
        for (std::size_t j = 0; j < 6; ++j) {
            const Rational value(model.queries.features.at(q, j));
            squares += value * value;
        }
        const Rational step(
            distances.step_of(mapped_length(model.runs.plan.network, model.queries.features, q))),
            margin(1, 64), rounding(640 / Rational(power_of_two(53)));
        EXPECT_GE(step * step, (margin + rounding) * (margin + rounding) * squares);
        EXPECT_LE(step * step, margin * margin * squares * Rational(1000001, 1000000));
    }
}

}  // namespace convex_distances_test
}  // namespace holdfast
