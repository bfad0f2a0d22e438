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
