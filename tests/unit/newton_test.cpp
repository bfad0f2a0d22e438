// One Newton step beside what the trainings without a record came to: near where the model is strongly convex
// and the training converged, and absent where no such model is.

#include "models/fleet/newton.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/program/job.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace newton_test {

using Words = std::vector<std::string>;

struct Newton : ::testing::Test {
    TemporaryFolder folder;

    void SetUp() override {
        std::string two = "id,a,b,y\n", three = two, numbers = two;
        for (int i = 0; i < 60; ++i) {
            const double a = i * 37 % 100, b = i * 53 % 90;
            const std::string row =
                std::to_string(7 * i + 3) + "," + std::to_string(a) + "," + std::to_string(b) + ",";
            two += row + std::to_string(a + 20 * std::sin(i) > b ? 1 : 0) + "\n";
            three += row + std::to_string(i % 7 == 0 ? i % 3 : a > 60 ? 2 : b > 40 ? 1 : 0) + "\n";
            numbers += row + std::to_string(0.5 * a - 0.2 * b + 9 * std::cos(i)) + "\n";
        }
        folder.write("two.csv", two);
        folder.write("three.csv", three);
        folder.write("numbers.csv", numbers);
        for (const char* name : {"two", "three", "numbers"}) {
            Words words{folder.file(std::string(name) + ".csv"),
                        "--label",
                        "y",
                        "--id",
                        "id",
                        "--scale",
                        "*=0:100",
                        "--test-fraction",
                        "0.2",
                        "--expected-records",
                        "50",
                        "--population",
                        "people",
                        "--out",
                        folder.file(std::string(name) + ".h5")};
            if (std::string(name) == "numbers")
                words.insert(words.end(), {"--regression", "--target-range", "-100:100"});
            run_job(declare_import, words);
        }
    }
    /// What influence says of a fleet of linear models, trained until little moves.
    nlohmann::json influence(const std::string& data, const Words& more) {
        const std::string run = folder.file("fleet_" + std::to_string(fleets_++)),
                          file = folder.file(data + ".h5");
        Words words{"--data", file, "--out", run};
        for (const char* setting : {"network.hidden=[]", "training.epochs=4000", "training.learning_rate=2",
                                    "training.l2=0.02", "clip.kind=none", "training.expected_records=48"})
            words.insert(words.end(), {"--set", setting});
        words.insert(words.end(), more.begin(), more.end());
        run_job(declare_fleet, words);
        run_ = run;
        return nlohmann::json::parse(
            run_job(declare_influence, {"--run", run, "--queries", file, "--data", file}, true));
    }
    std::string run_;

  private:
    int fleets_ = 0;
};

TEST_F(Newton, IsNearTheExactChangeOfAStronglyConvexModel) {
    const std::vector<std::pair<std::string, Words>> models{
        {"two", {"--set", "network.loss=cross_entropy"}},
        {"two", {"--set", "network.loss=binary_cross_entropy"}},
        {"two", {"--set", "network.loss=cross_entropy", "--set", "training.normalise=actual"}},
        {"two", {"--set", "network.loss=cross_entropy", "--set", "training.momentum=0.5"}},
        {"two", {"--set", "network.loss=cross_entropy", "--records", "9"}},
        {"three", {"--set", "network.loss=cross_entropy", "--set", "network.classes=3"}},
        {"three", {"--set", "network.loss=one_vs_rest", "--set", "network.classes=3"}},
        {"numbers",
         {"--set", "network.loss=squared_error", "--set", "network.classes=1", "--set",
          "training.learning_rate=0.2"}}};
    for (const auto& [data, words] : models) {
        const nlohmann::json found = influence(data, words)["newton"];
        std::string all;
        for (const std::string& word : words) all += word + " ";
        ASSERT_TRUE(found.contains("correlation")) << data << " " << all << found;
        EXPECT_LT(found["gradient"].get<double>(), 1e-6) << data << " " << all << found;
        EXPECT_GT(found["correlation"].get<double>(), 0.99) << data << " " << all << found;
        // The step is the first of a series: what it leaves out is a tenth of the change.
        EXPECT_LT(found["largest_error"].get<double>(), 0.15 * found["largest_change"].get<double>())
            << data << " " << all << found;
        EXPECT_GT(found["largest_error"].get<double>(), 0) << "an estimate is never exact";
    }
}

TEST_F(Newton, IsFarOffWhereTheTrainingStoppedEarly) {
    const nlohmann::json found =
        influence("two", {"--set", "training.epochs=3", "--set", "training.l2=0.001"})["newton"];
    EXPECT_GT(found["gradient"].get<double>(), 1e-3);
    EXPECT_GT(found["largest_error"].get<double>(), 0.5 * found["largest_change"].get<double>()) << found;
}

TEST_F(Newton, IsAbsentAndSaidSoOfOtherModels) {
    const std::vector<std::pair<std::string, Words>> models{
        {"hidden layers", {"--set", "network.hidden=[4]", "--set", "training.epochs=3"}},
        {"least point", {"--set", "training.l2=0", "--set", "training.epochs=3"}},
        {"clipped", {"--set", "clip.kind=elementwise", "--set", "training.epochs=3"}},
        {"smooth", {"--set", "training.l1=0.01", "--set", "training.epochs=3"}},
        {"second derivative", {"--set", "network.loss=hinge", "--set", "training.epochs=3"}}};
    for (const auto& [why, words] : models) {
        const nlohmann::json found = influence("two", words)["newton"];
        ASSERT_TRUE(found.contains("missing")) << why << found;
        EXPECT_NE(found["missing"].get<std::string>().find(why), std::string::npos) << found;
        const std::string records = folder.read(run_.substr(run_.rfind('/') + 1) + "/influence_records.csv");
        EXPECT_EQ(records.substr(0, records.find('\n')).find("newton"), std::string::npos);
    }
}

/// The columns of the tables are those of the summary.
TEST_F(Newton, ColumnsHoldTheEstimates) {
    const nlohmann::json summary = influence("two", {}), &found = summary["newton"];
    std::istringstream records(folder.read(run_.substr(run_.rfind('/') + 1) + "/influence_records.csv"));
    std::string line;
    std::getline(records, line);
    EXPECT_EQ(line.substr(line.rfind(',') + 1), "newton");
    double furthest = 0, largest = 0;
    int lines = 0;
    for (; std::getline(records, line); ++lines) {
        const double estimate = std::stod(line.substr(line.rfind(',') + 1));
        std::istringstream cells(line);
        std::string cell;
        for (int i = 0; i < 3; ++i) std::getline(cells, cell, ',');
        furthest = std::max(furthest, std::abs(estimate - std::stod(cell)));
        largest = std::max(largest, std::stod(cell));
    }
    EXPECT_EQ(lines, summary["records"]);
    EXPECT_LE(furthest, found["largest_error"].get<double>() + 1e-6);
    EXPECT_NEAR(largest, found["largest_change"].get<double>(), 1e-6);
}

}  // namespace newton_test
}  // namespace holdfast
