// The jobs synth, import and inspect as their command lines run them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "dist/data/dataset.hpp"
#include "dist/data/schema.hpp"
#include "jobs/program/job.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {

namespace import_job_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Error error_of(Run (*declare)(const Command&), const std::vector<std::string>& words) {
    try {
        run_job(declare, words);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty());
        return error;
    }
    ADD_FAILURE() << "no Error thrown";
    return Error(ExitCode::success, "");
}

TEST(ImportJob, ACsvWithEveryOption) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv",
                                         "name;age;sex;pay;income\n"
                                         "ana;50;F;?;>50K\n"
                                         "bob;150;M;10;<=50K\n");
    const std::string scale = folder.write("scale.toml", "[scale]\nage = [0, 100]\n"),
                      out = folder.file("a.h5");
    const std::string text =
        run_job(declare_import,
                {csv,           "--out",     out,     "--label", "income",       "--classes",    "<=50K|>50K",
                 "--delimiter", ";",         "--id",  "name",    "--categories", "sex=F|M",      "--encode",
                 "integer",     "--missing", "pay=5", "--scale", "pay=0:20",     "--scale-file", scale});
    EXPECT_THAT(text, HasSubstr("train: 2 records, by label 0: 1 1: 1"));
    EXPECT_THAT(text, HasSubstr("ids: given (column 'name'"));
    EXPECT_THAT(text, HasSubstr("filled: 1"));
    EXPECT_THAT(text, HasSubstr("clipped to their range: 1"));
    const Records records = DatasetReader(out).read_all();
    EXPECT_THAT(records.features.wide_values(), ElementsAre(0.5, 0, 0.25, 1, 1, 0.5));
    EXPECT_THAT(records.labels, ElementsAre(1, 0));
    EXPECT_EQ(DatasetReader(out).info().scaling, Scaling::public_constants);
}

TEST(ImportJob, SaysThatRowNumbersAreTheIds) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv", "a,y\n1,0\n");
    EXPECT_THAT(run_job(declare_import, {csv, "--out", folder.file("a.h5"), "--label", "y"}),
                HasSubstr("ids: row number"));
}

TEST(ImportJob, TheFileStatesWhatTheOptionsSay) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv", "a,y\n1,0\n2,1\n"), out = folder.file("a.h5");
    const std::vector<std::string> words{csv,
                                         "--out",
                                         out,
                                         "--label",
                                         "y",
                                         "--scale",
                                         "a=0:10",
                                         "--id-from-content",
                                         "--expected-records",
                                         "100",
                                         "--population",
                                         "ward-7"};
    EXPECT_THAT(run_job(declare_import, words),
                AllOf(HasSubstr("public count: 100"), HasSubstr("population: ward-7"),
                      HasSubstr("feature range: [0, 1]"), HasSubstr("without two equal records")));
    const DatasetInfo info = DatasetReader(out).info();
    EXPECT_EQ(info.expected_records, 100u);
    EXPECT_EQ(info.population, "ward-7");
    EXPECT_EQ(info.ids, IdKind::content);
    const auto json = nlohmann::json::parse(run_job(declare_import, words, true));
    EXPECT_EQ(json["expected_records"], 100);
    EXPECT_EQ(json["population"], "ward-7");
    EXPECT_EQ(json["ids"], "content");
    EXPECT_EQ(json["feature_range"], (std::vector<double>{0, 1}));
    const auto shown = nlohmann::json::parse(run_job(declare_inspect, {out}, true))["splits"][0];
    for (const char* fact : {"expected_records", "population", "ids", "feature_range"})
        EXPECT_EQ(shown[fact], json[fact]) << fact;
    EXPECT_THAT(run_job(declare_inspect, {out}),
                AllOf(HasSubstr("public count     100"), HasSubstr("population       ward-7"),
                      HasSubstr("public range     [0, 1]"), HasSubstr("ids              content")));
}

TEST(ImportJob, SaysWhatACountThatIsNotStatedCosts) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv", "a,y\n1,0\n"), out = folder.file("a.h5");
    EXPECT_THAT(run_job(declare_import, {csv, "--out", out, "--label", "y"}),
                AllOf(HasSubstr("public count: not stated"), HasSubstr("'as published'"),
                      HasSubstr("a release is refused"), HasSubstr("--expected-records N"),
                      HasSubstr("--population NAME")));
    EXPECT_EQ(DatasetReader(out).info().expected_records, 0u);
    EXPECT_THAT(run_job(declare_import, {csv, "--out", out, "--no-labels"}), Not(HasSubstr("public count")));
}

TEST(ImportJob, ADatasetImportedAgainKeepsWhatItStates) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv", "a,y\n1,0\n2,1\n3,0\n"), first = folder.file("a.h5"),
                      again = folder.file("b.h5");
    run_job(declare_import, {csv, "--out", first, "--label", "y", "--id-from-content", "--expected-records",
                             "40", "--population", "ward-7", "--scale", "a=0:10"});
    run_job(declare_import, {first, "--out", again});
    const DatasetInfo kept = DatasetReader(again).info();
    EXPECT_EQ(kept.expected_records, 40u);
    EXPECT_EQ(kept.population, "ward-7");
    EXPECT_EQ(kept.ids, IdKind::content);
    EXPECT_EQ(kept.range, (FeatureRange{0, 1}));
    EXPECT_EQ(DatasetReader(again).read_all().ids, DatasetReader(first).read_all().ids);
    run_job(declare_import, {first, "--out", again, "--expected-records", "50", "--population", "ward-7"});
    EXPECT_EQ(DatasetReader(again).info().expected_records, 50u);
    run_job(declare_import, {first, "--out", again, "--test-fraction", "0.25"});
    EXPECT_EQ(DatasetReader(again).info().expected_records, 30u);  // what is left for training
}

TEST(ImportJob, RowNumbersStayRowNumbersUntilTheContentNamesTheRecords) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv", "a,y\n1,0\n2,1\n"), first = folder.file("a.h5"),
                      again = folder.file("b.h5");
    run_job(declare_import, {csv, "--out", first, "--label", "y"});
    run_job(declare_import, {first, "--out", again});
    EXPECT_EQ(DatasetReader(again).info().ids, IdKind::row_number);
    run_job(declare_import, {first, "--out", again, "--id-from-content"});
    EXPECT_EQ(DatasetReader(again).info().ids, IdKind::content);
    EXPECT_NE(DatasetReader(again).read_all().ids, DatasetReader(first).read_all().ids);
}

TEST(ImportJob, TheSamePeopleKeepTheirPopulation) {
    TemporaryFolder folder;
    const std::string made = folder.file("a.h5"), again = folder.file("b.h5");
    run_job(declare_synth,
            {"blobs", "--records", "5", "--test", "0", "--out", made, "--population", "ward-7"});
    const Error error = error_of(declare_import, {made, "--out", again, "--population", "ward-8"});
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(error.where(), "--population");
    EXPECT_THAT(error.message(), HasSubstr("'ward-7'"));
    EXPECT_THAT(error.hint(), HasSubstr("a budget belongs to people"));
}

TEST(ImportJob, TwoCsvFilesBecomeTwoSplits) {
    TemporaryFolder folder;
    const std::string train = folder.write("a.csv", "a,y\n1,0\n2,1\n"),
                      test = folder.write("b.csv", "a,y\n3,1\n");
    const std::string out = folder.file("a.h5");
    run_job(declare_import, {train, "--test", test, "--out", out, "--label", "y"});
    EXPECT_THAT(DatasetReader(out, "test").read_all().ids, ElementsAre(2));
    EXPECT_EQ(error_of(declare_import,
                       {train, "--test", test, "--out", out, "--label", "y", "--test-fraction", "0.5"})
                  .where(),
              "--test-fraction");
    const std::string other = folder.write("c.csv", "b,y\n3,1\n");
    EXPECT_THAT(error_of(declare_import, {train, "--test", other, "--out", out, "--label", "y"}).message(),
                HasSubstr("differs from"));
}

TEST(ImportJob, IllegalOptionsAreNamed) {
    TemporaryFolder folder;
    const std::string csv = folder.write("a.csv", "a,y\n1,0\n"), out = folder.file("a.h5");
    const auto where = [&](std::vector<std::string> more) {
        std::vector<std::string> words{csv, "--out", out, "--label", "y"};
        words.insert(words.end(), more.begin(), more.end());
        const Error error = error_of(declare_import, words);
        EXPECT_EQ(error.code(), ExitCode::usage);
        return error.where();
    };
    EXPECT_EQ(where({"--scale", "a"}), "--scale");
    EXPECT_EQ(where({"--scale", "a=1"}), "--scale");
    EXPECT_EQ(where({"--scale", "a=1:x"}), "--scale");
    EXPECT_EQ(where({"--scale", "a=nan:1"}), "--scale");
    EXPECT_EQ(where({"--scale", "a=1:0"}), "--scale");
    EXPECT_EQ(where({"--scale", "a=0:1", "--scale-from-data"}), "--scale-from-data");
    EXPECT_EQ(where({"--missing", "a"}), "--missing");
    EXPECT_EQ(where({"--missing", "a=none"}), "--missing");
    EXPECT_EQ(where({"--categories", "a"}), "--categories");
    EXPECT_EQ(where({"--categories", "a=x|x"}), "--categories");
    EXPECT_EQ(where({"--classes", "0|0"}), "--classes");
    EXPECT_EQ(where({"--delimiter", ",,"}), "--delimiter");
    EXPECT_EQ(where({"--test-fraction", "1.5"}), "--test-fraction");
    EXPECT_EQ(where({"--test-fraction", "nan"}), "--test-fraction");
    EXPECT_EQ(where({"--drop", "b"}), "--drop");
    EXPECT_EQ(where({"--id", "b"}), "--id");
    const std::string named = folder.write("b.csv", "id,a,y\n7,1,0\n");
    EXPECT_EQ(
        error_of(declare_import, {named, "--out", out, "--label", "y", "--id", "id", "--id-from-content"})
            .where(),
        "--id-from-content");
    EXPECT_EQ(where({"--id-from-content", "--scale-from-data"}), "--id-from-content");
    for (const char* count : {"-3", "0", "3.5", "1e3", "many", "1000000000001", "99999999999999999999"})
        EXPECT_EQ(where({"--expected-records", count}), "--expected-records") << count;
    for (const std::string& name :
         {std::string("two words"), std::string("a/b"), std::string("größe"), std::string(65, 'a')})
        EXPECT_EQ(where({"--population", name}), "--population") << name;
    const std::string bad = folder.write("bad.toml", "[scale]\na = 3\n"),
                      broken = folder.write("broken.toml", "[scale");
    EXPECT_EQ(where({"--scale-file", bad}), bad);
    EXPECT_EQ(where({"--scale-file", broken}), broken);
    EXPECT_EQ(where({"--scale-file", folder.file("none.toml")}), folder.file("none.toml"));
    EXPECT_EQ(error_of(declare_import, {csv, "--out", out}).where(), "--label");
    EXPECT_EQ(error_of(declare_import, {folder.file("data"), "--out", out}).where(), folder.file("data"));
}

TEST(ImportJob, AGeneratedDatasetIsInspectedAndImportedAgain) {
    TemporaryFolder folder;
    const std::string made = folder.file("a.h5"), again = folder.file("b.h5");
    EXPECT_THAT(run_job(declare_synth, {"blobs", "--records", "50", "--test", "10", "--out", made}),
                HasSubstr("50 train and 10 test"));
    run_job(declare_import, {made, "--out", again});
    EXPECT_EQ(DatasetReader(again).read_all().features.wide_values(),
              DatasetReader(made).read_all().features.wide_values());
    EXPECT_EQ(DatasetReader(again, "test").read_all().ids, DatasetReader(made, "test").read_all().ids);
    const std::string text = run_job(declare_inspect, {again});
    EXPECT_THAT(text, HasSubstr("50 x 6 features (float64)"));
    EXPECT_THAT(text, HasSubstr(":test\n"));
    EXPECT_THAT(text, HasSubstr("no guarantee is affected"));
    const auto json = nlohmann::json::parse(run_job(declare_inspect, {again + ":test"}, true));
    ASSERT_EQ(json["splits"].size(), 1u);
    EXPECT_EQ(json["splits"][0]["rows"], 10);
    EXPECT_EQ(json["splits"][0]["scaling"], "public");
    EXPECT_EQ(json["splits"][0]["features"][2]["name"], "x1^2");
}

TEST(ImportJob, PlacesOfTextsInRowsThatWereKeptAreNotMeasured) {
    // No import writes such a file: which rows are kept would follow from other persons' texts.
    TemporaryFolder folder;
    const std::string file = folder.file("a.h5"), ledger = folder.file("a.db");
    PublicFacts facts;
    facts.ids = IdKind::given;
    facts.unit = Unit::person;
    facts.population = "ward";
    facts.scaling = Scaling::none;
    Schema schema{.columns = {unnamed_column("town")}, .id = "id"};
    const auto write = [&](const PersonRule& rule) {
        schema.persons = rule;
        facts.rows_at_most = rule.summarises() ? 1 : rule.rows_at_most;
        facts.schema = to_json(schema).dump();
        DatasetWriter writer(file);
        writer.begin_split("train", 1, true);
        Records records{FeatureMatrix(1, true), {}, {7, 8}, {0, 1}};
        for (const double place : {0.0, 1.0}) records.features.append(&place);
        writer.append(records);
        writer.set_facts(facts);
        writer.set_names({{"town", {"Basel", "Bern"}}});
        writer.commit();
    };
    for (const PersonRule& rule :
         {PersonRule{.rows_at_most = 2}, PersonRule{.summaries = {RowSummary::mean}}}) {
        write(rule);
        run_job(declare_account, {"--ledger", ledger, "--data", file, "--budget", "1", "--budget-delta",
                                  "1e-5", "--composition", "gdp"});
        EXPECT_THAT(
            error_of(declare_measure, {"--data", file, "--ledger", ledger, "--out", folder.file("b.h5")})
                .message(),
            HasSubstr("of several rows a person"));
        std::filesystem::remove(ledger);
    }
}

TEST(ImportJob, UnknownKindsAreUsageErrors) {
    EXPECT_THROW(parsed_job(declare_synth, {"rings", "--out", "a.h5"}), std::invalid_argument);
}

}  // namespace import_job_test
}  // namespace holdfast
