// What leaves the house, and that a crash on the way costs nothing and leaves nothing unsaid.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "dist/files/hdf5.hpp"
#include "dist/files/seal.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Makes noting a publication in the ledger take for ever.
constexpr const char* stop_the_clock =
    "CREATE VIEW forever AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;"
    "CREATE TRIGGER stop BEFORE INSERT ON publications BEGIN SELECT count(*) FROM forever; END";

struct PublishTest : testing::Test {
    TemporaryFolder folder;
    std::string data = folder.file("data.h5"), run = folder.file("run"), ledger = folder.file("ledger.db"),
                model = folder.file("model.h5");

    void SetUp() override {
        run_job(declare_synth, {"blobs", "--records", "300", "--test", "50", "--seed", "4", "--out", data});
        run_job(declare_account,
                {"--ledger", ledger, "--data", data, "--budget", "2", "--budget-delta", "1e-4"});
        train(run, {"training.kind=noisy", "clip.kind=norm", "network.hidden=[4]", "training.epochs=3"});
    }
    void train(const std::string& out, const std::vector<std::string>& settings) const {
        std::vector<std::string> words{"--data", data, "--out", out, "--ledger", ledger};
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        run_job(declare_train, words);
    }
    std::string publish(const std::string& from, const std::string& by, const std::string& out) const {
        return run_job(declare_publish, {"--run", from, "--ledger", by, "--out", out}, true);
    }
    std::string publish() const { return publish(run, ledger, model); }
    LedgerPayment payment() const {
        const std::vector<LedgerPayment> payments = Ledger(ledger).payments("synthetic");
        EXPECT_EQ(payments.size(), 1U);
        return payments.at(0);
    }
    std::vector<std::string> recorded() const {
        std::vector<std::string> models;
        for (const Publication& publication : payment().publications)
            models.push_back(publication.model_digest);
        return models;
    }
};

TEST_F(PublishTest, TheModelIsTheRunsAndSaysWhatItGuaranteesAndCost) {
    const json said = json::parse(publish());
    const auto [published, digest] = read_model(model);
    const FinishedRun finished = FinishedRun::open(run);
    std::vector<std::int64_t> lower, upper;
    BoxesReader(finished.folder).read(0, 0, lower, upper);
    EXPECT_EQ(published.parameters, lower);
    EXPECT_EQ(published.network.layers().size(), 2U);
    EXPECT_EQ(published.kind, "noisy");
    EXPECT_EQ(published.guarantee, finished.certificate->claim().to_json());
    EXPECT_EQ(published.guarantee["status"], "proved");
    EXPECT_EQ(published.cost["epsilon"], 1.0);
    EXPECT_EQ(published.cost["delta"], 1e-5);
    EXPECT_FALSE(published.cost.contains("token"));
    EXPECT_EQ(said["model"], digest);
    EXPECT_EQ(said["guarantee"], published.guarantee);
    EXPECT_EQ(said["cost"], published.cost);
    EXPECT_THAT(recorded(), ElementsAre(digest));
}

TEST_F(PublishTest, AgainGivesTheSameBytesAtNoCost) {
    const std::string said = publish();
    const Spending before = Ledger(ledger).spending("synthetic").value();
    const std::string bytes = folder.read("model.h5");
    EXPECT_EQ(publish(), said);
    publish(run, ledger, folder.file("copy.h5"));
    EXPECT_TRUE(folder.read("model.h5") == bytes && folder.read("copy.h5") == bytes);
    EXPECT_EQ(recorded().size(), 1U);
    const Spending after = Ledger(ledger).spending("synthetic").value();
    EXPECT_EQ(after.epsilon, before.epsilon);
    EXPECT_EQ(after.payments, 1);
}

TEST_F(PublishTest, NoFileIsSeenBeforeItIsOnRecord) {
    run_sql(ledger, stop_the_clock);
    const pid_t child = fork_child([&] {
        publish();
        return 0;
    });
    // It waits in the record, with the file written under another name.
    const auto written = [&] {
        const std::filesystem::directory_iterator entries(folder.path());
        return std::any_of(begin(entries), end(entries), [](const auto& entry) {
            return entry.path().filename().string().find("model.h5") != std::string::npos;
        });
    };
    for (int i = 0; i < 1000 && !written(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_FALSE(std::filesystem::exists(model));
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(wait_for(child), -SIGKILL);
    run_sql(ledger, "DROP TRIGGER stop; DROP VIEW forever");

    EXPECT_FALSE(std::filesystem::exists(model));
    EXPECT_THAT(recorded(), testing::IsEmpty());
    publish();
    EXPECT_THAT(recorded(), ElementsAre(read_model(model).digest));
}

TEST_F(PublishTest, WhatTheLedgerWasNotChargedForStays) {
    const std::string other = folder.file("other.db");
    run_job(declare_account, {"--ledger", other, "--data", data, "--budget", "2", "--budget-delta", "1e-4"});
    const Error unpaid = error_of([&] { publish(run, other, model); });
    EXPECT_EQ(unpaid.code(), ExitCode::budget);
    EXPECT_EQ(unpaid.where(), other);
    EXPECT_THAT(unpaid.message(), HasSubstr("not charged"));
    EXPECT_EQ(error_of([&] { publish(run, folder.file("none.db"), model); }).code(), ExitCode::usage);
    EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));

    json manifest = json::parse(folder.read("run/manifest.json"));
    manifest["payment"]["token"] = std::string(64, 'a');
    folder.write("run/manifest.json", sealed_json(manifest.dump()));
    EXPECT_EQ(error_of([&] { publish(); }).code(), ExitCode::budget);
    manifest["payment"] = nullptr;
    folder.write("run/manifest.json", sealed_json(manifest.dump()));
    EXPECT_EQ(error_of([&] { publish(); }).code(), ExitCode::budget);
    manifest["payment"] = {{"token", 7}};
    folder.write("run/manifest.json", sealed_json(manifest.dump()));
    EXPECT_THAT(error_of([&] { publish(); }).message(), HasSubstr("payment.token"));
    EXPECT_FALSE(std::filesystem::exists(model));
}

TEST_F(PublishTest, ItSaysWhatTheLedgerWasChargedForWhateverTheManifestSays) {
    json manifest = json::parse(folder.read("run/manifest.json"));
    manifest["payment"]["epsilon"] = 0.001;
    manifest["payment"]["parameters"]["noise_multiplier"] = 1000;
    manifest["configuration"]["noise.epsilon"] = 0.001;
    manifest["guarantee"]["statement"] = "are (0.001, 1e-05)-differentially private";
    folder.write("run/manifest.json", sealed_json(manifest.dump()));
    publish();
    const Model published = read_model(model).model;
    EXPECT_EQ(published.cost["epsilon"], 1.0);
    EXPECT_LT(published.cost["parameters"]["noise_multiplier"], 1000);
    EXPECT_THAT(published.guarantee["statement"], HasSubstr("are (1, 1e-05)-differentially private"));
}

// One payment, one result: a manifest that names the payment of another run does not help.
TEST_F(PublishTest, NoOtherRunIsPublishedUnderAPayment) {
    const std::string bare = folder.file("bare");
    train(bare, {"training.kind=noisy", "clip.kind=norm", "network.hidden=[4]", "noise.law=none"});
    json manifest = json::parse(folder.read("bare/manifest.json"));
    manifest["payment"] = json::parse(folder.read("run/manifest.json"))["payment"];
    manifest["configuration"]["noise.law"] = "gaussian";
    folder.write("bare/manifest.json", sealed_json(manifest.dump()));
    const Error other = error_of([&] { publish(bare, ledger, model); });
    EXPECT_EQ(other.code(), ExitCode::budget);
    EXPECT_THAT(other.message(), HasSubstr("other parameters"));
    EXPECT_FALSE(std::filesystem::exists(model));
}

TEST_F(PublishTest, KilledBeforeItsResultIsNotedTheTrainingIsEndedFirst) {
    run_job(declare_account,
            {"--ledger", folder.file("late.db"), "--data", data, "--budget", "2", "--budget-delta", "1e-4"});
    run_sql(folder.file("late.db"),
            "CREATE VIEW forever AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x "
            "FROM c; CREATE TRIGGER stop BEFORE INSERT ON results BEGIN SELECT count(*) FROM forever; END");
    const std::string late = folder.file("late");
    std::vector<std::string> words{"--data",   data,
                                   "--out",    late,
                                   "--ledger", folder.file("late.db"),
                                   "--set",    "training.kind=noisy",
                                   "--set",    "clip.kind=norm",
                                   "--set",    "network.hidden=[4]"};
    const pid_t child = fork_child([&] {
        run_job(declare_train, words);
        return 0;
    });
    const auto written = [&] { return std::filesystem::exists(late + "/manifest.json"); };
    for (int i = 0; i < 1000 && !written(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(written());
    EXPECT_EQ(kill(child, SIGKILL), 0);
    EXPECT_EQ(wait_for(child), -SIGKILL);
    run_sql(folder.file("late.db"), "DROP TRIGGER stop; DROP VIEW forever");

    EXPECT_EQ(error_of([&] { publish(late, folder.file("late.db"), model); }).code(), ExitCode::budget);
    EXPECT_TRUE(std::filesystem::exists(late + "/key")) << "or nobody could end the training";
    words.emplace_back("--resume");
    run_job(declare_train, words);
    EXPECT_FALSE(std::filesystem::exists(late + "/key"));
    publish(late, folder.file("late.db"), model);
    EXPECT_TRUE(std::filesystem::exists(model));
}

TEST_F(PublishTest, ParametersThatNothingProtectsStay) {
    const std::string boxes = folder.file("boxes"), bare = folder.file("bare");
    train(boxes, {"network.hidden=[4]", "certificate.levels=2"});
    train(bare, {"training.kind=noisy", "clip.kind=norm", "network.hidden=[4]", "noise.law=none"});
    const Error of_boxes = error_of([&] { publish(boxes, ledger, model); });
    EXPECT_EQ(of_boxes.code(), ExitCode::usage);
    EXPECT_THAT(of_boxes.what(), HasSubstr("\"convex\" or \"noisy\""));
    EXPECT_EQ(error_of([&] { publish(bare, ledger, model); }).code(), ExitCode::usage);

    // Nor those of another run in the folder of one that was paid for.
    std::filesystem::copy_file(bare + "/boxes.h5", run + "/boxes.h5",
                               std::filesystem::copy_options::overwrite_existing);
    const Error swapped = error_of([&] { publish(); });
    EXPECT_EQ(swapped.code(), ExitCode::input);
    EXPECT_EQ(swapped.where(), run + "/boxes.h5");
    // Whatever they say of themselves.
    {
        hdf5::File file = hdf5::File::open_update(run + "/boxes.h5");
        file.write_attribute("digest",
                             json::parse(folder.read("run/manifest.json")).at("digest").get<std::string>());
        file.close();
    }
    add_seal(run + "/boxes.h5", "");
    const Error disguised = error_of([&] { publish(); });
    EXPECT_EQ(disguised.where(), run + "/boxes.h5");
    EXPECT_THAT(disguised.message(), HasSubstr("holds other parameters"));
    EXPECT_FALSE(std::filesystem::exists(model));
    EXPECT_THAT(recorded(), testing::IsEmpty());
}

TEST_F(PublishTest, AnotherFileIsKeptAndNothingIsRecorded) {
    folder.write("model.h5", "a thesis");
    const Error kept = error_of([&] { publish(); });
    EXPECT_EQ(kept.code(), ExitCode::output);
    EXPECT_EQ(kept.where(), model);
    EXPECT_EQ(folder.read("model.h5"), "a thesis");
    EXPECT_THAT(recorded(), testing::IsEmpty());
}

TEST_F(PublishTest, AKeyThatACrashHasLeftIsDestroyed) {
    const std::string key = run + "/key";
    ASSERT_FALSE(std::filesystem::exists(key));
    SecretKey::fresh().write_new(key);
    publish();
    EXPECT_FALSE(std::filesystem::exists(key));
}

}  // namespace
}  // namespace holdfast
