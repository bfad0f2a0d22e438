// What poisoning at most k records can do, tried by poisoning them and training again: no parameter leaves
// its box, no certified label changes (models/mathematics.md, poisoned sums).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dist/comm/communicator.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/boxes/trainer.hpp"
#include "models/certify/stable_distance.hpp"
#include "tests/support/host_executed.hpp"
#include "tests/support/print.hpp"
#include "tools/checks/attack.hpp"

namespace holdfast {
namespace {

constexpr std::size_t features = 3;
constexpr FeatureRange range{-2, 2};

std::string joined(const AttackReport& report) {
    std::string text;
    for (const std::string& violation : report.violations) text += violation + "\n";
    return text;
}

struct Attack : testing::TestWithParam<Precision> {};

TEST_P(Attack, NoPoisonDrivesAParameterOutOfItsBox) {
    AttackReport total;
    for (std::uint64_t seed = 1; seed <= 150; ++seed) total.add(attack_poison(seed, 0, GetParam()));
    EXPECT_GT(total.attacks, 300);
    EXPECT_EQ(joined(total), "");
    double reached = 0;
    for (const auto& [name, value] : total.tightness) {
        EXPECT_LE(value, 1.0) << name;
        reached = std::max(reached, value);
    }
    EXPECT_GT(reached, 0.95);  // the attacks are no straw men
}

TEST_P(Attack, FindsABoxThatIsOnePoisonedRecordTooSmall) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 200 && found <= 10; ++seed)
        found += attack_poison(seed, 1, GetParam()).violations.empty() ? 0 : 1;
    EXPECT_GT(found, 10);
}

INSTANTIATE_TEST_SUITE_P(Precisions, Attack,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) {
                             return info.param == Precision::single_precision ? "single" : "double";
                         });

Settings settings_of(std::vector<std::int64_t> hidden, Poison poison) {
    Settings settings;
    settings.network.hidden = std::move(hidden);
    settings.training.epochs = 3;
    settings.training.batches = 2;
    settings.training.learning_rate = 0.5;
    settings.training.expected_records = 24;
    settings.clip.gamma = 0.5;
    settings.certificate.levels = 5;
    settings.certificate.relation = Relation::poison;
    settings.certificate.charge_rule = ChargeRule::per_batch;
    settings.poison = poison;
    return settings;
}

Records no_records() {
    return {FeatureMatrix(features, true), {}, {}, {}};
}

/// Two clusters; targets are numbers near the label.
Records some_records(std::size_t count, bool numbers = false, std::uint64_t first_id = 0) {
    std::mt19937_64 engine(count + first_id);
    std::normal_distribution<double> normal;
    Records records = no_records();
    for (std::size_t i = 0; i < count; ++i) {
        const auto label = static_cast<std::int32_t>(i % 2);
        std::vector<double> row(features);
        for (double& value : row) value = label - 0.5 + 0.6 * normal(engine);
        records.features.append(row.data());
        numbers ? records.targets.push_back(label + 0.1 * normal(engine)) : records.labels.push_back(label);
        records.ids.push_back(first_id + i);
        records.rows.push_back(i);
    }
    return records;
}

/// The boxes of all levels.
std::vector<LevelState> trained(const Settings& settings, const Records& records, const Records& clean,
                                const std::string& backend = "cpu") {
    const TrainingPlan plan =
        make_plan(settings, {features, range, records.size(), clean.size()},
                  make_backend(backend, settings.training.precision, settings.certificate.product));
    MemberTrainer trainer(plan, records, clean, MemberTrainer::fresh_state(plan, 0));
    while (!trainer.done()) trainer.step(*make_serial_communicator());
    std::vector<LevelState> boxes;
    for (std::size_t level = 0; level < plan.levels.size(); ++level) boxes.push_back(trainer.box(level));
    return boxes;
}
std::vector<LevelState> trained(const Settings& settings, const Records& records) {
    return trained(settings, records, no_records());
}

bool inside(const LevelState& inner, const LevelState& outer) {
    for (std::size_t p = 0; p < inner.lower.size(); ++p) {
        if (inner.lower[p] < outer.lower[p] || outer.upper[p] < inner.upper[p]) return false;
    }
    return true;
}

bool same(const LevelState& a, const LevelState& b) {
    return a.lower == b.lower && a.upper == b.upper;
}

const Poison everything{.input_radius = 0.1, .labels = Poison::Labels::any};

/// Every network, poison and precision that is looked at.
std::vector<Settings> settings_list() {
    std::vector<Settings> all;
    for (const auto& hidden : std::vector<std::vector<std::int64_t>>{{}, {7}, {6, 5}}) {
        for (const Poison& poison :
             {everything, Poison{.input_radius = 0.05}, Poison{.labels = Poison::Labels::any},
              Poison{.labels = Poison::Labels::targeted, .target_label = 1}}) {
            all.push_back(settings_of(hidden, poison));
            all.back().network.loss = all.size() % 2 == 0 ? "cross_entropy" : "binary_cross_entropy";
            if (all.size() % 4 > 1) all.back().certificate.charge_rule = ChargeRule::both;
            if (all.size() % 3 == 0) all.back().training.precision = Precision::single_precision;
        }
    }
    return all;
}

TEST(Poison, LevelsNestAndGrowUntilABatchIsWhollyPoisoned) {
    for (const Settings& settings : settings_list()) {
        const Records records = some_records(6);
        Settings more = settings;
        more.certificate.levels = 9;
        const std::vector<LevelState> boxes = trained(more, records);
        for (std::size_t k = 1; k < boxes.size(); ++k)
            ASSERT_TRUE(inside(boxes[k - 1], boxes[k])) << "level " << k;
        EXPECT_FALSE(same(boxes[0], boxes[1]));
        if (settings.certificate.charge_rule == ChargeRule::both) continue;  // k times the radius
        for (std::size_t k = records.size(); k < boxes.size(); ++k)
            EXPECT_TRUE(same(boxes[records.size()], boxes[k])) << "level " << k;
    }
}

TEST(Poison, ThatChangesNothingMakesNoBox) {
    for (Settings settings : settings_list()) {
        settings.poison = {};
        const std::vector<LevelState> boxes = trained(settings, some_records(20));
        for (const LevelState& box : boxes) EXPECT_TRUE(same(box, boxes[0]));
    }
}

TEST(Poison, GrowsWithWhatItMayChange) {
    for (const Settings& settings : settings_list()) {
        Settings more = settings;
        more.poison = {.input_radius = 2 * settings.poison.input_radius + 0.01,
                       .labels = Poison::Labels::any};
        const Records records = some_records(20);
        const std::vector<LevelState> boxes = trained(settings, records), wider = trained(more, records);
        for (std::size_t k = 0; k < boxes.size(); ++k) ASSERT_TRUE(inside(boxes[k], wider[k]));
    }
}

TEST(Poison, NeverReachesCleanRecords) {
    const Settings settings = settings_of({7}, everything);
    const std::vector<LevelState> boxes = trained(settings, no_records(), some_records(20));
    for (const LevelState& box : boxes) EXPECT_TRUE(same(box, boxes[0]));
    // Beside private ones they are in every sum.
    const std::vector<LevelState> both = trained(settings, some_records(20), some_records(20, false, 100)),
                                  alone = trained(settings, some_records(20));
    EXPECT_FALSE(same(both[0], alone[0]));
    EXPECT_FALSE(same(both[0], both[1]));
}

TEST(Poison, IsWithinSubstitution) {
    Settings settings = settings_of({7}, {.input_radius = 50, .labels = Poison::Labels::any});
    const Records records = some_records(20);
    const std::vector<LevelState> poisoned = trained(settings, records);
    settings.certificate.relation = Relation::substitute;
    const std::vector<LevelState> replaced = trained(settings, records);
    for (std::size_t k = 0; k < poisoned.size(); ++k) ASSERT_TRUE(inside(poisoned[k], replaced[k]));
}

TEST(Poison, BackendsAgree) {
    for (const Settings& settings : settings_list()) {
        const Records records = some_records(150), clean = some_records(9, false, 1000);
        const std::vector<LevelState> fast = trained(settings, records, clean, "cpu"),
                                      plain = trained(settings, records, clean, "reference");
        for (std::size_t k = 0; k < fast.size(); ++k) ASSERT_TRUE(same(fast[k], plain[k])) << k;
    }
}

// One that no longer counts as a number lies at the low end of the range, and is poisoned from there.
TEST(Poison, MovesRecordsFromWhereTheyCount) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const Settings settings = settings_of({5}, {.input_radius = 0.25});
    Records records = some_records(12);
    std::vector<double>& values = records.features.wide_values();
    values[0] = std::numeric_limits<double>::quiet_NaN();
    values[4] = infinity;
    values[8] = -1e300;
    const std::vector<LevelState> boxes = trained(settings, records);
    for (const auto& [at, moved] : {std::pair{0, -1.75}, std::pair{4, 1.75}, std::pair{8, -1.8}}) {
        Records poisoned = records;
        poisoned.features.wide_values()[static_cast<std::size_t>(at)] = moved;
        EXPECT_TRUE(inside(trained(settings, poisoned)[0], boxes[1])) << moved;
        EXPECT_FALSE(inside(trained(settings, poisoned)[0], boxes[0])) << moved;
    }
}

// Of one step of a logistic regression, whose box nothing widens but the flips: of so many, the worst set for
// a parameter is in no smaller box.
TEST(Poison, HoldsEverySetOfFlippedLabels) {
    Settings settings = settings_of({}, {.labels = Poison::Labels::any});
    settings.certificate.levels = 8;
    settings.training.epochs = settings.training.batches = 1;
    const Records records = some_records(8);
    const std::vector<LevelState> boxes = trained(settings, records);
    int outside = 0;
    for (unsigned set = 0; set < 256; ++set) {
        Records flipped = records;
        std::size_t changed = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            if ((set >> i & 1U) == 0) continue;
            flipped.labels[i] = 1 - flipped.labels[i];
            ++changed;
        }
        const LevelState point = trained(settings, flipped)[0];
        ASSERT_TRUE(inside(point, boxes[changed])) << set;
        outside += changed > 0 && !inside(point, boxes[changed - 1]) ? 1 : 0;
    }
    EXPECT_GE(outside, 8);
}

/// Poisons 300 times; how far the last bias moved, of the room its box leaves, where it moved most.
double poisoned_targets(const Settings& settings) {
    const Records records = some_records(20, true);
    const std::vector<LevelState> boxes = trained(settings, records);
    const std::int64_t nominal = boxes[0].lower.back();
    std::mt19937_64 engine(3);
    std::uniform_real_distribution<double> part(-1, 1);
    double reached = 0;
    for (int trial = 0; trial < 300; ++trial) {
        const std::size_t k = 1 + engine() % 5;
        const double way = trial % 2 == 0 ? settings.poison.target_radius : -settings.poison.target_radius;
        Records poisoned = records;
        for (std::size_t i = 0; i < k; ++i) {
            const std::size_t record = (engine() % 4) * 5 + i;  // all different
            poisoned.targets[record] += trial % 3 == 0 ? way * part(engine) : way;
            for (std::size_t j = 0; j < features; ++j)
                poisoned.features.wide_values()[record * features + j] +=
                    settings.poison.input_radius * part(engine);
        }
        const LevelState point = trained(settings, poisoned)[0];
        EXPECT_TRUE(inside(point, boxes[k])) << trial;
        const double moved = std::abs(static_cast<double>(point.lower.back() - nominal));
        const auto room =
            static_cast<double>(std::max(boxes[k].upper.back() - nominal, nominal - boxes[k].lower.back()));
        reached = std::max(reached, moved / room);
    }
    return reached;
}

TEST(Poison, HoldsEveryTargetOfARegressionWithinItsRadius) {
    Settings settings = settings_of({6}, {.input_radius = 0.02, .target_radius = 0.3});
    settings.network.classes = 1;
    settings.clip.gamma = 4;
    poisoned_targets(settings);
    settings.training.epochs = settings.training.batches = 1;
    EXPECT_GT(poisoned_targets(settings), 0.5);
}

TEST(Poison, IsNotBoundedOnADevice) {
    const Settings settings = settings_of({5}, everything);
    TrainingPlan plan =
        make_plan(settings, {features, range, 9}, make_host_executed_backend(std::size_t{1} << 30));
    MemberTrainer trainer(plan, some_records(9), no_records(), MemberTrainer::fresh_state(plan, 0));
    try {
        trainer.step(*make_serial_communicator());
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_EQ(error.where(), "run.backend");
    }
}

}  // namespace
}  // namespace holdfast
