#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "dist/runs/manifest.hpp"
#include "jobs/program/job.hpp"
#include "kernels/base/arithmetic.hpp"
#include "kernels/base/error.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

/// A run whose boxes are changed before they are written again, under a manifest that names them.
struct VerifyTest : ::testing::Test {
    using Boxes = std::vector<std::vector<std::int64_t>>;  // [levels] of one member

    void SetUp() override {
        run_job(declare_synth, {"blobs", "--records", "60", "--test", "10", "--out", folder.file("data.h5")});
        run_job(declare_train,
                {"--data", folder.file("data.h5"), "--out", folder.file("run"), "--set", "network.hidden=[3]",
                 "--set", "certificate.levels=3", "--set", "training.epochs=2"});
    }

    void rewrite(const std::function<void(Boxes& lower, Boxes& upper)>& change) const {
        const RunFolder run = RunFolder::open(folder.file("run"));
        RunManifest manifest = RunManifest::read(run);
        Boxes lower(manifest.levels.size()), upper(manifest.levels.size());
        for (std::size_t level = 0; level < lower.size(); ++level)
            BoxesReader(run).read(0, level, lower[level], upper[level]);
        change(lower, upper);
        BoxesWriter writer(run, 1, manifest.levels, lower[0].size());
        for (std::size_t level = 0; level < lower.size(); ++level)
            writer.write(0, level, lower[level], upper[level]);
        manifest.digest = writer.commit();
        manifest.write(run);
    }

    /// The failing checks and the exit code of the job, one text.
    std::string verdict() const {
        try {
            run_job(declare_verify, {folder.file("run")});
        } catch (const Error& error) {
            return std::to_string(static_cast<int>(error.code())) + ": " + error.message();
        }
        return "verified";
    }

    TemporaryFolder folder;
};

TEST_F(VerifyTest, TheSameBoxesWrittenAgainAreVerified) {
    EXPECT_EQ(verdict(), "verified");
    rewrite([](Boxes&, Boxes&) {});
    EXPECT_EQ(verdict(), "verified");
}

TEST_F(VerifyTest, OneEndOfOneParameterThatDoesNotNestIsFound) {
    const std::string one = "3: 1 of 7 checks failed";
    rewrite([](Boxes& lower, Boxes&) { lower[2][4] = lower[1][4] + 1; });
    EXPECT_EQ(verdict(), one);
    rewrite([](Boxes& lower, Boxes&) { lower[2][4] = lower[1][4]; });
    EXPECT_EQ(verdict(), "verified");
    rewrite([](Boxes&, Boxes& upper) { upper[3][0] = upper[2][0] - 1; });
    EXPECT_EQ(verdict(), one);
    rewrite([](Boxes&, Boxes& upper) { upper[3][0] = upper[2][0]; });
    EXPECT_EQ(verdict(), "verified");
}

TEST_F(VerifyTest, APointIsAPointInsideItsBoxesAndWithinTheLimits) {
    const std::string one = "3: 1 of 7 checks failed";
    rewrite([](Boxes& lower, Boxes&) { --lower[0][1]; });
    EXPECT_EQ(verdict(), one);
    rewrite([](Boxes& lower, Boxes& upper) { lower[0][1] = upper[0][1] = upper[1][1] + 1; });
    EXPECT_EQ(verdict(), one);
    rewrite([](Boxes& lower, Boxes& upper) { lower[0][1] = upper[0][1] = upper[1][1]; });
    EXPECT_EQ(verdict(), "verified");
    rewrite([](Boxes&, Boxes& upper) { upper[3][2] = parameter_limit_units; });
    EXPECT_EQ(verdict(), "verified");
    rewrite([](Boxes&, Boxes& upper) { upper[3][2] = parameter_limit_units + 1; });
    EXPECT_EQ(verdict(), one);
}

// Boxes without width under a manifest that names them: no check of the files finds them, so none may speak
// for them.
TEST_F(VerifyTest, AClaimOfStepsThatWereNotTakenAgainIsNotRepeated) {
    const std::string run = folder.file("run"), data = folder.file("data.h5");
    const std::string retrained = run_job(declare_verify, {run, "--data", data, "--retrain"});
    EXPECT_NE(retrained.find("trained again, it comes to the parameters and boxes of the run"),
              std::string::npos);
    EXPECT_EQ(retrained.find("\nopen "), std::string::npos) << retrained;
    rewrite([](Boxes& lower, Boxes& upper) {
        for (std::size_t level = 1; level < lower.size(); ++level) lower[level] = upper[level] = lower[0];
    });
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{run}, std::vector<std::string>{run, "--data", data}}) {
        const std::string said = run_job(declare_verify, words);
        EXPECT_EQ(said.find("guarantee: proved"), std::string::npos) << said;
        EXPECT_NE(said.find("open    guarantee: 0 of 2 steps were taken again"), std::string::npos) << said;
        EXPECT_NE(said.find("is said by manifest.json alone"), std::string::npos) << said;
    }
    EXPECT_THROW(run_job(declare_verify, {run, "--data", data, "--retrain"}), Error);
}

}  // namespace
}  // namespace holdfast
