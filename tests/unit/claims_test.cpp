#include "models/certify/claims.hpp"

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

const DataFacts good{Scaling::public_constants, true};

Settings plain() {
    Settings settings;
    settings.expected_records = 100;
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

TEST(Claims, AProvedRunNeedsNoCondition) {
    const Guarantee claim = certificate_claim(plain(), good);
    EXPECT_EQ(claim.status(), "proved");
    EXPECT_TRUE(claim.conditions().empty());
    EXPECT_EQ(claim.relation(), "add_remove");
}

TEST(Claims, WhatBreaksTheProofIsAGap) {
    const Change changes[] = {
        {"private scaling", [](Settings&, DataFacts& facts) { facts.scaling = Scaling::private_data; },
         "range of the private records"},
        {"actual normaliser", [](Settings& settings, DataFacts&) { settings.normalise = Normalise::actual; },
         "divides by the batch's count"},
        {"sequential batches",
         [](Settings& settings, DataFacts&) { settings.batching = Batching::sequential; }, "rows in order"},
        {"rump", [](Settings& settings, DataFacts&) { settings.product = Product::rump; },
         "midpoint-radius"}};
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
        {"no ids", [](Settings&, DataFacts& facts) { facts.has_ids = false; }, "row number"},
        {"count found", [](Settings& settings, DataFacts&) { settings.expected_records = 0; },
         "rounded to two digits"},
        {"sparse levels",
         [](Settings& settings, DataFacts&) {
             settings.level_list = {1, 5};
         },
         "only the listed levels"}};
    for (const Change& change : changes) {
        Settings settings = plain();
        DataFacts facts = good;
        change.make(settings, facts);
        const Guarantee claim = certificate_claim(settings, facts);
        EXPECT_TRUE(claim.is_proved()) << change.name;
        ASSERT_EQ(claim.conditions().size(), 1U) << change.name;
        EXPECT_NE(claim.conditions()[0].find(change.words), std::string::npos) << claim.conditions()[0];
    }
}

TEST(Claims, TheRelationIsNamed) {
    for (const auto& [relation, name] : {std::pair{Relation::add_remove, "add_remove"},
                                         {Relation::substitute, "substitute"},
                                         {Relation::remove, "remove"}}) {
        Settings settings = plain();
        settings.relation = relation;
        EXPECT_STREQ(name_of(relation), name);
        EXPECT_EQ(certificate_claim(settings, good).relation(), name);
    }
}

TEST(Claims, AReleaseRestsOnWhatTheCertificateClaims) {
    for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
        Settings settings = plain();
        settings.relation = relation;
        settings.normalise = Normalise::actual;
        const DataFacts facts{Scaling::unknown, false};
        EXPECT_EQ(everything(release_claim(settings, facts)), everything(certificate_claim(settings, facts)));
    }
}

TEST(Claims, NoReleaseWhereTheDistanceMayJump) {
    const Change changes[] = {
        {"removals", [](Settings& settings, DataFacts&) { settings.relation = Relation::remove; },
         "certificate.relation"},
        {"sparse levels",
         [](Settings& settings, DataFacts&) {
             settings.level_list = {1, 2, 3};
         },
         "certificate.level_list"},
        {"rump", [](Settings& settings, DataFacts&) { settings.product = Product::rump; },
         "certificate.product"}};
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
            EXPECT_NE(error.hint().find("train with certificate."), std::string::npos) << error.hint();
        }
    }
}

}  // namespace
}  // namespace holdfast
