// The vote of a fleet: what all networks answer side by side is, bit by bit, what each answers alone.

#include "models/fleet/vote.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "kernels/backends.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "models/certify/answers.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace fleet_vote_test {

constexpr std::size_t features = 5;
constexpr FeatureRange range{-1.5, 1.75};

struct Case {
    std::vector<std::int64_t> hidden;
    std::int64_t classes;
    const char* loss;
    std::size_t networks;  // the N_-i
    std::size_t queries;
    std::vector<std::string> layers = {};
    std::vector<std::int64_t> image = {};
};

const Case cases[] = {
    {{}, 2, "binary_cross_entropy", 1, 1},
    {{9}, 2, "cross_entropy", 40, 21},
    {{7, 5}, 2, "binary_cross_entropy", 33, 5},
    {{3, 11, 4}, 3, "cross_entropy", 70, 37},
    {{}, 4, "one_vs_rest", 15, 16},
    {{1}, 2, "huber", 17, 3},
    {{50, 50}, 2, "cross_entropy", 64, 50},
};

Settings settings_of(const Case& of, Precision precision) {
    Settings settings;
    if (of.layers.empty()) settings.network.hidden = of.hidden;
    settings.network.layers = of.layers;
    settings.network.image = of.image;
    settings.network.classes = of.classes;
    settings.network.loss = of.loss;
    settings.network.input_shift = 0.25;
    settings.network.input_scale = 0.5;
    settings.training.precision = precision;
    settings.training.expected_records = 100;
    return settings;
}

struct Made {
    TemporaryFolder folder;
    explicit Made(const Case& of, Precision precision, double radius = 0.06, std::size_t columns = features) {
        const Settings settings = settings_of(of, precision);
        const Network network = settings.network.make(settings.feature_map(columns, range));
        test::write_fleet(folder.file("run"), settings, columns, range,
                          test::networks_near(network, of.networks + 1, radius, 3),
                          test::some_ids(of.networks));
    }
    FinishedFleet open() const { return FinishedFleet::open(folder.file("run")); }
};

std::vector<Vote> by_reference(const FleetReader& fleet, const Records& queries) {
    const auto backend = make_backend("reference", fleet.settings().training.precision);
    const auto nominal = answers_of(fleet.network(), *backend, fleet.nominal(), queries).labels;
    std::vector<Vote> votes;
    for (const std::int32_t label : nominal) votes.push_back({label, 0});
    std::vector<std::int64_t> parameters(fleet.network().parameters());
    for (std::int64_t i = 0; i < fleet.count(); ++i) {
        fleet.read(i, 1, parameters);
        const auto labels = answers_of(fleet.network(), *backend, parameters, queries).labels;
        for (std::size_t q = 0; q < queries.size(); ++q) votes[q].against += labels[q] != nominal[q] ? 1 : 0;
    }
    return votes;
}

void expect_equal(const std::vector<Vote>& votes, const std::vector<Vote>& expected) {
    ASSERT_EQ(votes.size(), expected.size());
    for (std::size_t q = 0; q < votes.size(); ++q) {
        EXPECT_EQ(votes[q].label, expected[q].label) << "query " << q;
        EXPECT_EQ(votes[q].against, expected[q].against) << "query " << q;
    }
}

struct VoteTest : ::testing::TestWithParam<Precision> {};

TEST_P(VoteTest, IsWhatEveryNetworkAnswersAloneOnEveryInstructionSet) {
    std::size_t undecided = 0, unanimous = 0;
    for (const Case& of : cases) {
        const Made made(of, GetParam());
        const FinishedFleet fleet = made.open();
        const QuietCommunicator alone;
        for (const bool wide : {false, true}) {
            const Records queries = test::any_queries(of.queries, features, 7, wide);
            const std::vector<Vote> expected = by_reference(fleet.networks, queries);
            for (const std::string& target : simd_targets()) {
                const SimdTargetOverride on(target);
                const FleetOutputs outputs(fleet.networks, alone);
                EXPECT_TRUE(outputs.in_memory());
                expect_equal(vote_of(outputs, alone, outputs.mapped(queries)), expected);
                const FleetOutputs streamed(fleet.networks, alone, 0);
                EXPECT_FALSE(streamed.in_memory());
                expect_equal(vote_of(streamed, alone, streamed.mapped(queries)), expected);
            }
            for (const Vote& vote : expected) (vote.removal_distance() == 1 ? unanimous : undecided) += 1;
        }
    }
    EXPECT_GT(undecided, 20U);
    EXPECT_GT(unanimous, 20U);
}

TEST_P(VoteTest, OutputsAreThoseOfTheEngineToTheLastBit) {
    const Case of{{6, 7}, 3, "cross_entropy", 37, 19};
    const Made made(of, GetParam(), 900);  // up to the limit of parameters, and far beyond saturation
    const FinishedFleet fleet = made.open();
    const QuietCommunicator alone;
    const Records queries = test::any_queries(of.queries, features, 9);
    const FleetOutputs outputs(fleet.networks, alone);
    const auto backend = make_backend("reference", GetParam());
    std::vector<std::int64_t> parameters(fleet.networks.network().parameters());
    std::vector<std::vector<double>> values(37, std::vector<double>(19 * 3));
    std::mutex mutex;
    outputs.visit(outputs.mapped(queries), [&](const ModelsBlock& block) {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < block.count; ++i)
            for (std::size_t r = 0; r < block.records; ++r)
                for (std::size_t o = 0; o < 3; ++o)
                    values[block.first + i][(block.first_record + r) * 3 + o] = block.at(r, o, i);
    });
    for (std::size_t i = 0; i < 37; ++i) {
        fleet.networks.read(static_cast<std::int64_t>(i), 1, parameters);
        EXPECT_EQ(values[i], answers_of(fleet.networks.network(), *backend, parameters, queries).logits);
    }
    EXPECT_EQ(outputs.nominal(queries),
              answers_of(fleet.networks.network(), *backend, fleet.networks.nominal(), queries).logits);
}

TEST_P(VoteTest, NearTiesAreDecidedByTheMarginAsPredictDecides) {
    const Case of{{4}, 2, "cross_entropy", 30, 40};
    TemporaryFolder folder;
    const Settings settings = settings_of(of, GetParam());
    const Network network = settings.network.make(settings.feature_map(features, range));
    auto networks = test::networks_near(network, 31, 0.1, 5);
    const std::size_t last = network.offset(1), columns = 5;
    for (std::size_t i = 0; i < networks.size(); ++i) {  // two rows that differ by a few units in a bias
        std::copy_n(networks[i].begin() + static_cast<std::ptrdiff_t>(last), columns,
                    networks[i].begin() + static_cast<std::ptrdiff_t>(last + columns));
        networks[i].back() += static_cast<std::int64_t>(i % 3) - 1;
    }
    test::write_fleet(folder.file("run"), settings, features, range, networks, test::some_ids(30));
    const FinishedFleet fleet = FinishedFleet::open(folder.file("run"));
    const Records queries = test::any_queries(40, features, 11);
    const FleetOutputs outputs(fleet.networks, QuietCommunicator());
    expect_equal(vote_of(outputs, QuietCommunicator(), queries), by_reference(fleet.networks, queries));
}

TEST_P(VoteTest, ConvolutionsVoteToo) {
    const Case of{{}, 3, "cross_entropy", 9, 12, {"conv 2 3x3", "relu", "dense 5", "relu"}, {1, 5, 5}};
    const Made made(of, GetParam(), 0.2, 25);
    const FinishedFleet fleet = made.open();
    const Records queries = test::any_queries(12, 25, 13);
    const std::vector<Vote> expected = by_reference(fleet.networks, queries);
    for (const std::size_t memory : {std::size_t{0}, FleetOutputs::usual_memory}) {
        const FleetOutputs outputs(fleet.networks, QuietCommunicator(), memory);
        expect_equal(vote_of(outputs, QuietCommunicator(), queries), expected);
    }
}

TEST_P(VoteTest, NoQueriesAndNoOtherNetworks) {
    const Made made({{3}, 2, "cross_entropy", 0, 0}, GetParam());
    const FinishedFleet fleet = made.open();
    const QuietCommunicator alone;
    const FleetOutputs outputs(fleet.networks, alone);
    EXPECT_TRUE(vote_of(outputs, alone, test::any_queries(0, features, 1)).empty());
    for (const Vote& vote : vote_of(outputs, alone, test::any_queries(5, features, 1)))
        EXPECT_EQ(vote.removal_distance(), 1);
}

INSTANTIATE_TEST_SUITE_P(Precisions, VoteTest,
                         ::testing::Values(Precision::double_precision, Precision::single_precision));

}  // namespace fleet_vote_test
}  // namespace holdfast
