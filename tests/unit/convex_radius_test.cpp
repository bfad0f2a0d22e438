#include "models/convex/radius.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "models/convex/convex_bounds.hpp"
#include "tests/support/convex_runs.hpp"

namespace holdfast {
namespace {

using test::convex_settings;

FeatureMap map_of(std::size_t columns, double end = 1) {
    return {columns, {.range = {-end, end}}};
}

double value(const Rational& units) {
    return Rational(units / Rational(power_of_two(50))).get_d();
}

/// The radius by its definition, forwards and for every schedule of the record's steps, without rounding.
double plain_radius(const Settings& settings, double impulse) {
    const TrainingSettings& training = settings.training;
    const std::int64_t steps = training.steps(), averaged = averaged_steps(settings.convex.average, steps);
    const double normaliser =
        static_cast<double>(training.expected_records) / static_cast<double>(training.batches);
    double sum = 0;
    for (std::int64_t epoch = 0; epoch < training.epochs; ++epoch) {
        double greatest = 0;
        for (std::int64_t acts = epoch * training.batches; acts < (epoch + 1) * training.batches; ++acts) {
            double apart = 0, mean = 0;
            for (std::int64_t step = 0; step < steps; ++step) {
                const double rate = training.learning_rate_at(step);
                apart = (1 - rate * training.l2) * apart + (step == acts ? rate * impulse / normaliser : 0);
                if (step >= steps - averaged) mean += apart / static_cast<double>(averaged);
            }
            greatest = std::max(greatest, mean);
        }
        sum += greatest;
    }
    return sum;
}

TEST(ConvexRadius, IsThatOfItsDefinitionAndALittleMore) {
    Settings settings = convex_settings();
    settings.training.epochs = 5;
    settings.training.batches = 4;
    settings.training.expected_records = 4000;
    settings.training.learning_rate = 0.9;
    settings.training.learning_rate_decay = 0.05;
    settings.training.l2 = 0.01;
    for (const double average : {0.0, 0.3, 1.0}) {
        settings.convex.average = average;
        for (const double limit : {1.0, 0.3}) {
            settings.convex.derivative_limit = limit;
            const double norm = std::sqrt(1 + 3.0);
            const double plain = plain_radius(settings, limit * norm);
            const ConvexRadius radius = convex_radius(settings, map_of(3), Relation::add_remove);
            EXPECT_GT(value(radius.all), plain);
            EXPECT_LT(value(radius.all), plain * (1 + 1e-5));
            EXPECT_EQ(radius.margin, radius.all);
            const ConvexRadius replaced = convex_radius(settings, map_of(3), Relation::substitute);
            EXPECT_GT(value(replaced.all), 2 * plain);
            EXPECT_LT(value(replaced.all), 2 * plain * (1 + 1e-5));
        }
    }
}

TEST(ConvexRadius, StaysBelowThatOfTheOptimum) {
    Settings settings = convex_settings();
    settings.training.batches = 1;
    settings.training.expected_records = 1000;
    settings.training.l2 = 0.05;
    settings.training.learning_rate = 0.5;
    settings.training.learning_rate_decay = 0.001;
    const double optimum = 2 / (1000 * settings.training.l2);  // c = 1, R = 2
    double before = 0;
    for (const std::int64_t epochs : {1, 10, 100, 1000}) {
        settings.training.epochs = epochs;
        const double radius = value(convex_radius(settings, map_of(3), Relation::add_remove).all);
        EXPECT_LT(radius, optimum * (1 + 1e-5));
        EXPECT_GT(radius, before);
        before = radius;
    }
    EXPECT_GT(before, 0.999 * optimum);
}

TEST(ConvexRadius, OfSeveralLogitsKnowsWhichRowsPullAtOneAnother) {
    Settings settings = convex_settings(5, "cross_entropy");
    settings.training.learning_rate = 0.01;
    const double plain = plain_radius(settings, std::sqrt(2.0) * std::sqrt(4.0));
    const ConvexRadius together = convex_radius(settings, map_of(3), Relation::add_remove);
    EXPECT_NEAR(value(together.all) / plain, 1, 1e-5);
    EXPECT_NEAR(value(together.margin) / plain, std::sqrt(2.0), 1e-5);
    settings.network.loss = "one_vs_rest";
    const double one_row = plain_radius(settings, std::sqrt(4.0));
    const ConvexRadius apart = convex_radius(settings, map_of(3), Relation::add_remove);
    EXPECT_NEAR(value(apart.all) / one_row, std::sqrt(5.0), 1e-5);
    EXPECT_NEAR(value(apart.margin) / one_row, 2, 1e-5);
}

TEST(ConvexRadius, AllowsNoLongerStepsThanItsLemma) {
    for (const char* loss : {"binary_cross_entropy", "huber", "cross_entropy", "one_vs_rest"}) {
        Settings settings = convex_settings(2, loss);
        settings.training.l2 = 0.2;
        const FeatureMap features = map_of(6);
        settings.training.learning_rate = ConvexBounds(settings, features).largest_learning_rate();
        EXPECT_NO_THROW(convex_radius(settings, features, Relation::add_remove)) << loss;
        settings.training.learning_rate *= 1 + 1e-9;
        EXPECT_THROW(convex_radius(settings, features, Relation::add_remove), Error) << loss;
    }
    // 2 / (N b R^2 / B) with M = 8 B = 32, N = 33^2 / (4 * 32), b = 1/4, R^2 = 7.
    Settings settings = convex_settings();
    EXPECT_NEAR(ConvexBounds(settings, map_of(6)).largest_learning_rate(), 2 / (33.0 * 33 / 128 / 4 * 7 / 4),
                1e-5);
}

TEST(ConvexRadius, RefusesWhatNoPublicNumberBounds) {
    Settings settings = convex_settings();
    settings.training.learning_rate = 1e-3;
    settings.training.expected_records = 0;
    EXPECT_THROW(convex_radius(settings, map_of(2), Relation::add_remove), Error);
    settings.training.expected_records = 8;
    EXPECT_THROW(convex_radius(settings, map_of(2, 1e200), Relation::add_remove), Error);
}

TEST(ConvexBounds, BatchesAreLimitedByEightTimesTheirRecordsUnlessStated) {
    Settings settings = convex_settings();
    EXPECT_EQ(most_records_of(settings), 32);
    settings.training.expected_records = 2;
    EXPECT_EQ(most_records_of(settings), 16);
    settings.convex.most_records = 3;
    EXPECT_EQ(most_records_of(settings), 3);
    settings.convex.most_records = 0;
    settings.training.expected_records = INT64_MAX;
    EXPECT_EQ(most_records_of(settings), ConvexSettings::greatest_most_records);
}

TEST(ConvexClip, LeavesRoomForAsManyRecordsAsCount) {
    Settings settings = convex_settings();
    for (const std::int64_t most :
         {std::int64_t{1}, (std::int64_t{1} << 22) - 1, std::int64_t{1} << 22, (std::int64_t{1} << 23) - 1,
          std::int64_t{1} << 30, ConvexSettings::greatest_most_records}) {
        settings.convex.most_records = most;
        const Clip clip = convex_clip(settings, map_of(3, 100));
        const GradientScale scale = clip.scale<double>();
        const Integer largest(static_cast<long>(std::max(scale.weight_units, scale.bias_units)));
        EXPECT_LE(largest * Integer(static_cast<long>(most)), power_of_two(62)) << most;
        EXPECT_GE(scale.record_limit, most);
        EXPECT_GE(clip.activation_limit, 100);
    }
}

TEST(Upper, IsAboveTheExactResult) {
    const double values[] = {0, 0x1p-1074, 1e-300, 0.1, 1.0 / 3, 1, 3, 1e10, 1e300};
    for (const double a : values) {
        for (const double b : values) {
            if (a * b < 1e300) {
                EXPECT_GE((Upper(a) * Upper(b)).rational(), Rational(a) * Rational(b));
            }
            EXPECT_GE((Upper(a) + Upper(b)).rational(), Rational(a) + Rational(b));
            if (b > 1e-9 && a < 1e200) {
                EXPECT_GE((Upper(a) / b).rational(), Rational(a) / Rational(b));
            }
        }
        const Rational root = sqrt(Upper(a)).rational();
        EXPECT_GE(root * root, Rational(a));
    }
    EXPECT_EQ((Upper(1e300) * Upper(1e300)).value(), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace holdfast
