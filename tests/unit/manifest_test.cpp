#include "dist/runs/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct ManifestTest : ::testing::Test {
    TemporaryFolder folder;
    RunFolder run = RunFolder::create(folder.file("run"), false);

    static RunManifest sound() {
        RunManifest manifest;
        manifest.kind = "boxes";
        manifest.configuration = {{"network.hidden", {8}}, {"training.epochs", 2}};
        DatasetFacts& dataset = manifest.dataset;
        dataset.path = "blobs.h5";
        dataset.rows = 3000;
        dataset.features = dataset.classes = 2;
        dataset.digest = "ab";
        dataset.scaling = Scaling::public_constants;
        dataset.ids = IdKind::given;
        dataset.range = {-1, 2.5};
        dataset.population = "ward";
        manifest.public_records = {7, "cd"};
        manifest.members = 5;
        manifest.steps = 4;
        manifest.parameters = 33;
        manifest.levels = {0, 1, 2};
        manifest.layers = {{2, 8}, {8, 1}};
        manifest.normaliser = 600.25;
        manifest.relation = "add_remove";
        manifest.digest = "ef";
        manifest.arithmetic = {{"parameter_unit", 0x1p-50}};
        manifest.guarantee = {{"status", "proved"}};
        manifest.payment = {{"token", "01"},
                            {"epsilon", 0.5},
                            {"delta", 1e-5},
                            {"mechanism", "noisy_training"},
                            {"parameters", {{"steps", 4}}}};
        return manifest;
    }
    static std::string dotted(std::string place) {
        std::replace(place.begin(), place.end(), '/', '.');
        return place;
    }
    RunManifest read(const json& object) const {
        run.write_json("manifest.json", object);
        return RunManifest::read(run);
    }
    /// The message, whose error names the file and says what to do.
    std::string refusal(const json& object) const {
        try {
            read(object);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            EXPECT_EQ(error.where(), run.file("manifest.json"));
            EXPECT_FALSE(error.hint().empty());
            return error.message();
        }
        return "";
    }
};

TEST_F(ManifestTest, ComesBackAsWritten) {
    sound().write(run);
    const RunManifest read = RunManifest::read(run);
    EXPECT_EQ(read.to_json(), sound().to_json());
    EXPECT_EQ(read.dataset.range, (FeatureRange{-1, 2.5}));
    EXPECT_EQ(read.dataset.ids, IdKind::given);
    EXPECT_EQ(read.layers, (std::vector<std::vector<std::uint64_t>>{{2, 8}, {8, 1}}));
    EXPECT_EQ(read.normaliser, 600.25);
    EXPECT_EQ(read.version, version());
}

// A fact that does not come back would count as unchanged (jobs/program/runs/dataset_identity.hpp).
TEST_F(ManifestTest, EveryPublicFactComesBack) {
    RunManifest manifest = sound();
    DatasetFacts& facts = manifest.dataset;
    facts.expected_records = 3010;
    facts.target_range = {0, 7};
    facts.feature_names = {"a", "b"};
    facts.count_found = facts.count_measured = true;
    facts.dealt = Dealt::content;
    facts.unit = Unit::person;
    facts.rows_at_most = 4;
    facts.schema = R"({"label":"y"})";
    facts.measured = "constants";
    facts.label_law = "response";
    facts.labels_select = true;
    const DatasetFacts back = read(manifest.to_json()).dataset;
    const auto all = [](const PublicFacts& of) {
        const auto& [scaling, ids, expected_records, population, range, target_range, source, feature_names,
                     count_found, dealt, unit, rows_at_most, schema, count_measured, measured, label_law,
                     labels_select] = of;
        return std::tuple(scaling, ids, expected_records, population, range.low, range.high, target_range.low,
                          target_range.high, source, feature_names, count_found, dealt, unit, rows_at_most,
                          schema, count_measured, measured, label_law, labels_select);
    };
    EXPECT_EQ(all(back), all(facts));
}

TEST_F(ManifestTest, SaysOfASampleThatItIsOne) {
    RunManifest manifest = sound();
    EXPECT_FALSE(manifest.to_json().contains("sample"));  // as before there was such a word
    EXPECT_FALSE(read(manifest.to_json()).sample);
    manifest.sample = true;
    EXPECT_TRUE(read(manifest.to_json()).sample);
    json damaged = manifest.to_json();
    damaged["sample"] = "yes";
    EXPECT_THAT(refusal(damaged), HasSubstr("sample"));
}

// Stated where a step depends on it: what was written before there was an order has none.
TEST_F(ManifestTest, TheOrderOfPublicRecordsComesBackToo) {
    RunManifest manifest = sound();
    EXPECT_EQ(read(manifest.to_json()).public_records, (PublicRecords{7, "cd", ""}));
    EXPECT_FALSE(manifest.to_json()["public"].contains("order"));
    manifest.public_records.order = "0a";
    EXPECT_EQ(read(manifest.to_json()).public_records, (PublicRecords{7, "cd", "0a"}));
    json damaged = manifest.to_json();
    damaged["public"]["order"] = 3;
    EXPECT_NE(refusal(damaged), "");
}

TEST_F(ManifestTest, EveryFieldOfItsFormatMustBeThere) {
    const json whole = sound().to_json();
    std::vector<std::string> places;
    for (const auto& [key, value] : whole.items()) places.push_back("/" + key);
    for (const auto& [key, value] : whole["dataset"].items()) places.push_back("/dataset/" + key);
    for (const auto& [key, value] : whole["public"].items()) places.push_back("/public/" + key);
    for (const auto& [key, value] : whole["payment"].items()) places.push_back("/payment/" + key);
    for (const std::string& place : places) {
        const json::json_pointer pointer(place);
        json damaged = whole;
        damaged[pointer.parent_pointer()].erase(pointer.back());
        const std::string field = dotted(place.substr(1));
        EXPECT_EQ(refusal(damaged), "field \"" + field + "\" is missing");
    }
}

TEST_F(ManifestTest, EveryFieldMustBeOfItsType) {
    const json whole = sound().to_json();
    const auto check = [&](const std::string& place, const std::string& field, const json& wrong) {
        json damaged = whole;
        damaged[json::json_pointer(place)] = wrong;
        EXPECT_THAT(refusal(damaged), HasSubstr("field \"" + field + "\" must be ")) << place << wrong;
    };
    for (const char* count : {"format", "members", "steps", "parameters"})
        for (const json& wrong : {json(-1), json(0.5), json("2"), json(nullptr)})
            check(std::string("/") + count, count, wrong);
    for (const char* count : {"rows", "features", "classes"})
        check(std::string("/dataset/") + count, std::string("dataset.") + count, -2);
    for (const char* text : {"kind", "program", "version", "relation", "digest"})
        check(std::string("/") + text, text, 3);
    for (const char* text : {"path", "scaling", "ids", "population", "digest", "dealt"})
        check(std::string("/dataset/") + text, std::string("dataset.") + text, 3);
    for (const char* object :
         {"configuration", "dataset", "public", "arithmetic", "guarantee", "payment", "payment/parameters"})
        check(std::string("/") + object, dotted(object), json::array());
    for (const char* text : {"payment/token", "payment/mechanism"})
        check(std::string("/") + text, dotted(text), 3);
    for (const char* number : {"payment/epsilon", "payment/delta"})
        check(std::string("/") + number, dotted(number), "1");
    check("/normaliser", "normaliser", "1");
    check("/public/records", "public.records", -1);
    for (const char* kind : {"ids", "dealt"})
        check(std::string("/dataset/") + kind, std::string("dataset.") + kind, "yes");
    check("/dataset/count_found", "dataset.count_found", "yes");
    for (const json& wrong : {json({1, 0}), json({0, 0}), json::array({0}), json("0..1")})
        check("/dataset/range", "dataset.range", wrong);
    for (const json& wrong : {json(3), json::array({-1}), json::array({"0"}), json::array({UINT64_MAX})})
        check("/levels", "levels", wrong);
    const json one_number = json::array({json::array({2})}), words = json::array({json::array({"2", "1"})});
    for (const json& wrong : {json(3), json({2, 1}), one_number, words}) check("/layers", "layers", wrong);
}

TEST_F(ManifestTest, WhatCostNothingHasNoPayment) {
    json free = sound().to_json();
    free["payment"] = nullptr;
    EXPECT_TRUE(read(free).payment.is_null());
}

TEST_F(ManifestTest, AnotherFormatIsRefusedWhateverElseItHolds) {
    for (const int other : {3, 5})
        EXPECT_EQ(refusal({{"format", other}}),
                  "a run of format " + std::to_string(other) + ", and this program reads format 4");
    EXPECT_THAT(refusal(json::array()), HasSubstr("one JSON object"));
}

}  // namespace
}  // namespace holdfast
