// Leave-one-out fleets and boxes under `remove` speak of the same networks: a label certified at k = 1 is one
// that no removal of a record changes, so the exact vote may never contradict it.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/fleet/vote.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

constexpr std::size_t features = 2;
constexpr FeatureRange range{-2, 2};

/// Two or three clusters that overlap. without: its record is not there, and no other changes.
Records clusters(std::size_t count, std::size_t classes, std::uint64_t seed, std::size_t without = SIZE_MAX) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, 0.6);
    for (std::size_t i = 0; i < count; ++i) {
        const auto label = random() % classes;
        const double row[] = {(label == 0 ? -0.8 : 0.8) + normal(random),
                              (label == 2 ? 1.2 : 0.0) + normal(random)};
        if (i == without) continue;
        records.features.append(row);
        records.labels.push_back(static_cast<std::int32_t>(label));
        records.ids.push_back(1000 + 17 * i);
        records.rows.push_back(i);
    }
    return records;
}

Settings settings_of(std::uint64_t run) {
    Settings settings;
    const std::vector<std::int64_t> widths[] = {{}, {4}, {6, 3}};
    settings.network.hidden = widths[run % 3];
    settings.network.classes = 2 + static_cast<std::int64_t>(run % 2);
    if (settings.network.classes == 2 && run % 4 == 0) settings.network.loss = "cross_entropy";
    settings.training.epochs = 1 + static_cast<std::int64_t>(run % 3);
    settings.training.batches = 1 + static_cast<std::int64_t>(run / 2 % 3);
    settings.training.learning_rate = run % 5 == 0 ? 2 : 0.7;
    settings.training.expected_records = 24;
    settings.training.seed = static_cast<std::int64_t>(run);
    settings.training.precision = run % 7 == 3 ? Precision::single_precision : Precision::double_precision;
    if (run % 4 == 1) settings.training.momentum = 0.8;
    if (run % 4 == 2) settings.training.l2 = 0.05;
    settings.clip.gamma = run % 3 == 0 ? 0.3 : 0.06;
    settings.certificate.levels = 1;
    settings.certificate.relation = Relation::remove;
    settings.certificate.charge_rule = run % 2 == 0 ? ChargeRule::per_epoch : ChargeRule::per_batch;
    return settings;
}

std::unique_ptr<MemberTrainer> trained(const TrainingPlan& plan, Records records, const Records& none) {
    auto trainer =
        std::make_unique<MemberTrainer>(plan, std::move(records), none, MemberTrainer::fresh_state(plan, 0));
    while (!trainer->done()) trainer->step(QuietCommunicator());
    return trainer;
}

TEST(LeaveOneOutOracle, TheExactVoteNeverContradictsABoxCertifiedUnderRemove) {
    constexpr std::size_t records = 24, points = 40;
    const Records none{FeatureMatrix(features, true), {}, {}, {}};
    std::size_t certified = 0, unanimous = 0, contested = 0;
    for (std::uint64_t run = 0; run < 300; ++run) {
        const Settings settings = settings_of(run);
        const auto classes = static_cast<std::size_t>(settings.network.classes);
        const auto backend = make_backend("cpu", settings.training.precision);
        const DataShape facts{.features = features, .range = range, .found = records};
        const TrainingPlan boxes_plan = make_plan(settings, facts, backend);
        const auto boxes = trained(boxes_plan, clusters(records, classes, run), none);
        Settings points_alone = settings;
        points_alone.certificate.levels = 0;
        const TrainingPlan plan = make_plan(points_alone, facts, backend);

        std::vector<std::vector<std::int64_t>> networks{boxes->state().levels.front().lower};
        for (std::size_t i = 0; i < records; ++i)
            networks.push_back(
                trained(plan, clusters(records, classes, run, i), none)->state().levels.front().lower);
        const TemporaryFolder folder;
        test::write_fleet(folder.file("run"), points_alone, features, range, networks,
                          test::some_ids(records));
        const FinishedFleet fleet = FinishedFleet::open(folder.file("run"));

        const Records queries = test::any_queries(points, features, 1000 + run);
        const QuietCommunicator alone;
        const FleetOutputs outputs(fleet.networks, alone);
        const std::vector<Vote> votes = vote_of(outputs, alone, queries);
        const LevelLoader load = [&](std::size_t level, auto& lower, auto& upper) {
            const LevelState box = boxes->box(level);
            lower = box.lower;
            upper = box.upper;
        };
        const Certificates found =
            certify(boxes_plan.network, *backend, queries, 2, load, LevelSearch::exhaustive);
        for (std::size_t q = 0; q < points; ++q) {
            ASSERT_EQ(votes[q].label, found.labels[q]) << "run " << run << " query " << q;
            if (found.distances[q] >= 1) {
                ASSERT_EQ(votes[q].against, 0) << "run " << run << " query " << q;
            }
            certified += found.distances[q] >= 1 ? 1 : 0;
            unanimous += votes[q].removal_distance() == 1 ? 1 : 0;
            contested += votes[q].removal_distance() == 0 ? 1 : 0;
        }
    }
    EXPECT_GT(certified, 1000U);
    EXPECT_GT(unanimous, certified) << "boxes enclose more than one removal does";
    EXPECT_GT(contested, 100U);
    RecordProperty("certified", static_cast<int>(certified));
    RecordProperty("unanimous", static_cast<int>(unanimous));
}

}  // namespace
}  // namespace holdfast
