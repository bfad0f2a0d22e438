// A convex run's parameters leave with noise that is paid for before it is drawn, once: whatever crashes, and
// however often it is asked for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/publication.hpp"
#include "models/convex/radius.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using Words = std::vector<std::string>;

/// As committed; -1 while the file is busy.
std::int64_t rows_of(const std::string& file, const std::string& table) {
    sqlite3* handle = nullptr;
    sqlite3_stmt* count = nullptr;
    std::int64_t rows = -1;
    const std::string sql = "SELECT count(*) FROM " + table;
    if (sqlite3_open_v2(file.c_str(), &handle, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
        sqlite3_prepare_v2(handle, sql.c_str(), -1, &count, nullptr) == SQLITE_OK &&
        sqlite3_step(count) == SQLITE_ROW)
        rows = sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    sqlite3_close(handle);
    return rows;
}

struct PublishConvexTest : testing::Test {
    TemporaryFolder folder;
    std::string data = folder.file("data.h5"), run = folder.file("run"), ledger = folder.file("ledger.db"),
                model = folder.file("model.h5");

    void SetUp() override {
        run_job(declare_synth, {"blobs", "--records", "300", "--test", "50", "--seed", "4", "--out", data});
        open_account(ledger, "add_remove");
        train(run, {});
    }
    void open_account(const std::string& file, const std::string& relation) const {
        run_job(declare_account, {"--ledger", file, "--data", data, "--budget", "3", "--budget-delta", "1e-3",
                                  "--relation", relation});
    }
    void train(const std::string& out, const Words& settings) const {
        Words words{"--data", data,
                    "--out",  out,
                    "--set",  "training.kind=convex",
                    "--set",  "network.hidden=[]",
                    "--set",  "training.learning_rate=0.1",
                    "--set",  "features.norm_limit=2",
                    "--set",  "training.l2=0.1",
                    "--set",  "convex.derivative_limit=0.5"};
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        run_job(declare_train, words);
    }
    std::string publish(const std::string& from, const std::string& by, const std::string& out,
                        const Words& terms) const {
        Words words{"--run", from, "--ledger", by, "--out", out};
        words.insert(words.end(), terms.begin(), terms.end());
        return run_job(declare_publish, words, true);
    }
    std::string publish(const Words& terms = {"--epsilon", "1", "--delta", "1e-5"}) const {
        return publish(run, ledger, model, terms);
    }
    std::vector<LedgerPayment> payments() const { return Ledger(ledger).payments("synthetic"); }
    /// Files of publications in the run folder, by their endings.
    int files(const std::string& ending) const {
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(run)) {
            const std::string name = entry.path().filename();
            count += name.starts_with("publication-") && name.ends_with(ending);
        }
        return count;
    }
};

TEST_F(PublishConvexTest, TheModelSaysWhatItCostAndGuarantees) {
    const json said = json::parse(publish());
    const auto [published, digest] = read_model(model);
    EXPECT_EQ(published.kind, "convex");
    EXPECT_EQ(published.guarantee["status"], "proved");
    EXPECT_THAT(published.guarantee["statement"], HasSubstr("(1, 1e-05)-differentially private"));
    EXPECT_THAT(published.guarantee["statement"], testing::Not(HasSubstr("distance")));
    EXPECT_THAT(published.guarantee["conditions"].dump(), HasSubstr("key of their noise"));
    EXPECT_THAT(published.guarantee["conditions"].dump(), HasSubstr("no setting, no seed"));
    EXPECT_EQ(published.cost["epsilon"], 1.0);
    EXPECT_EQ(published.cost["delta"], 1e-5);
    EXPECT_EQ(published.cost["mechanism"], "output_noise");
    EXPECT_EQ(published.cost["parameters"]["noise"], "gaussian");
    EXPECT_EQ(said["model"], digest);
    EXPECT_EQ(said["guarantee"], published.guarantee);

    const auto paid = payments();
    ASSERT_EQ(paid.size(), 1U);
    EXPECT_EQ(paid[0].epsilon, 1);
    EXPECT_EQ(paid[0].delta, Rational(1, 100000));
    ASSERT_EQ(paid[0].publications.size(), 1U);
    EXPECT_EQ(paid[0].publications[0].model_digest, digest);
    EXPECT_EQ(files(".key"), 0);
    EXPECT_EQ(files(".h5"), 1);
}

TEST_F(PublishConvexTest, NoiseIsAddedAsTheRadiusAsks) {
    const FinishedRun finished = FinishedRun::open(run);
    const Rational radius = convex_radius(finished.settings, finished.features, Relation::add_remove).all;
    const std::vector<std::int64_t> trained = parameters_of(finished);
    const auto noise_of = [&](const Words& terms, const std::string& out) -> Rational {
        publish(run, ledger, out, terms);
        const Model published = read_model(out).model;
        const double scale = published.cost["parameters"]["noise_scale"].get<double>();
        double square = 0;
        for (std::size_t p = 0; p < trained.size(); ++p)
            square += std::pow(
                static_cast<double>(published.parameters[p] - trained[p]) * parameter_unit / scale, 2);
        EXPECT_GT(square, 1e-6);
        EXPECT_LT(square / static_cast<double>(trained.size()), 60);
        return Rational(scale) * power_of_two(50);
    };
    const Rational sigma = noise_of({"--epsilon", "1", "--delta", "1e-5"}, folder.file("gaussian.h5"));
    EXPECT_LE(gaussian_delta(radius / sigma, 1), Rational(1, 100000));
    const Rational scale = noise_of({"--epsilon", "1"}, folder.file("pure.h5"));
    EXPECT_LE(radius * radius * static_cast<unsigned long>(trained.size()), scale * scale);
    EXPECT_EQ(read_model(folder.file("pure.h5")).model.cost["parameters"]["noise"], "laplace");
    EXPECT_EQ(payments().size(), 2U);
}

TEST_F(PublishConvexTest, AgainGivesTheSameBytesAtNoCostAndOtherTermsAreAnotherPayment) {
    const std::string said = publish();
    const std::string bytes = folder.read("model.h5");
    EXPECT_EQ(publish(), said);
    publish(run, ledger, folder.file("copy.h5"), {"--epsilon", "1", "--delta", "1e-5"});
    EXPECT_TRUE(folder.read("copy.h5") == bytes);
    EXPECT_EQ(payments().size(), 1U);
    EXPECT_EQ(payments()[0].publications.size(), 1U);

    publish(run, ledger, folder.file("other.h5"), {"--epsilon", "0.5", "--delta", "1e-5"});
    EXPECT_EQ(payments().size(), 2U);
    EXPECT_NE(payments()[0].token, payments()[1].token);
    EXPECT_EQ(read_model(folder.file("other.h5")).model.cost["epsilon"], 0.5);
    // Once the copy is gone, nobody can draw that noise again: a fresh key is a new payment.
    for (const auto& entry : std::filesystem::directory_iterator(run)) {
        if (entry.path().filename().string().starts_with("publication-"))
            std::filesystem::remove(entry.path());
    }
    publish(run, ledger, folder.file("fresh.h5"), {"--epsilon", "1", "--delta", "1e-5"});
    EXPECT_EQ(payments().size(), 3U);
    EXPECT_NE(read_model(folder.file("fresh.h5")).model.parameters, read_model(model).model.parameters);
    const Spending spent = Ledger(ledger).spending("synthetic").value();
    EXPECT_EQ(spent.epsilon, Rational(5, 2));
    EXPECT_EQ(spent.delta, Rational(3, 100000));
}

// Stopped in the middle of each thing it writes into the ledger, and killed there.
TEST_F(PublishConvexTest, KilledAtAnyPointItGoesOnForNothingMore) {
    for (const std::string table : {"payments", "results", "publications"}) {
        const std::string by = folder.file(table + ".db"), out = folder.file(table + ".h5");
        open_account(by, "add_remove");
        run_sql(by,
                "CREATE VIEW forever AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                "SELECT x FROM c; CREATE TRIGGER stop BEFORE INSERT ON " +
                    table + " BEGIN SELECT count(*) FROM forever; END");
        const Words terms{"--epsilon", table == "results" ? "0.25" : table == "payments" ? "0.5" : "0.75"};
        const int kept_before = files(".h5");
        const pid_t child = fork_child([&] {
            publish(run, by, out, terms);
            return 0;
        });
        const auto reached = [&] {
            if (table == "payments") return files(".key") == 1;
            if (table == "results") return rows_of(by, "payments") == 1;
            return files(".h5") > kept_before && files(".key") == 0;
        };
        for (int i = 0; i < 3000 && !reached(); ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_EQ(kill(child, SIGKILL), 0);
        EXPECT_EQ(wait_for(child), -SIGKILL);
        run_sql(by, "DROP TRIGGER stop; DROP VIEW forever");

        EXPECT_FALSE(std::filesystem::exists(out)) << table;
        EXPECT_EQ(Ledger(by).payments("synthetic").size(), table == "payments" ? 0U : 1U);
        EXPECT_EQ(files(".key"), table == "publications" ? 0 : 1) << table;
        EXPECT_EQ(files(".h5"), kept_before + (table == "publications" ? 1 : 0)) << table;
        // Twice from here: the very same bytes.
        std::filesystem::copy(run, folder.file("run-" + table), std::filesystem::copy_options::recursive);
        std::filesystem::copy_file(by, folder.file("second-" + table + ".db"));
        publish(run, by, out, terms);
        publish(folder.file("run-" + table), folder.file("second-" + table + ".db"),
                folder.file("second-" + table + ".h5"), terms);
        EXPECT_EQ(Ledger(by).payments("synthetic").size(), 1U) << table;
        EXPECT_EQ(files(".key"), 0) << table;
        const bool same = folder.read(table + ".h5") == folder.read("second-" + table + ".h5");
        EXPECT_TRUE(same) << table;
    }
}

TEST_F(PublishConvexTest, WhatIsRefusedCostsNothingAndLeavesNothing) {
    const auto refused = [&](ExitCode code, const Words& terms, const std::string& by,
                             const std::string& about) {
        const Error error = error_of([&] { publish(run, by, model, terms); });
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_THAT(error.what(), HasSubstr(about));
        EXPECT_EQ(files(".key") + files(".h5"), 0) << about;
        EXPECT_FALSE(std::filesystem::exists(model)) << about;
        EXPECT_TRUE(payments().empty());
    };
    refused(ExitCode::usage, {}, ledger, "--epsilon");
    refused(ExitCode::usage, {"--epsilon", "0"}, ledger, "--epsilon");
    refused(ExitCode::usage, {"--epsilon", "nan"}, ledger, "--epsilon");
    refused(ExitCode::usage, {"--epsilon", "1", "--delta", "1"}, ledger, "--delta");
    refused(ExitCode::usage, {"--epsilon", "1", "--delta", "-0.1"}, ledger, "--delta");
    refused(ExitCode::usage, {"--epsilon", "1e-9"}, ledger, "noise");
    refused(ExitCode::budget, {"--epsilon", "3.1"}, ledger, "does not fit");
    refused(ExitCode::budget, {"--epsilon", "1", "--delta", "0.01"}, ledger, "does not fit");
    refused(ExitCode::usage, {"--epsilon", "1"}, folder.file("none.db"), "no such ledger");
    const std::string replaced = folder.file("replaced.db");
    open_account(replaced, "substitute");
    refused(ExitCode::usage, {"--epsilon", "1"}, replaced, "substitute");

    folder.write("thesis.h5", "a thesis");
    EXPECT_EQ(error_of([&] {
                  publish(run, ledger, folder.file("thesis.h5"), {"--epsilon", "1"});
              }).code(),
              ExitCode::output);
    EXPECT_EQ(folder.read("thesis.h5"), "a thesis");
    EXPECT_TRUE(payments().empty());
}

TEST_F(PublishConvexTest, ParametersOfAnotherRunOrLedgerAreNotPublished) {
    publish();
    // Kept, and paid for elsewhere.
    const std::string other = folder.file("other.db");
    open_account(other, "add_remove");
    const Error unpaid = error_of([&] {
        publish(run, other, folder.file("o.h5"), {"--epsilon", "1", "--delta", "1e-5"});
    });
    EXPECT_EQ(unpaid.code(), ExitCode::budget);
    EXPECT_EQ(unpaid.where(), other);
    // Put into the folder of the run.
    const std::string longer = folder.file("longer");
    train(longer, {"training.epochs=5"});
    std::filesystem::copy_file(longer + "/boxes.h5", run + "/boxes.h5",
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(error_of([&] { publish({"--epsilon", "0.5"}); }).code(), ExitCode::input);
    EXPECT_EQ(payments().size(), 1U);
    EXPECT_EQ(files(".key"), 0);
    // What protects nothing but removals.
    train(folder.file("unlearned"), {"certificate.relation=remove"});
    EXPECT_EQ(error_of([&] {
                  publish(folder.file("unlearned"), ledger, model, {"--epsilon", "1"});
              }).code(),
              ExitCode::usage);
    EXPECT_EQ(payments().size(), 1U);
}

TEST_F(PublishConvexTest, OfAnEnsembleTheAverageWhichARecordMovesByAPart) {
    const std::string many = folder.file("many"), out = folder.file("many.h5");
    train(many, {"ensemble.members=3"});
    const FinishedRun finished = FinishedRun::open(many);
    const BoxesReader reader(finished.folder);
    const std::vector<std::int64_t> average = parameters_of(finished);
    std::vector<std::int64_t> sum(average.size(), 0), lower, upper;
    for (std::size_t member = 0; member < 3; ++member) {
        reader.read(member, 0, lower, upper);
        for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += lower[p];
    }
    bool negative = false;
    for (std::size_t p = 0; p < sum.size(); ++p) {
        EXPECT_EQ(Integer(average[p]), floor(as_rational(sum[p]) / 3));
        negative = negative || (sum[p] < 0 && sum[p] % 3 != 0);
    }
    EXPECT_TRUE(negative) << "or nothing tells rounding down from cutting off";

    publish(many, ledger, out, {"--epsilon", "1"});
    const Rational radius = convex_radius(finished.settings, finished.features, Relation::add_remove).all;
    const double stated = read_model(out).model.cost["parameters"]["sensitivity"].get<double>();
    EXPECT_NEAR(stated, radius.get_d() / 3 * parameter_unit, 1e-9);
    EXPECT_GE(Rational(stated) * power_of_two(50), radius / 3 + 2);  // rounding down: sqrt(7) units
}

TEST_F(PublishConvexTest, NeighboursAreToldTheSame) {
    // The same people but for one: the words are the same, but for the name of the model.
    const auto said_of = [&](const std::string& records) {
        const std::string own = folder.file("of" + records), file = folder.file(records + ".h5");
        std::filesystem::create_directory(own);
        run_job(declare_synth, {"blobs", "--records", records, "--test", "50", "--seed", "4", "--out", file});
        const std::string by = own + "/ledger.db", trained = own + "/run";
        run_job(declare_account, {"--ledger", by, "--data", file, "--budget", "3"});
        run_job(declare_train, {"--data", file, "--out", trained, "--set", "training.kind=convex", "--set",
                                "network.hidden=[]", "--set", "training.learning_rate=0.1", "--set",
                                "features.norm_limit=2", "--set", "training.expected_records=300"});
        json said = json::parse(publish(trained, by, own + "/model.h5", {"--epsilon", "1"}));
        said.erase("model");
        said.erase("file");
        return said;
    };
    EXPECT_EQ(said_of("300"), said_of("299"));
}

}  // namespace
}  // namespace holdfast
