// A fleet's networks (models/fleet/fleet_trainer.hpp): each is, bit by bit, what training makes of the
// records without the one it leaves out.

#include "models/fleet/fleet_trainer.hpp"

#include <gtest/gtest.h>

#include <random>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/pass/engine_models_pass.hpp"
#include "models/boxes/trainer.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "tests/support/host_executed.hpp"

namespace holdfast {
namespace {

using Parameters = std::vector<std::int64_t>;

/// Of rows 0, 1, ..., but for `without`, which keeps its row from nobody else: ids and rows stay.
Records some_records(std::size_t count, std::size_t features, std::size_t classes, std::uint64_t seed,
                     std::size_t without = SIZE_MAX) {
    Records records{FeatureMatrix(features, false), {}, {}, {}};
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> row(features);
    for (std::size_t i = 0; i < count; ++i) {
        for (double& value : row) value = engine() % 7 == 0 ? 0 : uniform(engine);
        const auto label = static_cast<std::int32_t>(engine() % classes);
        if (i == without) continue;
        records.features.append(row.data());
        records.labels.push_back(label);
        if (classes == 1) records.targets.push_back(row[0] - row[1]);
        records.ids.push_back(1000 + 17 * i);
        records.rows.push_back(i);
    }
    return records;
}

struct Case {
    Settings settings;
    std::size_t records = 40, features = 3;
};

Settings base(Clip::Kind clip = Clip::Kind::elementwise) {
    Settings settings;
    settings.network.hidden = {5, 4};
    settings.network.classes = 3;
    settings.training.epochs = 3;
    settings.training.batches = 4;
    settings.training.learning_rate = 0.8;
    settings.training.expected_records = 40;
    settings.training.seed = 5;
    settings.clip.kind = clip;
    settings.certificate.levels = 0;
    return settings;
}

std::vector<Case> clipped_cases() {
    std::vector<Case> cases(9);
    for (Case& of : cases) of.settings = base();
    cases[1].settings.clip.kind = Clip::Kind::factored;
    cases[2].settings.training.momentum = 0.9;
    cases[2].settings.clip.kind = Clip::Kind::factored;
    cases[3].settings.training.l2 = 0.01;
    cases[3].settings.training.l1 = 0.002;
    cases[3].settings.training.learning_rate_decay = 0.1;
    cases[4].settings.training.momentum = 0.5;
    cases[4].settings.training.nesterov = true;
    cases[4].settings.training.l2 = 0.01;
    cases[5].settings.training.normalise = Normalise::actual;
    cases[5].settings.training.batches = 2;
    cases[5].settings.training.momentum = 0.5;
    cases[6].settings.training.batching = Batching::sequential;
    cases[6].settings.training.batch_size = 9;  // the last four rows are in no batch
    cases[7].settings.network.bias = false;
    cases[7].settings.network.hidden = {6};
    cases[8].settings.network.classes = 1;
    cases[8].settings.network.loss = "squared_error";
    return cases;
}

TrainingPlan plan_of(const Case& of, Precision precision) {
    Settings settings = of.settings;
    settings.training.precision = precision;
    return make_plan(settings, {.features = of.features, .found = of.records},
                     make_backend("cpu", precision));
}

Parameters trained(const TrainingPlan& plan, Records records) {
    const Records none{FeatureMatrix(records.features.columns(), true), {}, {}, {}};
    MemberTrainer trainer(plan, std::move(records), none, MemberTrainer::fresh_state(plan, 0));
    while (!trainer.done()) trainer.step(*make_serial_communicator());
    return trainer.state().levels.front().lower;
}

Parameters network(const Parameters& fleet, std::size_t i, std::size_t parameters) {
    const auto first = fleet.begin() + static_cast<std::ptrdiff_t>(i * parameters);
    return {first, first + static_cast<std::ptrdiff_t>(parameters)};
}

std::vector<std::size_t> nothing_then_all(std::size_t records) {
    std::vector<std::size_t> left_out{nothing_left_out};
    for (std::size_t i = 0; i < records; ++i) left_out.push_back(i);
    return left_out;
}

struct FleetTest : ::testing::TestWithParam<Precision> {
    std::unique_ptr<ModelsPass> pass(const TrainingPlan& plan, const std::string& backend = "cpu") const {
        return make_models_pass(backend, GetParam(), plan.network.shape(), plan.settings.clip);
    }
};

TEST_P(FleetTest, EveryNetworkIsWhatTrainingMakesOfTheRecordsWithoutItsOwn) {
    std::uint64_t seed = 0;
    for (const Case& of : clipped_cases()) {
        const TrainingPlan plan = plan_of(of, GetParam());
        const auto classes = static_cast<std::size_t>(of.settings.network.classes);
        const Records all = some_records(of.records, of.features, classes, ++seed);
        const FleetTrainer trainer(plan, all, nothing_then_all(of.records));
        const Parameters fleet = *trainer.train(0, of.records + 1, *pass(plan), {});
        const std::size_t parameters = plan.network.parameters();
        ASSERT_EQ(fleet.size(), (of.records + 1) * parameters);
        const Parameters nominal = trained(plan, all);
        EXPECT_EQ(network(fleet, 0, parameters), nominal) << seed;
        std::size_t different = 0;
        for (std::size_t i = 0; i < of.records; ++i) {
            const Records left = some_records(of.records, of.features, classes, seed, i);
            const Parameters own = network(fleet, i + 1, parameters);
            EXPECT_EQ(own, trained(plan, left)) << seed << " without " << i;
            different += own != nominal;
        }
        EXPECT_GE(different, of.records - 8) << "a record left out is missed";
    }
}

TEST_P(FleetTest, WithoutAClipEveryNetworkIsTheFirstOfTheFleetWithoutItsRecord) {
    for (Case of : clipped_cases()) {
        of.settings.clip.kind = Clip::Kind::none;
        const TrainingPlan plan = plan_of(of, GetParam());
        const auto classes = static_cast<std::size_t>(of.settings.network.classes);
        const Records all = some_records(of.records, of.features, classes, 7);
        const FleetTrainer trainer(plan, all, nothing_then_all(of.records));
        const std::size_t parameters = plan.network.parameters();
        const Parameters fleet = *trainer.train(0, of.records + 1, *pass(plan), {});
        EXPECT_EQ(fleet, *trainer.train(0, of.records + 1, *pass(plan, "reference"), {}));
        for (std::size_t i = 0; i < of.records; i += 7) {
            const Records left = some_records(of.records, of.features, classes, 7, i);
            const FleetTrainer alone(plan, left, {nothing_left_out});
            EXPECT_EQ(network(fleet, i + 1, parameters), *alone.train(0, 1, *pass(plan), {})) << i;
        }
    }
}

/// The same records, one to four in a row to a person; but for one person, if `without` is one.
Records some_persons(std::size_t count, std::size_t features, std::size_t classes, std::uint64_t seed,
                     std::size_t without = SIZE_MAX) {
    const Records rows = some_records(count, features, classes, seed);
    Records persons{FeatureMatrix(features, false), {}, {}, {}};
    for (std::size_t i = 0, person = 0, end = 1; i < count; ++i) {
        if (i == end) end += 1 + ++person % 4;
        if (person == without) continue;
        persons.features.append_row_of(rows.features, i);
        persons.labels.push_back(rows.labels[i]);
        if (!rows.targets.empty()) persons.targets.push_back(rows.targets[i]);
        persons.ids.push_back(500 + 13 * person);
        persons.rows.push_back(i);
    }
    weigh_persons(persons, 4, "test");
    return persons;
}

TEST_P(FleetTest, APersonIsLeftOutWithAllRows) {
    std::uint64_t seed = 0;
    for (Case of : clipped_cases()) {
        if (of.settings.training.batching == Batching::sequential) continue;  // refused
        const auto classes = static_cast<std::size_t>(of.settings.network.classes);
        of.settings.training.rows_at_most = 4;
        const Records all = some_persons(of.records, of.features, classes, ++seed);
        std::vector<std::size_t> left_out{nothing_left_out};
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i == 0 || all.ids[i] != all.ids[i - 1]) left_out.push_back(i);
        ASSERT_LT(left_out.size(), of.records / 2);
        for (const bool clipped : {true, false}) {
            if (!clipped) of.settings.clip.kind = Clip::Kind::none;
            const TrainingPlan plan = plan_of(of, GetParam());
            const auto engine = make_engine_models_pass(
                plan.backend->engine(plan.network.shape(), clipped ? plan.settings.clip : Clip{}),
                plan.network.shape(), 7);
            const auto own_pass = clipped ? nullptr : pass(plan);
            const FleetTrainer trainer(plan, all, left_out);
            const std::size_t parameters = plan.network.parameters();
            const Parameters fleet = *trainer.train(0, left_out.size(), clipped ? *engine : *own_pass, {});
            if (!clipped) {
                EXPECT_EQ(fleet, *trainer.train(0, left_out.size(), *pass(plan, "reference"), {}));
            }
            std::size_t different = 0;
            for (std::size_t person = 0; person + 1 < left_out.size(); ++person) {
                const Records left = some_persons(of.records, of.features, classes, seed, person);
                const FleetTrainer alone(plan, left, {nothing_left_out});
                const Parameters expected = clipped ? trained(plan, left) : *alone.train(0, 1, *own_pass, {});
                EXPECT_EQ(network(fleet, person + 1, parameters), expected) << seed << " without " << person;
                different += expected != network(fleet, 0, parameters);
            }
            EXPECT_GE(different + 5, left_out.size()) << "a person left out is missed";
        }
    }
}

TEST(FleetOnADevice, IsTheFleetOfTheHost) {
    constexpr std::size_t memory = std::size_t{1} << 26;
    for (Case of : clipped_cases()) {
        for (const Clip::Kind clip : {of.settings.clip.kind, Clip::Kind::none}) {
            of.settings.clip.kind = clip;
            const TrainingPlan plan = plan_of(of, Precision::double_precision);
            const NetworkShape shape = plan.network.shape();
            const Records all = some_records(of.records, of.features,
                                             static_cast<std::size_t>(of.settings.network.classes), 7);
            const FleetTrainer trainer(plan, all, nothing_then_all(of.records));
            const auto host = make_models_pass("cpu", Precision::double_precision, shape, plan.settings.clip);
            const auto device =
                make_host_executed_models_pass(shape, plan.settings.clip, {.networks = 4}, memory);
            EXPECT_EQ(*trainer.train(0, 7, *device, {}), *trainer.train(0, 7, *host, {}));
        }
    }
}

TEST_P(FleetTest, AnySliceOfAFleetIsTheSameNetworks) {
    const Case of{base()};
    const TrainingPlan plan = plan_of(of, GetParam());
    const Records all = some_records(of.records, of.features, 3, 3);
    const FleetTrainer trainer(plan, all, nothing_then_all(of.records));
    const std::size_t parameters = plan.network.parameters();
    const Parameters fleet = *trainer.train(0, 41, *pass(plan), {});
    for (const auto& [first, count] :
         {std::pair<std::size_t, std::size_t>{0, 1}, {3, 2}, {17, 24}, {40, 1}}) {
        const Parameters some = *trainer.train(first, count, *pass(plan), {});
        ASSERT_EQ(some.size(), count * parameters);
        EXPECT_TRUE(std::equal(some.begin(), some.end(),
                               fleet.begin() + static_cast<std::ptrdiff_t>(first * parameters)))
            << first;
    }
    const auto engine = make_engine_models_pass(
        plan.backend->engine(plan.network.shape(), plan.settings.clip), plan.network.shape(), 7);
    EXPECT_EQ(*trainer.train(0, 41, *engine, {}), fleet);
}

TEST_P(FleetTest, ConvolutionsAreTrainedByAnEngine) {
    Case of{base(), 12, 16};
    of.settings.network.hidden = NetworkSettings{}.hidden;
    of.settings.network.image = {1, 4, 4};
    of.settings.network.layers = {"conv 2 3x3", "dense 4"};
    const TrainingPlan plan = plan_of(of, GetParam());
    const Records all = some_records(of.records, of.features, 3, 3);
    const FleetTrainer trainer(plan, all, nothing_then_all(of.records));
    const auto engine = make_engine_models_pass(
        plan.backend->engine(plan.network.shape(), plan.settings.clip), plan.network.shape(), 4);
    const Parameters fleet = *trainer.train(0, 13, *engine, {});
    EXPECT_EQ(network(fleet, 0, plan.network.parameters()), trained(plan, all));
    EXPECT_EQ(network(fleet, 6, plan.network.parameters()),
              trained(plan, some_records(of.records, of.features, 3, 3, 5)));
}

TEST_P(FleetTest, OneRecordAndABatchOfNothingAreTrained) {
    for (const Normalise normalise : {Normalise::expected, Normalise::actual}) {
        for (const Clip::Kind clip : {Clip::Kind::elementwise, Clip::Kind::none}) {
            Case of{base(clip), 1};
            of.settings.training.normalise = normalise;
            of.settings.training.l2 = 0.01;
            const TrainingPlan plan = plan_of(of, GetParam());
            const Records all = some_records(1, of.features, 3, 3);
            const FleetTrainer trainer(plan, all, {nothing_left_out, 0});
            const Parameters fleet = *trainer.train(0, 2, *pass(plan), {});
            const Records none = some_records(1, of.features, 3, 3, 0);
            const FleetTrainer alone(plan, none, {nothing_left_out});
            EXPECT_EQ(network(fleet, 1, plan.network.parameters()), *alone.train(0, 1, *pass(plan), {}));
            EXPECT_NE(network(fleet, 1, plan.network.parameters()),
                      network(fleet, 0, plan.network.parameters()));
            // Without records a network only decays.
            const Parameters initial = plan.initial_parameters(0);
            for (std::size_t p = 0; p < initial.size(); ++p)
                EXPECT_LE(std::abs(fleet[initial.size() + p]), std::abs(initial[p]));
        }
    }
}

TEST_P(FleetTest, AStoppedFleetGivesNothing) {
    const Case of{base()};
    const TrainingPlan plan = plan_of(of, GetParam());
    const Records all = some_records(of.records, of.features, 3, 3);
    const FleetTrainer trainer(plan, all, nothing_then_all(of.records));
    int asked = 0;
    EXPECT_FALSE(trainer.train(0, 41, *pass(plan), [&] { return ++asked > 9; }));
    EXPECT_EQ(asked, 10);
}

TEST(FleetSettings, WhatNoFleetIsTrainedByIsRefused) {
    const auto refused = [](const Settings& settings) -> std::string {
        try {
            check_fleet(settings);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            return error.where();
        }
        return "";
    };
    for (const Clip::Kind kind : {Clip::Kind::elementwise, Clip::Kind::factored, Clip::Kind::none})
        EXPECT_EQ(refused(base(kind)), "");
    for (const Clip::Kind kind : {Clip::Kind::norm, Clip::Kind::record_norm, Clip::Kind::tensor_norm})
        EXPECT_EQ(refused(base(kind)), "clip.kind");
    Settings settings = base();
    settings.ensemble.members = 2;
    EXPECT_EQ(refused(settings), "ensemble.members");
    settings = base();
    settings.training.kind = "noisy";
    EXPECT_EQ(refused(settings), "training.kind");
    settings = base();
    settings.training.public_batch_size = 2;
    EXPECT_EQ(refused(settings), "training.public_batch_size");
    settings = base();
    settings.certificate.product = Product::rump;
    EXPECT_EQ(refused(settings), "certificate.product");
}

TEST(FleetClaim, IsProvedOfIdsAndWeakerOfRows) {
    const DataFacts given{Scaling::public_constants, IdKind::given, false};
    EXPECT_TRUE(fleet_claim(base(), given).is_proved());
    EXPECT_FALSE(fleet_claim(base(), {Scaling::public_constants, IdKind::row_number, false}).is_proved());
    Settings rows = base();
    rows.training.batching = Batching::sequential;
    EXPECT_FALSE(fleet_claim(rows, given).is_proved());
    Settings counted = base();
    counted.training.normalise = Normalise::actual;
    EXPECT_TRUE(fleet_claim(counted, given).is_proved());
    EXPECT_NE(fleet_claim(counted, given).statement(), fleet_claim(base(), given).statement());
}

INSTANTIATE_TEST_SUITE_P(Precisions, FleetTest,
                         ::testing::Values(Precision::double_precision, Precision::single_precision));

}  // namespace
}  // namespace holdfast
