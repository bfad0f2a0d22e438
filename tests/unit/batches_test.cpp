// Which records a step takes: a matter of each record's own id and the epoch, or, as published, of its row.

#include "models/training/batches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "dist/layout/assignment.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t batches = 4;

Records records_of(std::size_t count) {
    Records records{FeatureMatrix(1, true), {}, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        const double feature = 0;
        records.features.append(&feature);
        records.labels.push_back(0);
        records.ids.push_back(3 * i + 1);
        records.rows.push_back(2 * i);  // the others are another rank's
    }
    return records;
}

std::vector<std::uint32_t> batch(Batches& of, std::int64_t step) {
    const auto indices = of.of_step(step);
    return {indices.begin(), indices.end()};
}

TEST(Batches, AnEpochTakesEveryRecordOnceAndAsItsIdSays) {
    const Records records = records_of(200);
    Batches of({.epochs = 3, .batches = batches, .seed = 5}, records);
    const Assignment assignment(5);
    for (const std::int64_t epoch : {0, 1, 2, 0}) {  // and back, as a run that goes on from a checkpoint
        std::size_t taken = 0;
        for (std::int64_t b = 0; b < batches; ++b) {
            const std::vector<std::uint32_t> indices = batch(of, epoch * batches + b);
            EXPECT_TRUE(std::is_sorted(indices.begin(), indices.end()));
            for (const std::uint32_t i : indices)
                ASSERT_EQ(assignment.batch(records.ids[i], static_cast<std::uint64_t>(epoch), batches),
                          static_cast<std::uint64_t>(b));
            taken += indices.size();
        }
        EXPECT_EQ(taken, records.size());
    }
}

/// The first step whose batches of these two sets of records are not the same; steps() if there is none.
std::int64_t first_difference(const TrainingSettings& settings, const Records& all, const Records& rest) {
    Batches of_all(settings, all), of_rest(settings, rest);
    const auto ids = [](const Records& records, Batches& of, std::int64_t step) {
        std::vector<std::uint64_t> taken;
        for (const std::uint32_t i : of.of_step(step)) taken.push_back(records.ids[i]);
        return taken;
    };
    for (std::int64_t step = 0; step < settings.steps(); ++step) {
        if (ids(all, of_all, step) != ids(rest, of_rest, step)) return step;
    }
    return settings.steps();
}

/// All but one, and those behind it a row further up.
Records without(const Records& all, std::size_t gone) {
    Records rest = all;
    rest.features = records_of(all.size() - 1).features;
    rest.labels.pop_back();
    rest.ids.erase(rest.ids.begin() + static_cast<std::ptrdiff_t>(gone));
    rest.rows.resize(rest.ids.size());
    for (std::size_t i = 0; i < rest.rows.size(); ++i) rest.rows[i] = i;
    return rest;
}

TEST(Batches, AreTheSameWithoutARecordUntilItsFirstStep) {
    Records all = records_of(60);
    for (std::size_t i = 0; i < all.size(); ++i) all.rows[i] = i;
    for (const TrainingSettings& settings :
         {TrainingSettings{.epochs = 3, .batches = 8, .seed = 5}, TrainingSettings{.epochs = 1, .batches = 8},
          TrainingSettings{.epochs = 2, .batches = 1},
          TrainingSettings{.epochs = 2, .batches = 5, .batching = Batching::sequential, .batch_size = 10}}) {
        std::set<std::int64_t> steps;
        for (std::size_t gone = 0; gone < all.size(); ++gone) {
            const std::int64_t step = first_step_of(settings, all.ids[gone], all.rows[gone]);
            ASSERT_EQ(step, first_difference(settings, all, without(all, gone))) << gone;
            steps.insert(step);
        }
        const bool sequential = settings.batching == Batching::sequential;  // the last 10 rows are in none
        EXPECT_EQ(steps.size(), static_cast<std::size_t>(settings.batches + sequential));
        EXPECT_EQ(*steps.rbegin(), sequential ? settings.steps() : settings.batches - 1);
    }
}

TEST(PublicBatches, TakeRowAfterRowAndBeginAgain) {
    const Records records = records_of(7);
    PublicBatches of({.batches = batches, .public_batch_size = 3}, records);
    for (const std::uint32_t step : {0U, 1U, 2U, 3U, 1000000007U, 1U}) {
        const auto taken = of.of_step(step);
        ASSERT_EQ(taken.size(), 3U);
        for (std::uint32_t i = 0; i < 3; ++i) ASSERT_EQ(taken[i], (std::uint64_t{step} * 3 + i) % 7);
    }
    const Records none = records_of(0);
    PublicBatches empty({.batches = batches, .public_batch_size = 3}, none);
    EXPECT_TRUE(empty.of_step(5).empty());
}

TEST(PublicBatches, GoByTheIdsWhereTheyHaveNoSize) {
    const Records records = records_of(50);
    const TrainingSettings settings{.epochs = 2, .batches = batches, .seed = 5};
    PublicBatches of(settings, records);
    Batches by_id(settings, records);
    for (std::int64_t step = 0; step < 2 * batches; ++step) {
        const auto taken = of.of_step(step);
        EXPECT_EQ(std::vector(taken.begin(), taken.end()), batch(by_id, step));
    }
}

TEST(Batches, AloneOneTakesEveryRecordInEveryEpoch) {
    const Records records = records_of(50);
    Batches of({.epochs = 3, .batches = 1}, records);
    for (const std::int64_t step : {0, 1, 2, 0}) {
        const std::vector<std::uint32_t> indices = batch(of, step);
        ASSERT_EQ(indices.size(), records.size());
        for (std::uint32_t i = 0; i < indices.size(); ++i) ASSERT_EQ(indices[i], i);
    }
}

TEST(Batches, SequentialOnesAreRowAfterRowAndLeaveTheRestOut) {
    const Records records = records_of(12);  // rows 0 to 22
    Batches of({.epochs = 2, .batches = batches, .batching = Batching::sequential, .batch_size = 5}, records);
    const std::vector<std::vector<std::uint32_t>> expected{{0, 1, 2}, {3, 4}, {5, 6, 7}, {8, 9}};
    for (std::int64_t step = 0; step < 2 * batches; ++step)
        EXPECT_EQ(batch(of, step), expected[static_cast<std::size_t>(step % batches)]);
}

// Equal draws come about by chance alone: in one of four, whatever is held against what.
TEST(Assignment, DrawsOfAnEpochTellNothingOfAnotherOrOfTheMember) {
    const Assignment assignment(7);
    constexpr std::uint64_t ids = 4000;
    std::uint64_t same_id = 0, next_id = 0, with_member = 0, with_block = 0;
    for (std::uint64_t id = 0; id < ids; ++id) {
        const std::uint64_t later = assignment.batch(id, 1, batches);
        same_id += assignment.batch(id, 0, batches) == later ? 1 : 0;
        next_id += assignment.batch(id + 1, 0, batches) == later ? 1 : 0;
        with_member += assignment.member(id, batches) == later ? 1 : 0;
        with_block += assignment.member(id, batches) == assignment.block(id, batches) ? 1 : 0;
    }
    for (const std::uint64_t same : {same_id, next_id, with_member, with_block}) {
        EXPECT_GT(same, ids / 5);
        EXPECT_LT(same, ids * 3 / 10);
    }
}

}  // namespace
}  // namespace holdfast
