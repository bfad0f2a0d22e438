// evaluate --budget: what its figures are made of is tested in routes_test; here, what a run is given.

#include "jobs/answers/evaluate/budget_routes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "kernels/base/error.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct BudgetRoutes : testing::Test {
    TemporaryFolder folder;
    std::string data = folder.file("data.h5"), run = folder.file("run"), ledger = folder.file("ledger.db");

    void SetUp() override {
        run_job(declare_synth, {"blobs", "--records", "300", "--test", "60", "--seed", "4", "--out", data});
    }
    void train(const std::vector<std::string>& settings, const std::vector<std::string>& options = {}) const {
        std::vector<std::string> words{"--data", data, "--out", run};
        words.insert(words.end(), options.begin(), options.end());
        for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
        run_job(declare_train, words);
    }
    json evaluated(std::vector<std::string> options) const {
        options.insert(options.end(), {"--run", run, "--data", data});
        return json::parse(run_job(declare_evaluate, options, true));
    }
    static std::set<std::string> routes(const json& budget, const std::string& setting) {
        std::set<std::string> names;
        for (const json& row : budget["routes"]) {
            if (row["setting"] == setting) names.insert(row["route"].get<std::string>());
        }
        return names;
    }
};

const std::vector<std::string> boxes = {
    "network.hidden=[]", "certificate.levels=20", "training.expected_records=300",
    "clip.gamma=0.01",   "training.epochs=8",     "training.learning_rate=8"};

TEST_F(BudgetRoutes, OfAnEnsembleAreMechanismsSessionsAndBatches) {
    std::vector<std::string> settings = boxes;
    settings.emplace_back("ensemble.members=5");
    train(settings);
    const json result = evaluated({"--budget", "1,1e-5", "--answers", "100,1,10"}), budget = result["budget"];
    EXPECT_EQ(budget["epsilon"], 1.0);
    EXPECT_EQ(budget["delta"], 1e-5);
    EXPECT_EQ(budget["answers"], json({1, 10, 100}));
    EXPECT_TRUE(result["private_accuracy"].empty());
    const std::set<std::string> single = routes(budget, "single"), ensemble = routes(budget, "ensemble");
    for (const char* route : {"stable_rr", "stable_gauss", "ptr", "session", "batch"}) {
        EXPECT_EQ(single.count(route), 1U) << route;
        EXPECT_EQ(ensemble.count(route), 1U) << route;
    }
    EXPECT_EQ(single.count("noisy_argmax"), 0U);
    EXPECT_EQ(ensemble.count("noisy_argmax"), 1U);
    EXPECT_EQ(ensemble.count("paper_sparse") + ensemble.count("noisy"), 0U);

    for (const json& row : budget["routes"]) {
        ASSERT_EQ(row["accuracy"].size(), 3U);
        ASSERT_EQ(row["terms"].size(), 3U);
        EXPECT_THAT(row["guarantee"]["statement"].get<std::string>(), HasSubstr("together are (1, 1e-05)"));
        for (const json& accuracy : row["accuracy"]) {
            EXPECT_GE(accuracy.get<double>(), 0);
            EXPECT_LE(accuracy.get<double>(), 1);
        }
        // One query: a batch of it is what ptr gives.
        if (row["route"] != "batch") continue;
        for (const json& other : budget["routes"]) {
            if (other["route"] != "ptr" || other["setting"] != row["setting"]) continue;
            EXPECT_NEAR(other["accuracy"][0].get<double>(), row["accuracy"][0].get<double>(), 1e-9);
        }
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const json& best = budget["best"][i];
        EXPECT_EQ(best["answers"], budget["answers"][i]);
        for (const json& row : budget["routes"]) {
            EXPECT_LE(row["accuracy"][i].get<double>(), best["accuracy"].get<double>());
            if (row["route"] != best["route"] || row["setting"] != best["setting"]) continue;
            EXPECT_EQ(row["accuracy"][i], best["accuracy"]);
        }
    }
}

TEST_F(BudgetRoutes, WithoutDeltaAreThePureMechanisms) {
    train(boxes);
    const json budget = evaluated({"--budget", "2,0", "--answers", "4", "--epsilon", "0.5"})["budget"];
    const std::set<std::string> single = routes(budget, "single");
    EXPECT_EQ(single.count("stable_rr"), 1U);
    for (const char* route : {"session", "batch", "stable_gauss", "ptr"}) EXPECT_EQ(single.count(route), 0U);
    // Four answers at 1/2 each, as the list of epsilons has it.
    const json all = evaluated({"--budget", "2,0", "--answers", "4", "--epsilon", "0.5"});
    for (const json& row : all["private_accuracy"]) {
        if (row["mechanism"] != "stable_rr" || row["setting"] != "single" || row["delta"] != 0) continue;
        EXPECT_EQ(row["accuracy"][0], all["budget"]["routes"][0]["accuracy"][0]);
    }
    EXPECT_EQ(all["budget"]["routes"][0]["terms"][0]["epsilon"], 0.5);
    // An ensemble of one is named for its vote alone.
    EXPECT_EQ(routes(budget, "ensemble"), std::set<std::string>{"noisy_argmax"});
}

TEST_F(BudgetRoutes, OfRemovalsThereAreNoneAndItSaysWhy) {
    std::vector<std::string> settings = boxes;
    settings.insert(settings.end(), {"certificate.relation=remove", "certificate.budget=per_batch"});
    train(settings);
    const json budget = evaluated({"--budget", "1"})["budget"];
    EXPECT_TRUE(budget["routes"].empty());
    EXPECT_TRUE(budget["best"].empty());
    EXPECT_FALSE(budget["refused"].get<std::string>().empty());
    EXPECT_THAT(run_job(declare_evaluate, {"--run", run, "--data", data, "--budget", "1"}),
                HasSubstr(budget["refused"].get<std::string>()));
}

TEST_F(BudgetRoutes, ANoisyRunAnswersAnyNumberIfItCostNoMore) {
    run_job(declare_account, {"--ledger", ledger, "--data", data, "--budget", "2", "--budget-delta", "1e-4"});
    train({"training.kind=noisy", "clip.kind=norm", "network.hidden=[]", "training.epochs=3"},
          {"--ledger", ledger});
    const json result = evaluated({"--budget", "1,1e-5", "--answers", "1,1000"}), budget = result["budget"];
    EXPECT_EQ(routes(budget, "single"), std::set<std::string>{"noisy"});
    EXPECT_EQ(budget["routes"][0]["accuracy"][0], result["accuracy"]["single"]);
    EXPECT_EQ(budget["routes"][0]["accuracy"][1], result["accuracy"]["single"]);
    EXPECT_EQ(budget["routes"][0]["guarantee"]["status"], "proved");
    for (const char* less : {"0.999,1e-5", "1,0.9e-5"}) {
        EXPECT_TRUE(evaluated({"--budget", less})["budget"]["routes"].empty()) << less;
        EXPECT_THAT(evaluated({"--budget", less})["budget"]["refused"].get<std::string>(),
                    HasSubstr("cost more than the budget"));
    }
}

TEST(ParseBudget, RefusesWhatIsNoBudget) {
    using Words = std::vector<std::string>;
    for (const Words& budget : {Words{},
                                {"1", "1e-5", "3"},
                                {"0"},
                                {"-1"},
                                {"nan"},
                                {"inf"},
                                {"1e-7"},
                                {"1001"},
                                {"x"},
                                {""},
                                {"1", "1"},
                                {"1", "-1e-5"},
                                {"1", "1e-31"},
                                {"1", "nan"}}) {
        try {
            parse_budget(budget, {1});
            ADD_FAILURE() << testing::PrintToString(budget);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), "--budget") << testing::PrintToString(budget);
            EXPECT_FALSE(error.hint().empty());
        }
    }
    for (const std::vector<std::int64_t>& answers :
         {std::vector<std::int64_t>{}, {0}, {1, -2}, {1, 1000001}}) {
        try {
            parse_budget({"1"}, answers);
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.where(), "--answers");
        }
    }
    const TotalBudget budget = parse_budget({"0.1"}, {10, 1, 10});
    EXPECT_EQ(budget.epsilon, Rational(1, 10));
    EXPECT_EQ(budget.delta, Rational(1, 100000));
    EXPECT_EQ(budget.answers, (std::vector<std::int64_t>{1, 10}));
}

}  // namespace
}  // namespace holdfast
