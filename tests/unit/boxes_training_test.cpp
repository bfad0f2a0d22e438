#include "models/boxes/boxes_training.hpp"

#include <gtest/gtest.h>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using Payload = CheckpointFolder::Payload;

struct BoxesTrainingTest : ::testing::Test {
    static Settings settings() {
        Settings settings;
        settings.network.hidden = {3};
        settings.certificate.levels = 3;
        settings.training.epochs = 3;
        settings.training.expected_records = 20;
        settings.ensemble.members = 2;
        return settings;
    }
    static Records records() {
        Records records{FeatureMatrix(2, false), {}, {}, {}};
        for (std::uint64_t i = 0; i < 20; ++i) {
            const double row[] = {0.1 * static_cast<double>(i), 1.0 - 0.3 * static_cast<double>(i % 4)};
            records.features.append(row);
            records.labels.push_back(static_cast<std::int32_t>(i % 2));
            records.ids.push_back(100 + i);
            records.rows.push_back(i);
        }
        return records;
    }
    TrainingPlan plan_of_levels(std::vector<std::int64_t> levels) const {
        TrainingPlan part = make_plan(settings(), {.features = 2}, backend);
        part.levels = std::move(levels);
        return part;
    }
    std::unique_ptr<Training> training(const TrainingPlan& plan) const {
        return kind_named("boxes").training(plan, none, grid, nullptr);
    }
    void train_to(Trainer& trainer, std::int64_t steps) const {
        PhaseTimes times;
        while (trainer.steps_done() < steps) trainer.step(*world, times);
    }
    /// The states that ranks with these levels leave after two steps.
    std::vector<Payload> saved(const std::vector<std::vector<std::int64_t>>& parts) const {
        std::vector<Payload> payloads;
        for (const std::vector<std::int64_t>& levels : parts) {
            const TrainingPlan plan = plan_of_levels(levels);
            const auto trainer = training(plan)->start(1, records(), {});
            train_to(*trainer, 2);
            payloads.push_back(trainer->packed_state());
        }
        return payloads;
    }
    ExitCode code_of(std::size_t member, const std::vector<Payload>& payloads) const {
        const TrainingPlan plan = plan_of_levels({0, 1, 2, 3});
        try {
            training(plan)->start(member, records(), payloads);
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            return error.code();
        }
        return ExitCode::success;
    }

    TemporaryFolder folder;
    std::unique_ptr<Communicator> world = make_serial_communicator();
    std::shared_ptr<const Backend> backend = make_backend("reference");
    ProcessGrid grid{*world, "auto", 2, 4};
    Records none{FeatureMatrix(2, false), {}, {}, {}};
};

TEST_F(BoxesTrainingTest, GoesOnFromThePartsOfAnyGridToTheSameResult) {
    const TrainingPlan plan = plan_of_levels({0, 1, 2, 3});
    const auto finished = [&](const std::vector<Payload>& payloads, const std::string& name) {
        const auto trainer = training(plan)->start(1, records(), payloads);
        EXPECT_EQ(trainer->steps_done(), payloads.empty() ? 0 : 2);
        train_to(*trainer, trainer->steps());
        EXPECT_TRUE(trainer->done());
        const MemberStore store(RunFolder::create(folder.file(name), false), "fingerprint");
        trainer->write_result(store);
        MemberReader reader(store, 1, 4, plan.network.parameters());
        std::vector<std::vector<std::int64_t>> boxes(8);
        for (std::size_t level = 0; level < 4; ++level) reader.read(boxes[2 * level], boxes[2 * level + 1]);
        return std::pair(boxes, reader.finish());
    };
    const auto whole = finished({}, "whole");
    EXPECT_EQ(whole.first[0], whole.first[1]);  // the nominal run is a point
    EXPECT_NE(whole.first[6], whole.first[7]);
    EXPECT_EQ(finished(saved({{0, 1, 2, 3}}), "one"), whole);
    EXPECT_EQ(finished(saved({{2, 3}, {0}, {1}}), "three"), whole);
}

TEST_F(BoxesTrainingTest, AStateThatLacksLevelsOrIsOfAnotherMemberIsRefused) {
    EXPECT_EQ(code_of(1, saved({{0, 1}, {2, 3}})), ExitCode::success);
    EXPECT_EQ(code_of(1, saved({{0, 1}, {3}})), ExitCode::input);
    EXPECT_EQ(code_of(0, saved({{0, 1, 2, 3}})), ExitCode::input);
    EXPECT_EQ(code_of(1, {Payload(7)}), ExitCode::input);
}

TEST_F(BoxesTrainingTest, JoinsEveryMemberInOrder) {
    const TrainingPlan plan = plan_of_levels({0, 1, 2, 3});
    const auto boxes = training(plan);
    const RunFolder run = RunFolder::create(folder.file("run"), false);
    const MemberStore store(run, "fingerprint");
    for (const std::size_t member : {1, 0}) {
        EXPECT_THROW(boxes->join(run, store), Error) << "a member is missing";
        const auto trainer = boxes->start(member, records(), {});
        train_to(*trainer, trainer->steps());
        trainer->write_result(store);
    }
    EXPECT_EQ(boxes->join(run, store), boxes->join(run, store));
    const BoxesReader reader(run);
    EXPECT_EQ(reader.members(), 2U);
    EXPECT_EQ(reader.levels(), plan.settings.certificate.level_values());
    std::vector<std::int64_t> lower, upper, expected_lower, expected_upper;
    MemberReader second(store, 1, 4, plan.network.parameters());
    for (std::size_t level = 0; level < 4; ++level) {
        reader.read(1, level, lower, upper);
        second.read(expected_lower, expected_upper);
        EXPECT_EQ(lower, expected_lower);
        EXPECT_EQ(upper, expected_upper);
    }
    const std::string metrics = folder.read("run/metrics.jsonl");
    EXPECT_LT(metrics.find("\"member\":0"), metrics.find("\"member\":1"));
    EXPECT_TRUE(metrics.ends_with(second.finish()));
}

}  // namespace
}  // namespace holdfast
