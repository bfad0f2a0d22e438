// What labels of a fleet may be released on, by relation.

#include "models/fleet/access_claim.hpp"

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

const DataFacts sound{Scaling::public_constants, IdKind::given, false};

Settings stated() {
    Settings settings;
    settings.training.expected_records = 100;
    return settings;
}

TEST(AccessClaim, IsProvedWhereNothingMoves) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
        const Guarantee claim = access_claim(stated(), sound, relation);
        EXPECT_TRUE(claim.is_proved()) << claim.text();
        EXPECT_EQ(claim.relation(), name_of(relation));
    }
}

TEST(AccessClaim, EachRelationHasItsOwnGaps) {
    const auto proved = [](const Settings& settings, IdKind ids, Relation relation) {
        return access_claim(settings, {Scaling::public_constants, ids, false}, relation).is_proved();
    };
    Settings rows = stated();
    rows.training.batching = Batching::sequential;
    rows.training.batch_size = 10;
    // A record more shifts those behind it; a record replaced keeps its slot.
    EXPECT_FALSE(proved(rows, IdKind::given, Relation::add_remove));
    EXPECT_TRUE(proved(rows, IdKind::given, Relation::substitute));
    EXPECT_FALSE(proved(stated(), IdKind::row_number, Relation::add_remove));
    EXPECT_TRUE(proved(stated(), IdKind::row_number, Relation::substitute));
    // A hash of content is another where the content is.
    EXPECT_TRUE(proved(stated(), IdKind::content, Relation::add_remove));
    EXPECT_FALSE(proved(stated(), IdKind::content, Relation::substitute));
    // The mean over the records that remain is what a training of those takes.
    Settings actual = stated();
    actual.training.normalise = Normalise::actual;
    actual.training.expected_records = 0;
    EXPECT_TRUE(proved(actual, IdKind::given, Relation::add_remove));
    EXPECT_FALSE(access_claim(stated(), {Scaling::private_data, IdKind::given, false}, Relation::add_remove)
                     .is_proved());
}

TEST(AccessClaim, OnlyAddRemoveTellsTheNumberOfRecords) {
    const auto says = [](Relation relation) {
        return access_claim(stated(), sound, relation).text().find("nobody times the answers") !=
               std::string::npos;
    };
    EXPECT_TRUE(says(Relation::add_remove));
    EXPECT_FALSE(says(Relation::substitute));
}

TEST(AccessClaim, NothingRestsOnACountFoundOrOnARegression) {
    const auto refused = [](const Settings& settings, Relation relation) -> std::string {
        try {
            access_claim(settings, sound, relation);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            return error.where();
        }
        return "";
    };
    Settings found = stated();
    found.training.expected_records = 0;
    EXPECT_EQ(refused(found, Relation::add_remove), "training.expected_records");
    EXPECT_EQ(refused(found, Relation::substitute), "");  // neighbours have as many
    Settings numbers = stated();
    numbers.network.classes = 1;
    EXPECT_EQ(refused(numbers, Relation::substitute), "network.classes");
}

}  // namespace
}  // namespace holdfast
