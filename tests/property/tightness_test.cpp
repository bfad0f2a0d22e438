// Boxes beside the trainings on every neighbour of a catalogue: none leaves its box, and how much wider the
// boxes are is known (models/mathematics.md, enclosure).

#include "tools/checks/tightness.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(Tightness, EveryNeighbourIsHeld) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
            TightnessProblem problem;
            problem.relation = relation;
            problem.charge_rule = rule;
            problem.records = 12;
            const Tightness tightness = tightness_of(problem);
            EXPECT_TRUE(tightness.held);
            EXPECT_GE(tightness.trainings, 12);
            ASSERT_EQ(tightness.rows.size(), 12U);
            for (const TightnessRow& row : tightness.rows) {
                EXPECT_GT(row.reached, 0) << row.step;
                EXPECT_GE(row.box, row.reached) << row.step;
            }
        }
    }
}

TEST(Tightness, TwoChangesReachFurtherThanOne) {
    TightnessProblem problem;
    problem.records = 6;
    problem.batches = 1;
    const Tightness one = tightness_of(problem);
    problem.k = 2;
    const Tightness two = tightness_of(problem);
    EXPECT_TRUE(two.held);
    // 26 changes of one record; of two 15 pairs of removals, 6 times 20 of either, 190 of additions.
    EXPECT_EQ(one.trainings, 26);
    EXPECT_EQ(two.trainings, 26 + 15 + 120 + 190);
    for (std::size_t i = 0; i < one.rows.size(); ++i) EXPECT_GT(two.rows[i].reached, one.rows[i].reached);
}

}  // namespace
}  // namespace holdfast
