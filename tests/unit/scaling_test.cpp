#include "jobs/training/plan/scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using testing::ElementsAre;

StepCost::Measured exactly(const StepCost& cost, double records, double levels) {
    return {records, levels, cost.seconds(records, levels)};
}

StepCost through_four(const StepCost& cost, double few, double many, double levels, double all) {
    return StepCost::through(exactly(cost, few, levels), exactly(cost, many, levels), exactly(cost, few, all),
                             exactly(cost, many, all));
}

const StepCost some_cost{0.5, 0.25, 0.125, 0.0625};  // powers of two: no rounding

TEST(StepCost, IsWhatFourMeasurementsSay) {
    const StepCost found = through_four(some_cost, 8, 64, 1, 32);
    EXPECT_EQ(found.fixed, 0.5);
    EXPECT_EQ(found.level, 0.25);
    EXPECT_EQ(found.record, 0.125);
    EXPECT_EQ(found.record_level, 0.0625);
    EXPECT_EQ(found.seconds(16, 4), 0.5 + 1 + 2 + 4);
    EXPECT_EQ(found.first(16, 4), 0.5 + 1 + 2 + 1);
}

TEST(StepCost, OfOneNumberOfLevelsIsALineOverTheRecords) {
    const StepCost found = through_four(some_cost, 8, 64, 1, 1);
    EXPECT_EQ(found.level, 0);
    EXPECT_EQ(found.record_level, 0);
    EXPECT_EQ(found.seconds(100, 1), some_cost.seconds(100, 1));
}

TEST(StepCost, IsNeverNegativeWhateverTheClockSaid) {
    const StepCost found = StepCost::through({8, 1, 5}, {64, 1, 1}, {8, 4, 0.1}, {64, 4, 0.2});
    for (const double part : {found.fixed, found.level, found.record, found.record_level}) EXPECT_GE(part, 0);
    EXPECT_GE(found.seconds(1e6, 50), found.seconds(1, 1));
}

TEST(Link, AddsNothingOnOneRankAndPassesMessagesTwice) {
    const Link link{1, 1000, false};
    EXPECT_EQ(link.all_reduce(1000, 1), 0);
    EXPECT_EQ(link.all_reduce(0, 8), 0);
    EXPECT_EQ(link.all_reduce(1000, 2), 2 + 1);
    EXPECT_EQ(link.all_reduce(1000, 4), 4 + 1.5);
    EXPECT_EQ(link.all_reduce(1000, 5), 6 + 1.6);
}

Demand some_demand() {
    Demand demand;
    demand.members = 6;
    demand.levels = 4;
    demand.steps = 10;
    demand.records = 1 << 20;
    demand.words_of_level = 100;
    return demand;
}

std::vector<std::string> grids(const std::vector<Prediction>& all) {
    std::vector<std::string> texts;
    for (const Prediction& said : all) texts.push_back(said.layout + " " + said.grid.text());
    return texts;
}

TEST(Predictions, AreOfEveryLayoutOnce) {
    const Demand demand = some_demand();
    EXPECT_THAT(grids(predictions(demand, some_cost, {}, 1)), ElementsAre("data 1x1x1"));
    EXPECT_THAT(grids(predictions(demand, some_cost, {}, 12)),
                ElementsAre("data 1x1x12", "ensemble 6x1x2", "levels 1x4x3"));
    EXPECT_THAT(grids(predictions(demand, some_cost, {}, 7)), ElementsAre("data 1x1x7"));
    for (const Prediction& said : predictions(demand, some_cost, {}, 12))
        EXPECT_EQ(said.taken_by_auto, said.grid.text() == GridShape::of(12, "auto", 6, 4).text());
}

TEST(Predictions, AddUpTheStepsOfMembersOneAfterTheOther) {
    Demand demand = some_demand();
    demand.first_is_point = false;
    const Prediction alone = predictions(demand, some_cost, {}, 1).front();
    EXPECT_EQ(alone.members, 6);
    EXPECT_EQ(alone.communication, 0);
    EXPECT_EQ(alone.seconds, 6 * 10 * some_cost.seconds(1 << 20, 4));
    demand.first_is_point = true;
    EXPECT_EQ(predictions(demand, some_cost, {}, 1).front().seconds,
              6 * (9 * some_cost.seconds(1 << 20, 4) + some_cost.first(1 << 20, 4)));
}

TEST(Predictions, ShareRecordsLevelsAndMembersOut) {
    const Demand demand = some_demand();
    const std::vector<Prediction> all = predictions(demand, some_cost, {}, 12);
    const double even = (1 << 20) / 12.0;
    EXPECT_GT(all[0].records, even);  // the fullest block of a hash
    EXPECT_LT(all[0].records, 1.01 * even);
    EXPECT_EQ(all[0].members, 6);
    EXPECT_EQ(all[1].members, 1);
    EXPECT_EQ(all[1].levels, 4);
    EXPECT_EQ(all[2].levels, 1);
    EXPECT_EQ(all[2].members, 6);
    EXPECT_LT(all[1].communication, all[0].communication);  // of fewer ranks
}

TEST(Predictions, HoldNoMoreRecordsThanThereAre) {
    Demand demand = some_demand();
    demand.records = 3;
    for (const Prediction& said : predictions(demand, some_cost, {}, 4096)) {
        EXPECT_LE(said.records, 3);
        EXPECT_TRUE(std::isfinite(said.seconds));
    }
}

TEST(Predictions, OfRanksThatShareCoresTakeLonger) {
    Demand demand = some_demand();
    const double own = predictions(demand, some_cost, {}, 12).front().computing;
    demand.cores = 6;
    EXPECT_EQ(predictions(demand, some_cost, {}, 12).front().computing, 2 * own);
    demand.threads = 2;
    EXPECT_EQ(predictions(demand, some_cost, {}, 12).front().computing, 4 * own);
    demand.cores = 100;
    EXPECT_EQ(predictions(demand, some_cost, {}, 12).front().computing, own);
}

TEST(Predictions, AddInPartsWhatNoMessageHolds) {
    Demand demand = some_demand();
    const double once = predictions(demand, some_cost, {1e-3, 1e9}, 4).front().communication;
    demand.part_capacity = demand.records / 4;
    EXPECT_GT(predictions(demand, some_cost, {1e-3, 1e9}, 4).front().communication, 3 * once);
}

TEST(GridShape, RefusesWhatDoesNotFit) {
    EXPECT_EQ(GridShape::of(8, "2x2x2", 2, 2).text(), "2x2x2");
    EXPECT_EQ(GridShape::of(8, "auto", 5, 2, 2).text(), "2x1x4");
    for (const char* wanted : {"2x2x1", "4x1x2", "1x4x2", "8", "0x1x8", "2x2xx2", ""})
        EXPECT_THROW(GridShape::of(8, wanted, 2, 2), Error) << wanted;
}

}  // namespace
}  // namespace holdfast
