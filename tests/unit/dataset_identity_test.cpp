#include "jobs/program/runs/dataset_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dist/data/generate.hpp"
#include "dist/data/schema.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/program/job.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;

struct DatasetIdentityTest : ::testing::Test {
    /// A dataset of `population`; nothing is said of whose it is where that is empty.
    DatasetIdentity of(const Records& records, const std::string& population) {
        const std::string path = folder.file("data.h5");
        DatasetWriter writer(path);
        writer.begin_split("train", records.features.columns(), records.features.wide());
        writer.append(records);
        if (!population.empty()) writer.set_attribute("population", population);
        writer.commit();
        return identify_of_population(DatasetReader(path));
    }

    TemporaryFolder folder;
    Records records = generate(*make_blobs({}), 0, 40000);  // more than two slabs
};

TEST_F(DatasetIdentityTest, IsTheDigestOfTrainingWhateverTheSlabs) {
    RecordDigest whole;
    whole.add(records);
    const DatasetIdentity identity = of(records, "ward");
    EXPECT_EQ(identity.digest, whole.hex(*make_serial_communicator()));
    EXPECT_EQ(identity.ids, records.ids);
    EXPECT_EQ(identity.population, "ward");
}

TEST_F(DatasetIdentityTest, AFileThatNamesNoPopulationIsRefused) {
    try {
        of(records, "");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_THAT(error.hint(), HasSubstr("--population NAME"));
        EXPECT_EQ(error.where(), folder.file("data.h5"));
    }
}

TEST_F(DatasetIdentityTest, RowNumbersNameNobody) {
    const std::string path = folder.file("raw.h5");
    {
        hdf5::File file = hdf5::File::create(path);
        const std::vector<float> features{1, 2, 3, 4};
        file.create_dataset("x_train", hdf5::Type::float32, {2, 2}).write({0, 0}, {2, 2}, features.data());
        file.write_attribute("population", "ward");
        file.close();
    }
    EXPECT_TRUE(identify(DatasetReader(path)).ids.empty());
}

TEST_F(DatasetIdentityTest, ACopyAnotherScaleAndOneRecordMoreDrawOnOneBudget) {
    Ledger ledger(folder.file("ledger.db"));
    const DatasetIdentity original = of(records, "ward");
    ledger.add_version("ward", original.digest, original.ids, Account{{1, 0, std::nullopt}, "add_remove"});
    Records rescaled = records;
    for (double& value : rescaled.features.wide_values()) value /= 10;
    Records narrow = records;
    narrow.features = FeatureMatrix(records.features.columns(), false);
    narrow.features.values().assign(records.features.wide_values().begin(),
                                    records.features.wide_values().end());
    for (const Records& version : {rescaled, narrow, generate(*make_blobs({}), 0, 40001)}) {
        const DatasetIdentity other = of(version, "ward");
        EXPECT_NE(other.digest, original.digest);
        EXPECT_EQ(ledger.population_of(other.digest), std::nullopt);
        ledger.add_version(other.population, other.digest, other.ids);
        EXPECT_EQ(ledger.population_of(other.digest), "ward");
        const DatasetIdentity renamed = of(version, "another-ward");
        EXPECT_THROW(ledger.add_version(renamed.population, renamed.digest, renamed.ids,
                                        Account{{1, 0, std::nullopt}, "add_remove"}),
                     Error);
        EXPECT_FALSE(ledger.account("another-ward").has_value());
    }
    EXPECT_EQ(ledger.versions("ward").size(), 4U);
}

/// The text of a schema of both columns.
std::string schema_of(const std::string& label) {
    return to_json(Schema{.columns = {{.name = "a"}, {.name = "b"}}, .label = label}).dump();
}

/// One public fact that another file states of the same records.
struct ChangedFact {
    const char* name;
    void (*change)(PublicFacts& facts);
};

const ChangedFact changed_facts[] = {
    {"the scaling", [](PublicFacts& facts) { facts.scaling = Scaling::none; }},
    {"the kind of the ids", [](PublicFacts& facts) { facts.ids = IdKind::content; }},
    {"the count of records", [](PublicFacts& facts) { facts.expected_records = 600; }},
    {"the source of the count", [](PublicFacts& facts) { facts.count_found = true; }},
    {"the population", [](PublicFacts& facts) { facts.population = "others"; }},
    {"the range of features",
     [](PublicFacts& facts) {
         facts.range = {-8, 9};
     }},
    {"the range of targets",
     [](PublicFacts& facts) {
         facts.target_range = {0, 2};
     }},
    {"the list of feature names",
     [](PublicFacts& facts) {
         facts.feature_names = {"b", "a"};
     }},
    {"the ids that assigned the splits", [](PublicFacts& facts) { facts.dealt = Dealt::content; }},
    {"the unit of privacy", [](PublicFacts& facts) { facts.unit = Unit::person; }},
    {"the schema", [](PublicFacts& facts) { facts.schema = schema_of("z"); }},
    {"the text of measured constants", [](PublicFacts& facts) { facts.measured = "{}"; }},
    {"the distribution of drawn labels", [](PublicFacts& facts) { facts.label_law = "another"; }},
    {"the rule that a label selects records", [](PublicFacts& facts) { facts.labels_select = true; }},
};

struct TrainedFacts : ::testing::Test {
    using Words = std::vector<std::string>;
    using Declare = decltype(&declare_train);

    std::string write(const std::string& name, const PublicFacts& facts) const {
        const std::string path = folder.file(name);
        DatasetWriter writer(path);
        writer.begin_split("train", records.features.columns(), records.features.wide());
        writer.append(records);
        writer.begin_split("test", records.features.columns(), records.features.wide());
        writer.append(generate(*make_blobs({}), records.size(), 30));  // held out
        writer.set_facts(facts);
        writer.commit();
        return path;
    }
    void SetUp() override {
        facts.scaling = Scaling::public_constants;
        facts.ids = IdKind::given;
        facts.dealt = Dealt::given;
        facts.expected_records = 60;
        facts.population = "ward";
        facts.range = {-8, 8};
        facts.feature_names = {"a", "b"};
        facts.schema = schema_of("y");
        data = write("data.h5", facts);
        folder.write("ids", std::to_string(records.ids[3]) + "\n");
        for (const char* const kind : {"boxes", "convex"})
            train(declare_train, kind, "training.kind=" + std::string(kind));
        train(declare_fleet, "fleet", "training.kind=boxes");
    }
    void train(Declare declare, const std::string& name, const std::string& setting) const {
        Words words{"--data", data, "--out", folder.file(name), "--set", setting};
        words.insert(words.end(), settings.begin(), settings.end());
        run_job(declare, words);
    }
    /// The error of a job; empty where it ends well.
    static std::string error_text(Declare declare, const Words& words) {
        try {
            run_job(declare, words);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
    /// The errors of all commands that take the data of a run beside the run.
    std::vector<std::pair<std::string, std::string>> refusals(const std::string& other) const {
        const std::string boxes = folder.file("boxes"), convex = folder.file("convex"),
                          fleet = folder.file("fleet"), queries = data + ":train";
        const std::vector<std::tuple<std::string, Declare, Words>> commands = {
            {"unlearn", declare_unlearn, {"--run", boxes, "--data", other, "--ids", folder.file("ids")}},
            {"verify", declare_verify, {boxes, "--data", other}},
            {"risk", declare_risk, {"--run", boxes, "--data", other}},
            {"certify", declare_certify, {"--run", convex, "--data", other, "--queries", queries}},
            {"influence", declare_influence, {"--run", fleet, "--data", other, "--queries", queries}}};
        std::vector<std::pair<std::string, std::string>> found;
        for (const auto& [name, declare, words] : commands)
            found.emplace_back(name, error_text(declare, words));
        return found;
    }

    const Words settings{"--set", "network.hidden=[]",           "--set", "training.epochs=1",
                         "--set", "training.batches=1",          "--set", "training.l2=0.1",
                         "--set", "training.learning_rate=0.01", "--set", "certificate.relation=remove"};
    TemporaryFolder folder;
    Records records = generate(*make_blobs({}), 0, 60);
    PublicFacts facts;
    std::string data;
};

// Members that stay, steps taken again, boxes and claims: all rest on what the file stated when it trained.
TEST_F(TrainedFacts, EveryChangedFactIsRefusedByItsName) {
    for (const auto& [name, change] : changed_facts) {
        PublicFacts other = facts;
        change(other);
        const std::string path = write("other.h5", other);
        EXPECT_EQ(DatasetReader(path).info().expected_records, other.expected_records) << name;
        for (const auto& [command, error] : refusals(path)) {
            // verify prints the names of the facts that differ, and counts them in its error
            EXPECT_THAT(error, HasSubstr(command == "verify" ? "1 of 8 checks failed" : name))
                << command << name;
        }
    }
}

TEST_F(TrainedFacts, TheSourceOfTheTableDecidesNothing) {
    PublicFacts other = facts;
    other.source = "another table";
    for (const auto& [command, error] : refusals(write("other.h5", other))) EXPECT_EQ(error, "") << command;
}

TEST_F(TrainedFacts, AnInterruptedTrainingIsAnotherUnderAnotherFact) {
    for (const auto& [name, change] : changed_facts) {
        PublicFacts other = facts;
        change(other);
        EXPECT_NE(deciding_facts(other), deciding_facts(facts)) << name;
        EXPECT_THAT(changed_fact(facts, other), HasSubstr(name));
    }
    PublicFacts other = facts;
    other.feature_names = {"b", "a"};
    Words resumed{"--data", write("other.h5", other), "--out", folder.file("boxes"), "--resume"};
    resumed.insert(resumed.end(), settings.begin(), settings.end());
    EXPECT_THAT(error_text(declare_train, resumed), HasSubstr("another configuration, dataset or program"));
}

}  // namespace
}  // namespace holdfast
