// What predict answers with a model is what certify and evaluate take for the answer of the run it comes
// from.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dist/files/hdf5.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/model_file.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct PredictTest : testing::Test {
    TemporaryFolder folder;
    std::string data = folder.file("data.h5"), run = folder.file("run"), model = folder.file("model.h5");

    /// A run on blobs that overlap, and the model of its parameters.
    void train(const std::vector<std::string>& settings) const {
        run_job(declare_synth, {"blobs", "--records", "300", "--test", "200", "--spread", "1.5", "--seed",
                                "4", "--out", data});
        std::vector<std::string> words{"--data", data, "--out", run};
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        run_job(declare_train, words);
        const FinishedRun finished = FinishedRun::open(run);
        std::vector<std::int64_t> parameters, same;
        BoxesReader(finished.folder).read(0, 0, parameters, same);
        write_model(model,
                    {finished.network, finished.settings.training.precision, parameters, "boxes", "holdfast",
                     "0", Guarantee::not_private("a test", "its boxes are").to_json(), nullptr});
    }
    std::string predict(std::vector<std::string> words, bool as_json = false) const {
        const auto given = [&](const char* name) {
            return std::find(words.begin(), words.end(), name) != words.end();
        };
        if (!given("--model")) words.insert(words.end(), {"--model", model});
        if (!given("--queries")) words.insert(words.end(), {"--queries", data});
        return run_job(declare_predict, words, as_json);
    }
    std::vector<std::int32_t> certified_labels() const {
        run_job(declare_certify, {"--run", run, "--queries", data});
        return hdf5::File::open_read(run + "/distances.h5").dataset("label").read_all<std::int32_t>();
    }
    std::string refusal(const std::vector<std::string>& words) const {
        try {
            predict(words);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            EXPECT_FALSE(error.hint().empty());
            return error.message();
        }
        return "";
    }
};

struct PredictTestOf : PredictTest, testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(PredictTestOf, EveryAnswerIsTheNominalLabelOfTheRun) {
    train(GetParam());
    const std::vector<std::int32_t> labels = certified_labels();
    const json said = json::parse(predict({}, true));
    EXPECT_EQ(said["labels"], json(labels));
    EXPECT_NE(std::count(labels.begin(), labels.end(), 1), 0);
    EXPECT_NE(std::count(labels.begin(), labels.end(), 0), 0);
    std::string lines;
    for (const std::int32_t label : labels) lines += std::to_string(label) + "\n";
    EXPECT_EQ(predict({}), lines);
    EXPECT_EQ(predict({"--backend", "reference"}), lines);
    const json evaluated =
        json::parse(run_job(declare_evaluate, {"--run", run, "--data", data, "--epsilon", "1"}, true));
    EXPECT_EQ(json::parse(predict({"--accuracy"}, true))["accuracy"], evaluated["accuracy"]["single"]);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, PredictTestOf,
    testing::Values(std::vector<std::string>{"network.hidden=[]"},
                    std::vector<std::string>{"network.hidden=[8]"},
                    std::vector<std::string>{"network.hidden=[8]", "network.loss=cross_entropy"},
                    std::vector<std::string>{"network.hidden=[8]", "training.precision=single"},
                    std::vector<std::string>{"network.hidden=[4]", "network.classes=3",
                                             "network.input_shift=0.5", "network.input_scale=2"}));

TEST_F(PredictTest, ScoresAreALineEachUnderTheirNames) {
    train({"network.hidden=[]", "network.loss=cross_entropy"});
    std::istringstream lines(predict({"--scores", "--first", "3"}));
    const json said = json::parse(predict({"--scores", "--first", "3"}, true));
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "label,logit_0,logit_1");
    for (std::size_t q = 0; q < 3; ++q) {
        std::getline(lines, line);
        int label = 0;
        double logits[2];
        ASSERT_EQ(std::sscanf(line.c_str(), "%d,%lf,%lf", &label, logits, logits + 1), 3) << line;
        EXPECT_EQ(said["labels"][q], label);
        EXPECT_EQ(said["logits"][q], json(logits));
    }
    EXPECT_FALSE(std::getline(lines, line));
    EXPECT_FALSE(json::parse(predict({}, true)).contains("logits"));
}

TEST_F(PredictTest, AnswersGoIntoAFileOfTheAskersOwn) {
    train({"network.hidden=[]"});
    const std::string out = folder.file("answers.csv");
    EXPECT_EQ(predict({"--out", out}), "");
    EXPECT_EQ(folder.read("answers.csv"), predict({}));
    struct stat status {};
    ASSERT_EQ(stat(out.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(PredictTest, WhatDoesNotFitIsNamed) {
    train({"network.hidden=[]"});
    const std::string narrow = folder.file("narrow.h5");
    run_job(declare_synth, {"blobs", "--degree", "2", "--records", "20", "--test", "20", "--out", narrow});
    EXPECT_THAT(refusal({"--queries", narrow}), HasSubstr("4 features, but the model takes 6"));
    EXPECT_THAT(refusal({"--queries", data + ":tset"}), HasSubstr("no split 'tset'"));
    EXPECT_THAT(refusal({"--model", data}), HasSubstr("is no model"));
    EXPECT_THAT(refusal({"--model", folder.file("none.h5")}), HasSubstr("No such file"));
}

TEST_F(PredictTest, AccuracyWantsLabelsOfTheModelsClasses) {
    train({"network.hidden=[]"});
    const std::string bare = folder.file("bare.h5");
    Records records{FeatureMatrix(6, true), {}, {0}, {0}};
    records.features.append(std::vector<double>(6, 0.5).data());
    for (const std::int32_t label : {-1, 5}) {
        if (label >= 0) records.labels = {label};
        DatasetWriter writer(bare);
        writer.begin_split("test", 6, true);
        writer.append(records);
        writer.commit();
        EXPECT_THAT(refusal({"--queries", bare, "--accuracy"}),
                    HasSubstr(label < 0 ? "no labels" : "label 5"));
        EXPECT_EQ(refusal({"--queries", bare}), "");
    }
}

}  // namespace
}  // namespace holdfast
