#include "models/convex/convex_claim.hpp"

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"
#include "tests/support/convex_runs.hpp"

namespace holdfast {
namespace convex_claim_test {

const DataFacts sound{.scaling = Scaling::public_constants, .ids = IdKind::given};

TEST(ConvexClaim, IsProvedUnderItsConditions) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        Settings settings = test::convex_settings();
        settings.certificate.relation = relation;
        const Guarantee claim = convex_claim(settings, sound);
        EXPECT_TRUE(claim.is_proved());
        EXPECT_EQ(claim.relation(), name_of(relation));
        // Of settings, persons, splits, what an id names, and where counts differ of a record in each split.
        EXPECT_EQ(claim.conditions().size(), relation == Relation::substitute ? 4u : 5u);
    }
}

TEST(ConvexClaim, WhatBreaksTheProofIsAGap) {
    Settings settings = test::convex_settings();
    DataFacts facts = sound;
    facts.ids = IdKind::row_number;
    EXPECT_FALSE(convex_claim(settings, facts).is_proved());
    facts = sound;
    facts.scaling = Scaling::private_data;
    EXPECT_FALSE(convex_claim(settings, facts).is_proved());
    facts = sound;
    facts.ids = IdKind::content;
    EXPECT_TRUE(convex_claim(settings, facts).is_proved());
    settings.certificate.relation = Relation::substitute;
    EXPECT_FALSE(convex_claim(settings, facts).is_proved());
}

TEST(ConvexClaim, WhatIsTakenForPublicIsACondition) {
    Settings settings = test::convex_settings();
    DataFacts facts = sound;
    facts.public_records = true;
    EXPECT_EQ(convex_claim(settings, facts).conditions().back(), public_records_condition);
    settings.features.map = FeatureSettings::Map::prefix;
    EXPECT_EQ(convex_claim(settings, sound).conditions().back(),
              "the model that features.prefix names was made without the private records");
}

TEST(ConvexClaim, NoReleaseRestsOnRemovals) {
    Settings settings = test::convex_settings();
    EXPECT_NO_THROW(convex_release_claim(settings, sound));
    settings.certificate.relation = Relation::remove;
    EXPECT_THROW(convex_release_claim(settings, sound), Error);
}

TEST(ConvexClaim, SettledSettingsSayHowManyRecordsCount) {
    Settings settings = test::convex_settings();
    settings.certificate.levels = 50;
    const Settings settled = kind_named("convex").settled(settings);
    EXPECT_EQ(settled.convex.most_records, 32);
    EXPECT_EQ(settled.certificate.levels, 0);
    EXPECT_EQ(kind_named("convex").settled(settled).convex.most_records, 32);
    settings.training.expected_records = 0;
    EXPECT_THROW(kind_named("convex").settled(settings), Error);
}

}  // namespace convex_claim_test
}  // namespace holdfast
