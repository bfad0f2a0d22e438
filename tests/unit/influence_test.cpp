// What a fleet tells its owner: every change is that of two networks one could have asked, and intervals are
// those of jackknife+ by its definition.

#include "models/fleet/influence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/backends.hpp"
#include "models/certify/answers.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace influence_test {

constexpr std::size_t features = 3, others = 21;
constexpr FeatureRange range{-2, 2};

Settings settings_of(std::int64_t classes) {
    Settings settings;
    settings.network.hidden = {5};
    settings.network.classes = classes;
    if (classes == 1) settings.network.loss = "squared_error";
    return settings;
}

TEST(Influence, ValuesAreThoseOfEveryNetworkAlone) {
    for (const std::int64_t classes : {1, 2, 3}) {
        const TemporaryFolder folder;
        const Settings settings = settings_of(classes);
        const Network network = settings.network.make(settings.feature_map(features, range));
        test::write_fleet(folder.file("run"), settings, features, range,
                          test::networks_near(network, others + 1, 0.2, 4), test::some_ids(others));
        const FinishedFleet fleet = FinishedFleet::open(folder.file("run"));
        const QuietCommunicator alone;
        const Records queries = test::any_queries(others, features, 6);
        const FleetOutputs outputs(fleet.networks, alone);
        const LeftOutValues values = left_out_values(outputs, alone, queries);
        const std::vector<double> own = own_values(fleet.networks, 0, queries);
        const auto backend = make_backend("reference");
        std::vector<std::int64_t> parameters(network.parameters());
        for (std::size_t i = 0; i < others; ++i) {
            fleet.networks.read(static_cast<std::int64_t>(i), 1, parameters);
            const Answers answers = answers_of(network, *backend, parameters, queries);
            for (std::size_t q = 0; q < others; ++q) {
                const auto row = [&](std::size_t o) { return values.at(q, o, i); };
                if (classes != 1) {
                    EXPECT_EQ(outputs.decision().label(row), answers.labels[q]);
                }
                if (classes != 2) {
                    for (std::size_t o = 0; o < values.rows; ++o)
                        EXPECT_EQ(row(o), answers.logits[q * values.rows + o]);
                }
                if (q == i) {  // the record that it did without
                    for (std::size_t o = 0; o < values.rows; ++o) EXPECT_EQ(own[i * values.rows + o], row(o));
                }
            }
        }
    }
}

TEST(Influence, LeadsAreAheadOfTheBestOther) {
    const TemporaryFolder folder;
    const Settings settings = settings_of(3);
    const Network network = settings.network.make(settings.feature_map(features, range));
    const Decision decision(network);
    const double rows[] = {1.0, 4.0, 2.5};
    const auto row = [&](std::size_t o) { return rows[o]; };
    EXPECT_EQ(decision.lead(1, row), 1.5);
    EXPECT_EQ(decision.lead(0, row), -3);
    EXPECT_EQ(decision.lead(2, row), -1.5);
    EXPECT_EQ(decision.label(row), 1);
}

TEST(Jackknife, IntervalsHaveTheRanksOfTheDefinition) {
    const std::vector<double> predictions{0, 1, 2, 3, 4, 5, 6, 7, 8}, residuals(9, 0.5);
    // n + 1 = 10: the 2nd least of prediction - residual, the 8th of prediction + residual.
    const PredictionInterval interval = jackknife_interval(predictions, residuals, 0.2);
    EXPECT_EQ(interval.low, 0.5);
    EXPECT_EQ(interval.high, 7.5);
    const PredictionInterval wide = jackknife_interval(predictions, residuals, 0.05);
    EXPECT_EQ(wide.low, -INFINITY);
    EXPECT_EQ(wide.high, INFINITY);
    EXPECT_EQ(jackknife_interval({}, {}, 0.3).high, INFINITY);
}

TEST(Jackknife, SetsKeepAClassUnlessTooManyRecordsAreMoreAtHome) {
    const std::vector<double> own{1, 1, 1, 1, 1, 1, 1, 1, 1};
    const std::vector<double> leads{0, 0, 0, 0, 0, 0, 0, 2, 2};  // seven records are more at home
    EXPECT_TRUE(jackknife_keeps(leads, own, 0.2));               // less than 8
    EXPECT_FALSE(jackknife_keeps(leads, own, 0.3));              // not less than 7
}

TEST(Jackknife, HoldsTheTruthAsOftenAsItSays) {
    // Leave-one-out means of numbers: the simplest training there is.
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal(0, 1);
    constexpr int trials = 4000, n = 19;
    for (const double alpha : {0.1, 0.25}) {
        int held = 0;
        for (int trial = 0; trial < trials; ++trial) {
            std::vector<double> y(n), predictions, residuals;
            double sum = 0;
            for (double& value : y) sum += value = normal(random);
            for (const double value : y) {
                predictions.push_back((sum - value) / (n - 1));
                residuals.push_back(std::abs(value - predictions.back()));
            }
            const PredictionInterval interval = jackknife_interval(predictions, residuals, alpha);
            const double truth = normal(random);
            held += interval.low <= truth && truth <= interval.high ? 1 : 0;
        }
        EXPECT_GE(held, (1 - 2 * alpha) * trials);
        EXPECT_NEAR(held, (1 - alpha) * trials, 0.03 * trials) << "nearly 1 - alpha where training is stable";
    }
}

}  // namespace influence_test
}  // namespace holdfast
