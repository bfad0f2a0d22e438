// What a training is said to take of memory, beside what it takes: the peak of a process of its own.

#include "models/training/memory.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "kernels/backends.hpp"
#include "models/boxes/trainer.hpp"
#include "tests/support/child_process.hpp"

namespace holdfast {
namespace memory_test {

constexpr std::size_t features = 200, count = 300;

Settings settings_of(ChargeRule rule, Relation relation) {
    Settings settings;
    settings.network.hidden = {200};
    settings.training.epochs = 3;
    settings.training.expected_records = count;
    settings.certificate.levels = 12;
    settings.certificate.charge_rule = rule;
    settings.certificate.relation = relation;
    return settings;
}

Records some_records() {
    Records records{FeatureMatrix(features, false), {}, {}, {}};
    std::vector<double> row(features);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < features; ++j)
            row[j] = static_cast<double>((i * 37 + j * 53) % 101) / 101;
        records.features.append(row.data());
        records.labels.push_back(static_cast<std::int32_t>(i % 2));
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

double resident() {
    std::ifstream file("/proc/self/statm");
    double pages = 0, kept = 0;
    file >> pages >> kept;
    return kept * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double peak() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

/// Bytes that two steps of a member, and a checkpoint after them, add to a process.
double taken_by(const TrainingPlan& plan) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork_child([&] {
        omp_set_num_threads(1);
        const Records none{FeatureMatrix(features, false), {}, {}, {}};
        const auto alone = make_serial_communicator();
        const double before = resident();
        MemberTrainer trainer(plan, some_records(), none, MemberTrainer::fresh_state(plan, 0));
        trainer.step(*alone);
        trainer.step(*alone);
        const bool packed = !trainer.state().packed().empty();
        const double taken = peak() - before;
        return packed && write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1;
    });
    double taken = 0;
    EXPECT_EQ(read(ends[0], &taken, sizeof taken), static_cast<ssize_t>(sizeof taken));
    EXPECT_EQ(wait_for(child), 0);
    close(ends[0]);
    close(ends[1]);
    return taken;
}

TrainingPlan plan_of(const Settings& settings) {
    return make_plan(settings, {.features = features, .found = count},
                     make_backend("cpu", settings.training.precision, settings.certificate.product));
}

void expect_as_said(const Settings& settings, const char* what) {
    const TrainingPlan plan = plan_of(settings);
    const double said = memory_of(plan, {count, count, false}, 1).total(), taken = taken_by(plan);
    EXPECT_GT(taken, 16e6) << what << ": too little to be told from a process's own";
    EXPECT_GT(said, 0.8 * taken) << what;
    EXPECT_LT(said, 1.5 * taken) << what;
}

TEST(Memory, IsWhatATrainingTakes) {
    expect_as_said(settings_of(ChargeRule::per_epoch, Relation::add_remove), "cores");
    expect_as_said(settings_of(ChargeRule::per_batch, Relation::add_remove), "charged boxes");
    expect_as_said(settings_of(ChargeRule::per_batch, Relation::substitute), "selections");
    expect_as_said(settings_of(ChargeRule::both, Relation::remove), "both");
    Settings slots = settings_of(ChargeRule::per_epoch, Relation::add_remove);
    slots.training.momentum = 0.5;
    expect_as_said(slots, "momentum");
    slots.training.l2 = 0.1;
    slots.training.precision = Precision::single_precision;
    expect_as_said(slots, "averaged momentum in single precision");
}

TEST(Memory, OfSelectionsGrowsWithTheSquareOfTheLevels) {
    Settings settings = settings_of(ChargeRule::per_batch, Relation::substitute);
    settings.certificate.levels = 50;
    const TrainingPlan plan = plan_of(settings);
    const auto parameters = static_cast<double>(plan.network.parameters());
    const double all = memory_of(plan, {count, count, false}, 1).selections;
    EXPECT_GE(all, 32 * parameters * 1275);  // 2 ends of 2 k values of 8 bytes, k = 1..50
    EXPECT_LT(all, 33 * parameters * 1275);
    TrainingPlan one = plan;
    one.levels = {0, 50};
    EXPECT_LT(memory_of(one, {count, count, false}, 1).selections, all / 20);
    settings.certificate.charge_rule = ChargeRule::per_epoch;
    EXPECT_EQ(memory_of(plan_of(settings), {count, count, false}, 1).selections, 0);
}

TEST(Memory, OfRecordsIsTheirs) {
    const TrainingPlan plan = plan_of(settings_of(ChargeRule::per_epoch, Relation::add_remove));
    const double narrow = memory_of(plan, {1e6, 1e5, false}, 1).records,
                 wide = memory_of(plan, {1e6, 1e5, true}, 1).records;
    EXPECT_EQ(wide - narrow, 4e6 * features);
    EXPECT_GE(narrow, 1e6 * (4 * features + 20));
}

}  // namespace memory_test
}  // namespace holdfast
