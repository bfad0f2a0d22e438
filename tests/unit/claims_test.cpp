#include "models/certify/claims.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>

#include "kernels/base/error.hpp"
#include "models/fleet/access_claim.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "models/kinds/kinds.hpp"

namespace holdfast {
namespace {

const DataFacts good{Scaling::public_constants, IdKind::given};

Settings plain() {
    Settings settings;
    settings.training.expected_records = 100;
    return settings;
}

struct Change {
    const char* name;
    void (*make)(Settings&, DataFacts&);
    const char* words;  ///< of the gap or condition
};

std::string everything(const Guarantee& claim) {
    return claim.to_json().dump();
}

TEST(Claims, AProvedRunStillRestsOnHowItsSettingsWereChosenAndOnItsIds) {
    const Guarantee claim = certificate_claim(plain(), good);
    EXPECT_EQ(claim.status(), "proved");
    EXPECT_EQ(
        claim.conditions(),
        (std::vector<std::string>{
            settings_condition, row_condition, "an id names one person, whatever other records there are",
            "whether a record is among those trained on was settled without regard to the others",
            "either dataset has a record in every split that its import makes"}));
    EXPECT_EQ(claim.relation(), "add_remove");
}

TEST(Claims, WhatBreaksTheProofIsAGap) {
    const Change changes[] = {
        {"private scaling", [](Settings&, DataFacts& facts) { facts.scaling = Scaling::private_data; },
         "range of the private records"},
        {"actual normaliser",
         [](Settings& settings, DataFacts&) { settings.training.normalise = Normalise::actual; },
         "divides by the batch's count"},
        {"sequential batches",
         [](Settings& settings, DataFacts&) { settings.training.batching = Batching::sequential; },
         "rows in order"},
        {"rump", [](Settings& settings, DataFacts&) { settings.certificate.product = Product::rump; },
         "midpoint-radius"},
        {"row numbers", [](Settings&, DataFacts& facts) { facts.ids = IdKind::row_number; },
         "known by row number"},
        {"content ids replaced",
         [](Settings& settings, DataFacts& facts) {
             facts.ids = IdKind::content;
             settings.certificate.relation = Relation::substitute;
         },
         "one removed and one added"},
        {"count found", [](Settings& settings, DataFacts&) { settings.training.expected_records = 0; },
         "divides by the number of records found"}};
    for (const Change& change : changes) {
        Settings settings = plain();
        DataFacts facts = good;
        change.make(settings, facts);
        const Guarantee claim = certificate_claim(settings, facts);
        EXPECT_FALSE(claim.is_proved()) << change.name;
        EXPECT_EQ(claim.status().rfind("as published (gap: ", 0), 0U) << claim.status();
        EXPECT_NE(claim.status().find(change.words), std::string::npos) << claim.status();
    }
}

TEST(Claims, WhatMustHoldIsACondition) {
    const Change changes[] = {
        {"unknown scaling", [](Settings&, DataFacts& facts) { facts.scaling = Scaling::unknown; },
         "public constants"},
        {"no scaling", [](Settings&, DataFacts& facts) { facts.scaling = Scaling::none; },
         "public constants"},
        {"public records", [](Settings&, DataFacts& facts) { facts.public_records = true; },
         "concern nobody whose records are private"},
        {"content ids", [](Settings&, DataFacts& facts) { facts.ids = IdKind::content; },
         "no two records of either dataset are equal"},
        {"a model to start from", [](Settings& settings, DataFacts&) { settings.network.initial = "m.h5"; },
         "network.initial names was made without the private records"},
        {"a model that makes features",
         [](Settings& settings, DataFacts&) { settings.features.map = FeatureSettings::Map::prefix; },
         "features.prefix names was made without the private records"},
        {"sparse levels",
         [](Settings& settings, DataFacts&) {
             settings.certificate.level_list = {1, 5};
         },
         "only the listed levels"}};
    for (const Change& change : changes) {
        Settings settings = plain();
        DataFacts facts = good;
        change.make(settings, facts);
        const Guarantee claim = certificate_claim(settings, facts);
        EXPECT_TRUE(claim.is_proved()) << change.name;
        EXPECT_NE(everything(claim), everything(certificate_claim(plain(), good))) << change.name;
        EXPECT_NE(everything(claim).find(change.words), std::string::npos) << everything(claim);
    }
}

/// Every claim about private records that the program makes of its own: of all kinds of training, and of
/// fleets.
std::map<std::string, std::function<Guarantee(const DataFacts&)>> all_claims() {
    std::map<std::string, std::function<Guarantee(const DataFacts&)>> claims;
    for (const Kind& kind : kinds()) {
        if (kind.name == "dpal") continue;  // which proves nothing
        Settings settings = plain();
        settings.training.kind = kind.name;
        claims[kind.name] = [settings, claim = kind.claim](const DataFacts& facts) {
            return claim(settings, facts);
        };
    }
    claims["fleet"] = [](const DataFacts& facts) { return fleet_claim(plain(), facts); };
    claims["access"] = [](const DataFacts& facts) {
        return access_claim(plain(), facts, Relation::add_remove);
    };
    return claims;
}

TEST(Claims, AStartInTheMiddleNamesNoModel) {
    Settings settings = plain();
    settings.network.initial = "middle";
    EXPECT_EQ(certificate_claim(settings, good).conditions(), certificate_claim(plain(), good).conditions());
}

TEST(Claims, EveryKindKnowsWhatItsFileSaysOfTheRecords) {
    EXPECT_GE(all_claims().size(), 5U);
    for (const auto& [name, claim] : all_claims()) {
        EXPECT_TRUE(claim(good).is_proved()) << name << ": " << claim(good).text();
        for (const char* words : {settings_condition, row_condition,
                                  "whether a record is among those trained on was settled without regard"})
            EXPECT_NE(everything(claim(good)).find(words), std::string::npos) << name << ": " << words;
        // What breaks the proof, whatever is proved.
        DataFacts dealt_by_rows = good, dealt_somehow = good, found = good, scaled = good;
        dealt_by_rows.ids = IdKind::row_number;
        dealt_by_rows.dealt = Dealt::row_number;
        dealt_somehow.ids = IdKind::row_number;
        dealt_somehow.dealt = Dealt::unknown;
        found.count_found = true;
        scaled.scaling = Scaling::private_data;
        for (const DataFacts& facts : {dealt_by_rows, dealt_somehow, found, scaled})
            EXPECT_FALSE(claim(facts).is_proved()) << name << ": " << claim(facts).text();
        // What must hold.
        DataFacts content = good, beside = good, unstated = good, given = good;
        content.ids = IdKind::content;
        content.dealt = Dealt::content;
        beside.public_records = true;
        unstated.scaling = Scaling::unknown;
        given.dealt = Dealt::given;
        for (const auto& [facts, words] : {std::pair{content, "no two records of either dataset are equal"},
                                           {beside, public_records_condition},
                                           {unstated, "scaled by public constants"},
                                           {given, "an id names one person"}}) {
            EXPECT_TRUE(claim(facts).is_proved()) << name << ": " << claim(facts).text();
            EXPECT_NE(everything(claim(facts)).find(words), std::string::npos) << name << ": " << words;
        }
    }
}

TEST(Claims, MeasuredConstantsAreNoGapAndACertificateIsAboutThem) {
    DataFacts measured = good;
    measured.scaling = Scaling::measured;
    measured.measured = true;
    for (const auto& [name, claim] : all_claims()) {
        const Guarantee said = claim(measured);
        EXPECT_TRUE(said.is_proved()) << name << ": " << said.text();
        // What noise draws is private whatever the constants were; boxes and distances are at them.
        EXPECT_EQ(
            everything(said).find("at the constants (ranges, number of records, categories, columns)") ==
                std::string::npos,
            name == "noisy")
            << name << ": " << said.text();
        EXPECT_EQ(said.statement().find("paid for apart") != std::string::npos, name == "noisy") << name;
        EXPECT_NE(everything(said).find("but those measured and paid for"), std::string::npos) << name;
        EXPECT_EQ(everything(claim(good)).find("measured"), std::string::npos) << name;
    }
    const Guarantee constants = claim_about_constants(good, Relation::add_remove, Rational(1, 400));
    EXPECT_TRUE(constants.is_proved());
    EXPECT_NE(constants.statement().find("mu = 0.05"), std::string::npos) << constants.text();
    DataFacts dealt = good;
    dealt.ids = IdKind::row_number;
    dealt.dealt = Dealt::row_number;
    EXPECT_FALSE(claim_about_constants(dealt, Relation::add_remove, Rational(1, 400)).is_proved());
    // What is measured of values that private records have scaled already, as by the places of their texts.
    DataFacts scaled = good;
    scaled.scaling = Scaling::private_data;
    EXPECT_FALSE(claim_about_constants(scaled, Relation::add_remove, Rational(1, 400)).is_proved());
    scaled.scaling = Scaling::none;
    EXPECT_TRUE(claim_about_constants(scaled, Relation::add_remove, Rational(1, 400)).is_proved());
}

TEST(Claims, RowNumbersAreAGapOfAllButWhatDrawsUnderASecretKeyAndWasNotDealt) {
    DataFacts rows = good;
    rows.ids = IdKind::row_number;
    for (const auto& [name, claim] : all_claims())
        EXPECT_EQ(claim(rows).is_proved(), name == "noisy") << name;
}

TEST(Claims, WhoIsReplacedStaysInTheTableUnlessItsContentDealtIt) {
    Settings settings = plain();
    settings.certificate.relation = Relation::substitute;
    DataFacts facts = good;
    facts.ids = IdKind::row_number;
    facts.dealt = Dealt::row_number;
    facts.count_found = true;  // as many before and after
    EXPECT_TRUE(certificate_claim(settings, facts).is_proved());
    facts = good;
    facts.dealt = Dealt::content;
    EXPECT_FALSE(certificate_claim(settings, facts).is_proved());
    EXPECT_FALSE(kind_named("noisy").claim(settings, facts).is_proved());
}

/// Are all conditions of `part` those of `whole` too?
bool rests_on(const Guarantee& whole, const Guarantee& part) {
    const std::vector<std::string>& all = whole.conditions();
    return std::all_of(part.conditions().begin(), part.conditions().end(), [&](const std::string& one) {
        return std::find(all.begin(), all.end(), one) != all.end();
    });
}

TEST(Claims, LabelsRestOnTheRecordsTheDrawTheQueriesAndWhatIsSeen) {
    DataFacts beside = good;
    beside.public_records = true;
    const RecordClaim basis = certificate_claim(plain(), beside);
    Guarantee drawn = Guarantee::proved("each answer is", "add_remove");
    drawn.require("bits are fair");
    const Guarantee unsaid = claim_about_labels(basis, drawn), said = claim_about_labels(basis, drawn, true);
    for (const Guarantee& claim : {unsaid, said}) {
        EXPECT_TRUE(claim.is_proved());
        EXPECT_TRUE(rests_on(claim, basis));
        EXPECT_TRUE(rests_on(claim, drawn));
        for (const char* words : {queries_condition, answered_condition})
            EXPECT_NE(everything(claim).find(words), std::string::npos) << words;
    }
    EXPECT_NE(everything(said).find("the owner is right that the queries are public"), std::string::npos);
    EXPECT_EQ(everything(unsaid).find("the owner is right"), std::string::npos);
}

TEST(Claims, APublicationRestsOnTheRecordsAndOnItsKey) {
    const RecordClaim basis = certificate_claim(plain(), good);
    const Guarantee claim = claim_about_publication(basis, Rational(1, 2), Rational(0));
    EXPECT_TRUE(claim.is_proved());
    EXPECT_EQ(claim.relation(), "add_remove");
    EXPECT_TRUE(rests_on(claim, basis));
    for (const char* words : {"(0.5, 0)-differentially private", "ChaCha20", "nobody times the draws"})
        EXPECT_NE(everything(claim).find(words), std::string::npos) << words;
    DataFacts found = good;
    found.count_found = true;
    EXPECT_FALSE(
        claim_about_publication(certificate_claim(plain(), found), Rational(1), Rational(0)).is_proved());
}

TEST(Claims, TheRelationIsNamed) {
    for (const auto& [relation, name] : {std::pair{Relation::add_remove, "add_remove"},
                                         {Relation::substitute, "substitute"},
                                         {Relation::remove, "remove"},
                                         {Relation::poison, "poison"}}) {
        Settings settings = plain();
        settings.certificate.relation = relation;
        EXPECT_STREQ(name_of(relation), name);
        EXPECT_EQ(certificate_claim(settings, good).relation(), name);
    }
}

TEST(Claims, AgainstPoisonNothingOfCountsAndRowsIsAGap) {
    Settings settings = plain();
    settings.certificate.relation = Relation::poison;
    settings.poison = {.input_radius = 0.25, .labels = Poison::Labels::targeted, .target_label = 1};
    settings.training.batching = Batching::sequential;
    settings.training.normalise = Normalise::actual;
    settings.training.expected_records = 0;
    DataFacts facts = good;
    facts.ids = IdKind::row_number;
    facts.public_records = true;
    const Guarantee claim = certificate_claim(settings, facts);
    EXPECT_TRUE(claim.is_proved()) << claim.status();
    for (const char* words : {"at most 0.25", "becomes 1 or stays", "keeps its row", "records are clean"})
        EXPECT_NE(everything(claim).find(words), std::string::npos) << everything(claim);
    settings.poison.input_radius = 0.1234567;  // "0.123457" would be more
    EXPECT_NE(everything(certificate_claim(settings, facts)).find("at most 0.1234567"), std::string::npos);
    facts.ids = IdKind::content;
    EXPECT_NE(certificate_claim(settings, facts).status().find("poisoned before the import"),
              std::string::npos);
    facts.ids = IdKind::given;
    facts.scaling = Scaling::private_data;
    EXPECT_FALSE(certificate_claim(settings, facts).is_proved());
    settings.certificate.product = Product::rump;
    EXPECT_NE(certificate_claim(settings, good).status().find("midpoint-radius"), std::string::npos);
}

TEST(Claims, AReleaseRestsOnWhatTheCertificateClaims) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
        Settings settings = plain();
        settings.certificate.relation = relation;
        settings.training.batching = Batching::sequential;
        const DataFacts facts{Scaling::unknown, IdKind::row_number};
        EXPECT_EQ(everything(release_claim(settings, facts)), everything(certificate_claim(settings, facts)));
    }
}

TEST(Claims, NoReleaseWhereTheDistanceMayJump) {
    const Change changes[] = {
        {"removals", [](Settings& settings, DataFacts&) { settings.certificate.relation = Relation::remove; },
         "certificate.relation"},
        {"poison", [](Settings& settings, DataFacts&) { settings.certificate.relation = Relation::poison; },
         "certificate.relation"},
        {"sparse levels",
         [](Settings& settings, DataFacts&) {
             settings.certificate.level_list = {1, 2, 3};
         },
         "certificate.level_list"},
        {"rump", [](Settings& settings, DataFacts&) { settings.certificate.product = Product::rump; },
         "certificate.product"},
        {"count found", [](Settings& settings, DataFacts&) { settings.training.expected_records = 0; },
         "training.expected_records"},
        {"actual normaliser",
         [](Settings& settings, DataFacts&) { settings.training.normalise = Normalise::actual; },
         "training.normalise"}};
    for (const Change& change : changes) {
        Settings settings = plain();
        DataFacts facts = good;
        change.make(settings, facts);
        EXPECT_NO_THROW(certificate_claim(settings, facts)) << change.name;
        try {
            release_claim(settings, facts);
            ADD_FAILURE() << change.name;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), change.words);
            EXPECT_NE(error.hint().find("train"), std::string::npos) << error.hint();
        }
    }
}

}  // namespace
}  // namespace holdfast
